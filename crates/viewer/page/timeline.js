/** The heap over time, drawn: live bytes, resident memory, allocations and frees, marks, the range and the cursor. */

import { drawBands } from "./bands.js";
import { color } from "./colors.js";
import { prepared } from "./dom.js";
import { bytes, moment } from "./numbers.js";
import { byteTicks, ticks, toX } from "./scale.js";

/** Heights, in pixels: the axis of time, the bands of allocations and of frees, a row of marks. */
const AXIS = 18;
const RATES = 22;
const MARKS = 12;

/**
 * The lines, told apart by their dashes as well.
 * @type {{ name: string, color: string, column: "rss_bytes" | "anonymous_bytes" | "heap_max_bytes", dash: number[] }[]}
 */
export const LINES = [
  { name: "┅ resident", color: "resident", column: "rss_bytes", dash: [6, 3] },
  { name: "┈ anonymous", color: "anonymous", column: "anonymous_bytes", dash: [2, 2] },
  { name: "─ live heap", color: "heap", column: "heap_max_bytes", dash: [] },
];
/** Between the axis at the left and its labels, pixels. */
const GAP = 6;

/**
 * @typedef {object} Drawn
 * @property {import("./answers.js").Time} time what the server says of the heap over time
 * @property {{ from: number, to: number }} shown
 * @property {{ from: number, to: number } | undefined} range
 * @property {{ from: number, to: number } | undefined} base a range, or a moment, that is compared with
 * @property {number | undefined} cursor
 * @property {boolean} isHeapAlone without resident memory
 * @property {import("./answers.js").Bands | undefined} bands of processes or threads
 */

/**
 * Draws it.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} axis what stands left of it
 * @param {Drawn} drawn
 */
export function drawTimeline(canvas, axis, { time, shown, range, base, cursor, isHeapAlone, bands }) {
  const { context, width, height } = prepared(canvas);
  const label = labels(axis);
  const scale = { ...shown, width };
  const bottom = height - AXIS - 2 * RATES;
  drawTimes(context, scale, height);
  drawRates(context, scale, time.timeline, bottom + RATES, label);
  drawHeap(context, scale, time, bottom, { isHeapAlone, bands }, label);
  drawNotes(context, scale, time.notes, bottom);
  drawRange(context, scale, range, "range", height - AXIS);
  drawRange(context, scale, base, "base", height - AXIS);
  if (cursor !== undefined) {
    context.fillStyle = color("text");
    context.fillRect(Math.round(toX(scale, cursor)), 0, 1, height - AXIS);
  }
}

/**
 * A stretch of time, over all that is drawn.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {{ from: number, to: number } | undefined} range
 * @param {"range" | "base"} name
 * @param {number} height
 */
function drawRange(context, scale, range, name, height) {
  if (!range) return;
  const [from, to] = [toX(scale, range.from), toX(scale, range.to)];
  context.fillStyle = color(name);
  context.fillRect(from, 0, Math.max(2, to - from), height);
  if (name === "range") return;
  context.fillStyle = color("grown-text");
  context.textBaseline = "bottom";
  context.fillText("compared with", from + 3, height - 1);
}

/**
 * Writes labels right of the axis's canvas, at a height.
 * @param {HTMLCanvasElement} axis
 */
function labels(axis) {
  const { context, width } = prepared(axis);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  return (/** @type {string} */ text, /** @type {number} */ y, /** @type {string} */ name) => {
    context.fillStyle = color(name);
    context.fillText(text, width - GAP, Math.max(7, y));
  };
}

/**
 * The steps that are seen: indices, with one more on each side.
 * @param {import("./answers.js").Timeline} timeline
 * @param {import("./scale.js").Scale} scale
 */
function visible(timeline, { from, to }) {
  const step = (/** @type {number} */ ns) => Math.floor((ns - timeline.begin_ns) / timeline.step_ns);
  const last = timeline.heap_max_bytes.length - 1;
  return { first: Math.max(0, step(from) - 1), last: Math.min(last, step(to) + 1) };
}

/**
 * The most of a column that is seen.
 * @param {number[]} column
 * @param {{ first: number, last: number }} steps
 */
function most(column, { first, last }) {
  let found = 0;
  for (let n = first; n <= last; n += 1) found = Math.max(found, column[n] ?? 0);
  return found;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Time} time
 * @param {number} bottom
 * @param {{ isHeapAlone: boolean, bands: import("./answers.js").Bands | undefined }} how
 * @param {(text: string, y: number, color: string) => void} label
 */
