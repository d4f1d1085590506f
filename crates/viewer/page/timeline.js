/** The heap over time, drawn: live bytes, resident memory, allocations, processes, marks, the range and the cursor. */

import { color } from "./colors.js";
import { prepared } from "./dom.js";
import { bytes, moment } from "./numbers.js";
import { byteTicks, ticks, toX } from "./scale.js";

/** Heights, in pixels: the axis of time, the band of allocations, a row of marks, the most that processes have. */
const AXIS = 18;
const RATES = 26;
const MARKS = 12;
const BANDS = 24;

/** The lines, told apart by their dashes as well. */
export const LINES = [
  { name: "┅ resident", color: "resident", column: "rss_bytes", dash: [6, 3] },
  { name: "┈ anonymous", color: "anonymous", column: "anonymous_bytes", dash: [2, 2] },
  { name: "─ live heap", color: "heap", column: "heap_max_bytes", dash: [] },
];
/** Between the axis at the left and its labels, pixels. */
const GAP = 6;

/**
 * @typedef {object} Drawn
 * @property {any} whole what the server says of the whole recording
 * @property {{ from: number, to: number }} shown
 * @property {{ from: number, to: number } | undefined} range
 * @property {number | undefined} cursor
 * @property {boolean} isHeapAlone without resident memory
 */

/**
 * Draws it.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} axis what stands left of it
 * @param {Drawn} drawn
 */
export function drawTimeline(canvas, axis, { whole, shown, range, cursor, isHeapAlone }) {
  const { context, width, height } = prepared(canvas);
  const label = labels(axis);
  const scale = { ...shown, width };
  const bottom = height - AXIS - RATES - BANDS;
  drawTimes(context, scale, height);
  drawRates(context, scale, whole.timeline, bottom + RATES, label);
  drawProcesses(context, scale, whole.processes, bottom + RATES + 2);
  if (whole.processes.pid.length > 0) label("processes", bottom + RATES + BANDS / 2, "quiet");
  drawHeap(context, scale, whole.timeline, bottom, isHeapAlone, label);
  drawMarks(context, scale, whole.marks, bottom);
  if (range) {
    context.fillStyle = color("range");
    const [from, to] = [toX(scale, range.from), toX(scale, range.to)];
    context.fillRect(from, 0, Math.max(1, to - from), height - AXIS);
  }
  if (cursor !== undefined) {
    context.fillStyle = color("text");
    context.fillRect(Math.round(toX(scale, cursor)), 0, 1, height - AXIS);
  }
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
 * @param {any} timeline
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
 * @param {any} timeline
 * @param {number} bottom
 * @param {boolean} isHeapAlone
 * @param {(text: string, y: number, color: string) => void} label
 */
function drawHeap(context, scale, timeline, bottom, isHeapAlone, label) {
  const steps = visible(timeline, scale);
  const lines = LINES.map((line) => ({ ...line, column: timeline[line.column] })).filter(
    (line) => line.column && (!isHeapAlone || line.color === "heap"),
  );
  const top = Math.max(1, ...lines.map((line) => most(line.column, steps)));
  const y = (/** @type {number} */ n) => bottom - (n / top) * (bottom - MARKS - 4);
  for (const tick of byteTicks(top, 4)) {
    context.fillStyle = color("line");
    context.fillRect(0, Math.round(y(tick)), scale.width, 1);
    label(bytes(tick), y(tick), "quiet");
  }
  label("0", bottom, "quiet");
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
 * @param {any} timeline
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
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {any} timeline
 * @param {number} bottom
 * @param {(text: string, y: number, color: string) => void} label
 */
function drawRates(context, scale, timeline, bottom, label) {
  const steps = visible(timeline, scale);
  const top = Math.max(1, most(timeline.allocated_bytes, steps));
  context.fillStyle = color("rate");
  const width = Math.max(1, toX(scale, scale.from + timeline.step_ns));
  for (let n = steps.first; n <= steps.last; n += 1) {
    const high = (timeline.allocated_bytes[n] / top) * (RATES - 6);
    context.fillRect(toX(scale, timeline.begin_ns + n * timeline.step_ns), bottom - high, width, high);
  }
  const perSecond = (most(timeline.allocated_bytes, steps) / timeline.step_ns) * 1e9;
  label(`${bytes(Math.round(perSecond))}/s`, bottom - RATES + 12, "rate");
}

/**
 * A band for each process, from its begin to its end.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {any} processes
 * @param {number} top
 */
function drawProcesses(context, scale, processes, top) {
  const high = Math.max(1, Math.min(8, (BANDS - 4) / Math.max(1, processes.pid.length)));
  context.fillStyle = color("quiet");
  for (let n = 0; n < processes.pid.length && (n + 1) * high <= BANDS; n += 1) {
    const from = toX(scale, processes.begin_ns[n]);
    const width = Math.max(1, toX(scale, processes.end_ns[n]) - from);
    context.fillRect(from, top + n * high, width, Math.max(0.5, high - 2));
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {any} marks
 * @param {number} bottom
 */
function drawMarks(context, scale, marks, bottom) {
  context.fillStyle = color("mark");
  context.textBaseline = "top";
  let free = -1;
  const order = marks.name.map((/** @type {string} */ _, /** @type {number} */ n) => n);
  order.sort((/** @type {number} */ a, /** @type {number} */ b) => marks.first_ns[a] - marks.first_ns[b]);
  for (const n of order) {
    for (const ns of new Set([marks.first_ns[n], marks.last_ns[n]])) {
      const x = Math.round(toX(scale, ns));
      if (x < 0 || x > scale.width) continue;
      context.fillRect(x, 0, 1, bottom);
      if (x > free) {
        context.fillText(marks.name[n], x + 3, 0);
        free = x + 3 + context.measureText(marks.name[n]).width;
      }
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
