/** The heap of each process over time, one below the other, under the timeline and with its scale. */

import { color } from "./colors.js";
import { prepared } from "./dom.js";
import { bytes, moment } from "./numbers.js";
import { toX } from "./scale.js";

/** Height of a lane, and of what is drawn in it, pixels. */
export const LANE = 20;
const HIGH = 16;

/**
 * @typedef {object} Lane
 * @property {number} process
 * @property {number} pid
 * @property {string} name
 * @property {number} max_bytes
 * @property {number[]} step steps in which its heap changed
 * @property {number[]} heap_end_bytes what it was at their ends, and until the next of them
 */

/**
 * The heap of a process at the end of a step.
 * @param {Lane} lane
 * @param {number} step
 */
export function heapAt({ step: steps, heap_end_bytes: heap }, step) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : heap[low - 1];
}

/**
 * What a lane was at a moment, in words.
 * @param {import("./answers.js").Time} time
 * @param {Lane} lane
 * @param {number} ns
 */
export function describeLane({ timeline }, lane, ns) {
  const step = Math.floor((ns - timeline.begin_ns) / timeline.step_ns);
  const live = bytes(heapAt(lane, step));
  return `${lane.name} (pid ${lane.pid}) at ${moment(ns, timeline.step_ns)}: ${live} live, ${bytes(lane.max_bytes)} at most`;
}

/**
 * Draws all lanes; all have one scale, so that their heights can be compared.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} axis what stands left of it
 * @param {{ time: import("./answers.js").Time, shown: { from: number, to: number }, cursor: number | undefined, range: { from: number, to: number } | undefined, chosen: string }} drawn
 */
export function drawLanes(canvas, axis, { time, shown, cursor, range, chosen }) {
  const { context, width, height } = prepared(canvas);
  const names = prepared(axis);
  names.context.font = "11px system-ui, sans-serif";
  names.context.textBaseline = "middle";
  const scale = { ...shown, width };
  const top = Math.max(1, ...time.lanes.map((lane) => lane.max_bytes));
  time.lanes.forEach((lane, n) => {
    const bottom = (n + 1) * LANE - 1;
    const isChosen = String(lane.process) === chosen;
    context.fillStyle = color("line");
    context.fillRect(0, bottom, width, 1);
    context.fillStyle = color(isChosen ? "accent" : "lane");
    drawArea(context, scale, time.timeline, lane, bottom, top);
    drawName(names, `${lane.name} ${lane.pid}`, bottom - LANE / 2, isChosen);
  });
  if (range) {
    context.fillStyle = color("range");
    const [from, to] = [toX(scale, range.from), toX(scale, range.to)];
    context.fillRect(from, 0, Math.max(1, to - from), height);
  }
  if (cursor !== undefined) {
    context.fillStyle = color("text");
    context.fillRect(Math.round(toX(scale, cursor)), 0, 1, height);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Timeline} timeline
 * @param {Lane} lane
 * @param {number} bottom
 * @param {number} top
 */
function drawArea(context, scale, timeline, { step, heap_end_bytes: heap }, bottom, top) {
  const end = timeline.heap_max_bytes.length;
  for (let n = 0; n < step.length; n += 1) {
    if (heap[n] === 0) continue;
    const from = toX(scale, timeline.begin_ns + step[n] * timeline.step_ns);
    const to = toX(scale, timeline.begin_ns + (step[n + 1] ?? end) * timeline.step_ns);
    if (to < 0 || from > scale.width) continue;
    const high = Math.max(0.5, (heap[n] / top) * HIGH);
    context.fillRect(from, bottom - high, Math.max(1, to - from), high);
  }
}

/**
 * As much of a name as there is room for; its end is what tells processes apart.
 * @param {{ context: CanvasRenderingContext2D, width: number }} axis
 * @param {string} name
 * @param {number} y
 * @param {boolean} isChosen
 */
function drawName({ context, width }, name, y, isChosen) {
  let shown = name;
  for (let n = 1; context.measureText(shown).width > width - 8 && n < name.length; n += 1) shown = `…${name.slice(n)}`;
  context.fillStyle = color(isChosen ? "accent" : "quiet");
  context.textAlign = "right";
  context.fillText(shown, width - 6, y);
}
