/** A map of lifetimes: when blocks were allocated, from left to right, and how long they lived, upward. */

import { between, color } from "./colors.js";
import { prepared } from "./dom.js";
import { bytes, count, duration, moment } from "./numbers.js";
import { ticks, toNs, toX } from "./scale.js";

/** Height of a row, and of the axis of time, pixels. */
export const ROW = 18;
export const AXIS = 18;

/**
 * @typedef {object} Ages
 * @property {number[]} moments_ns where columns begin, and the last one ends
 * @property {number[]} ages_ns where each row begins
 * @property {number[][]} freed by row and column
 * @property {number[]} left what was never freed, by column
 */

/**
 * @typedef {{ cells: number[], from: number, to: number }} Row lifetimes in ns; Infinity is where they have no end
 */

/**
 * The rows that have anything, the longest-lived first: above all what was never freed, which has no age.
 * @param {Ages} ages
 * @returns {Row[]}
 */
export function rowsOf(ages) {
  const rows = ages.freed.map((cells, n) => ({ cells, from: ages.ages_ns[n], to: ages.ages_ns[n + 1] ?? Infinity }));
  const has = (/** @type {{ cells: number[] }} */ { cells }) => cells.some((n) => n > 0);
  const [first, last] = [rows.findIndex(has), rows.map(has).lastIndexOf(true)];
  const used = first < 0 ? [] : rows.slice(first, last + 1).reverse();
  return [{ cells: ages.left, from: Infinity, to: Infinity }, ...used];
}

/**
 * What a row is, in words.
 * @param {{ from: number, to: number }} row
 */
export function rowName({ from, to }) {
  if (from === Infinity) return "never freed";
  return to === Infinity ? `${short(from)} and longer` : `${short(from)} to ${short(to)}`;
}

/** @param {number} ns */
function short(ns) {
  return ns === 0 ? "0" : duration(ns).replace(/\.00?(?= )/, "");
}

/**
 * The question of a rectangle of cells.
 * @param {Ages} ages
 * @param {{ from: number, to: number }[]} rows
 * @param {{ left: number, right: number, top: number, bottom: number }} cells both ends are in it
 * @returns {Partial<import("./state.js").State>}
 */
export function questionOf(ages, rows, { left, right, top, bottom }) {
  const [from, to] = [ages.moments_ns[left], ages.moments_ns[right + 1]];
  const range = { from: String(from), to: String(to), path: "" };
  // What was never freed has no lifetime; with other rows it is left out.
  const freed = rows.slice(Math.max(1, top), bottom + 1);
  if (freed.length === 0) return { ...range, show: "left", age: "" };
  const longest = freed[0].to === Infinity ? "" : String(freed[0].to);
  return { ...range, show: "allocated", age: `${freed[freed.length - 1].from}.${longest}` };
}

/**
 * Draws it.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} axis what stands left of it
 * @param {Ages} ages
 * @param {{ left: number, right: number, top: number, bottom: number } | undefined} chosen
 */
export function drawLifetimes(canvas, axis, ages, chosen) {
  const { context, width, height } = prepared(canvas);
  const labels = prepared(axis);
  const rows = rowsOf(ages);
  const { most, factors } = shadesOf(ages, rows);
  const scale = scaleOf(ages, width);
  const x = (/** @type {number} */ column) => toX(scale, ages.moments_ns[column]);
  labels.context.font = context.font = "11px system-ui, sans-serif";
  labels.context.textAlign = "right";
  labels.context.textBaseline = "middle";
  rows.forEach((row, n) => {
    labels.context.fillStyle = color("quiet");
    labels.context.fillText(rowName(row), labels.width - 6, n * ROW + ROW / 2);
    row.cells.forEach((amount, column) => {
      if (amount === 0) return;
      context.fillStyle = between("map-low", "map-high", Math.log1p(amount * factors[column]) / Math.log1p(most));
      context.fillRect(x(column), n * ROW, Math.max(1, x(column + 1) - x(column) - 0.3), ROW - 1);
    });
  });
  drawTimes(context, scale, height);
  if (!chosen) return;
  context.strokeStyle = color("text");
  context.lineWidth = 2;
  const { left, right, top, bottom } = chosen;
  context.strokeRect(x(left), top * ROW, Math.max(2, x(right + 1) - x(left)), (bottom - top + 1) * ROW - 1);
}

/**
 * What shades stand for: amounts by time. Each is multiplied by the factor of its column, which is 1 for one of the mean
 * length.
 * @param {Ages} ages
 * @param {Row[]} rows
 */
export function shadesOf({ moments_ns: moments }, rows) {
  const mean = (moments[moments.length - 1] - moments[0]) / Math.max(1, moments.length - 1);
  const factors = moments.slice(1).map((end, n) => mean / Math.max(1, end - moments[n]));
  const most = Math.max(1, ...rows.flatMap(({ cells }) => cells.map((amount, n) => amount * factors[n])));
  const isEven = factors.every((factor) => Math.abs(factor - 1) < 0.1);
  return { mean, factors, most, isEven };
}

/**
 * The time of all columns over a width.
 * @param {Ages} ages
 * @param {number} width
 */
export function scaleOf({ moments_ns: moments }, width) {
  return { from: moments[0], to: moments[moments.length - 1], width };
}

/**
 * The column that is under a place: columns are as wide as they are long.
 * @param {Ages} ages
 * @param {number} width
 * @param {number} x
 */
export function columnAt(ages, width, x) {
  const ns = toNs(scaleOf(ages, width), x);
  const after = ages.moments_ns.findIndex((begin) => begin > ns);
  const last = ages.left.length - 1;
  return after < 0 ? last : Math.min(last, Math.max(0, after - 1));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {number} height
 */
function drawTimes(context, scale, height) {
  const { step, all } = ticks(scale.from, scale.to, Math.max(2, scale.width / 110));
  context.textBaseline = "bottom";
  for (const ns of all) {
    const x = Math.round(toX(scale, ns));
    context.fillStyle = color("line");
    context.fillRect(x, height - AXIS, 1, 4);
    context.fillStyle = color("quiet");
    context.fillText(moment(ns, step), x + 3, height - 2);
  }
}

/**
 * A cell in words.
 * @param {Ages} ages
 * @param {Row} row
 * @param {number} column
 * @param {"bytes" | "blocks"} unit
 */
export function describeCell(ages, row, column, unit) {
  const [from, to] = [ages.moments_ns[column], ages.moments_ns[column + 1]];
  const amount = unit === "bytes" ? bytes(row.cells[column]) : `${count(row.cells[column])} blocks`;
  const age = row.from === Infinity ? rowName(row) : `lived ${rowName(row)}`;
  return `Allocated from ${moment(from, to - from)} to ${moment(to, to - from)}, ${age}: ${amount}`;
}