function drawHeap(context, scale, { timeline, duration_ns: end }, bottom, { isHeapAlone, bands }, label) {
  const steps = visible(timeline, scale);
  const lines = LINES.map((line) => ({ ...line, column: timeline[line.column] ?? [] })).filter(
    (line) => line.column.length > 0 && (!isHeapAlone || line.color === "heap"),
  );
  const top = Math.max(1, ...lines.map((line) => most(line.column, steps)));
  const y = (/** @type {number} */ n) => bottom - (n / top) * (bottom - MARKS - 4);
  for (const tick of byteTicks(top, 4)) {
    context.fillStyle = color("line");
    context.fillRect(0, Math.round(y(tick)), scale.width, 1);
    label(bytes(tick), y(tick), "quiet");
  }
  label("0", bottom, "quiet");
  if (bands) drawBands(context, scale, bands, end, y);
  for (const line of lines) {
    trace(context, scale, timeline, steps, line.column, y);
    context.strokeStyle = color(line.color);
    context.lineWidth = 1.5;
    context.setLineDash(line.dash);
    context.stroke();
    context.setLineDash([]);
  }
}

/**
 * A path along a column: a step is as high over all of its time.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Timeline} timeline
 * @param {{ first: number, last: number }} steps
 * @param {number[]} column
 * @param {(n: number) => number} y
 */
function trace(context, scale, timeline, steps, column, y) {
  context.beginPath();
  for (let n = steps.first; n <= steps.last; n += 1) {
    const begin = timeline.begin_ns + n * timeline.step_ns;
    context.lineTo(toX(scale, begin), y(column[n]));
    context.lineTo(toX(scale, begin + timeline.step_ns), y(column[n]));
  }
}

/**
 * What was allocated in each step, upward, and what was freed, downward; both with one scale.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Timeline} timeline
 * @param {number} zero the height of nothing
 * @param {(text: string, y: number, color: string) => void} label
 */
function drawRates(context, scale, timeline, zero, label) {
  const steps = visible(timeline, scale);
  const top = Math.max(1, most(timeline.allocated_bytes, steps), most(timeline.freed_bytes, steps));
  const width = Math.max(1, toX(scale, scale.from + timeline.step_ns));
  for (const [column, name, sign] of /** @type {[number[], string, number][]} */ ([[timeline.allocated_bytes, "rate", -1], [timeline.freed_bytes, "freed", 1]])) {
    context.fillStyle = color(name);
    for (let n = steps.first; n <= steps.last; n += 1) {
      const high = (column[n] / top) * (RATES - 5);
      context.fillRect(toX(scale, timeline.begin_ns + n * timeline.step_ns), zero, width, sign * high);
    }
  }
  context.fillStyle = color("line");
  context.fillRect(0, zero, scale.width, 1);
  label(`${bytes(Math.round((top / timeline.step_ns) * 1e9))}/s`, zero, "quiet");
}

/**
 * Marks as lines, sections as bars above the curve, each with its name where there is room.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Notes} notes
 * @param {number} bottom
 */
function drawNotes(context, scale, notes, bottom) {
  context.fillStyle = color("mark");
  context.textBaseline = "top";
  let free = -1;
  const order = notes.name.map((_, n) => n);
  order.sort((a, b) => notes.from_ns[a] - notes.from_ns[b]);
  for (const n of order) {
    const [from, to] = [Math.round(toX(scale, notes.from_ns[n])), Math.round(toX(scale, notes.to_ns[n]))];
    if (to < 0 || from > scale.width) continue;
    if (notes.is_section[n]) context.fillRect(from, MARKS, Math.max(1, to - from), 3);
    else context.fillRect(from, 0, 1, bottom);
    const at = Math.max(0, from) + 3;
    if (at > free) {
      context.fillText(notes.name[n], at, 0);
      free = at + 4 + context.measureText(notes.name[n]).width;
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {number} height
 */
function drawTimes(context, scale, height) {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "bottom";
  const { step, all } = ticks(scale.from, scale.to, Math.max(2, scale.width / 110));
  for (const ns of all) {
    const x = Math.round(toX(scale, ns));
    context.fillStyle = color("line");
    context.fillRect(x, 0, 1, height - AXIS + 4);
    context.fillStyle = color("quiet");
    context.fillText(moment(ns, step), x + 3, height - 2);
  }
}
