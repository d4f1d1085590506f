/** Time and pixels. Pure functions: what the timeline draws and what a pointer means are the same figures. */

/**
 * A stretch of time that is shown, over a width.
 * @typedef {{ from: number, to: number, width: number }} Scale
 */

/**
 * @param {Scale} scale
 * @param {number} ns
 */
export function toX({ from, to, width }, ns) {
  return ((ns - from) / (to - from)) * width;
}

/**
 * @param {Scale} scale
 * @param {number} x
 */
export function toNs({ from, to, width }, x) {
  return from + (x / width) * (to - from);
}

/**
 * A stretch zoomed around a moment, which stays where it is; within the whole.
 * @param {{ from: number, to: number }} shown
 * @param {number} around ns
 * @param {number} factor below 1 for closer
 * @param {number} whole ns
 */
export function zoomed({ from, to }, around, factor, whole) {
  const length = Math.min(whole, Math.max(100, (to - from) * factor));
  return within(around - ((around - from) / (to - from)) * length, length, whole);
}

/**
 * A stretch moved by so many ns, within the whole.
 * @param {{ from: number, to: number }} shown
 * @param {number} by ns
 * @param {number} whole ns
 */
export function panned({ from, to }, by, whole) {
  return within(from + by, to - from, whole);
}

/**
 * @param {number} from
 * @param {number} length
 * @param {number} whole
 */
function within(from, length, whole) {
  const begin = Math.round(Math.min(Math.max(0, from), whole - length));
  return { from: begin, to: Math.round(begin + length) };
}

/**
 * Round figures for an axis: at most so many, with 1, 2 or 5 between them.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 */
export function ticks(from, to, most) {
  const least = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5, 10].find((n) => n * power >= least) ?? 10);
  const all = [];
  for (let n = Math.ceil(from / step); n * step <= to; n += 1) all.push(n * step);
  return { step, all };
}

/**
 * The same for bytes: powers of two between them.
 * @param {number} to
 * @param {number} most
 */
export function byteTicks(to, most) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, to / Math.max(1, most))));
  const all = [];
  for (let n = step; n <= to; n += step) all.push(n);
  return all;
}
