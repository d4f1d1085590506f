/** The heap over time as bands, one on the other: of the processes, or of the threads, that held most, and of the rest. */

import { color } from "./colors.js";
import { bytes } from "./numbers.js";
import { toX } from "./scale.js";

/** As many colors as there are bands; the rest has one of its own. */
const COLORS = 7;

/**
 * The color of a band, by its place.
 * @param {number} n
 */
export function bandColor(n) {
  return color(n < COLORS ? `box-${n}` : "box-quiet");
}

/**
 * All bands with the rest, the lowest first.
 * @param {import("./answers.js").Bands} bands
 */
export function layers({ bands, rest_bytes: rest }) {
  return [...bands.map((band) => band.bytes), ...(rest.length > 0 ? [rest] : [])];
}

/**
 * The stretch that a moment lies in.
 * @param {number[]} from
 * @param {number} ns
 */
export function stretchAt(from, ns) {
  let [low, high] = [0, from.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (from[middle] <= ns) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/**
 * Draws them.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scale.js").Scale} scale
 * @param {import("./answers.js").Bands} bands
 * @param {number} end the end of the last stretch, ns
 * @param {(bytes: number) => number} y
 */
export function drawBands(context, scale, bands, end, y) {
  const from = bands.from_ns;
  const [first, last] = [stretchAt(from, scale.from), stretchAt(from, scale.to)];
  const below = new Array(from.length).fill(0);
  layers(bands).forEach((levels, layer) => {
    context.fillStyle = color(layer < bands.bands.length ? `box-${layer}` : "box-quiet");
    context.beginPath();
    for (let n = first; n <= last; n += 1) {
      const [left, right] = [toX(scale, from[n]), toX(scale, from[n + 1] ?? end)];
      const [bottom, top] = [y(below[n]), y(below[n] + levels[n])];
      context.rect(left, top, Math.max(1, right - left), bottom - top);
      below[n] += levels[n];
    }
    context.fill();
  });
}

/**
 * What the bands were at a moment, in words: the highest few.
 * @param {import("./answers.js").Bands} bands
 * @param {string[]} names
 * @param {number} ns
 */
export function describeBands({ from_ns: from, bands }, names, ns) {
  const at = stretchAt(from, ns);
  const order = bands.map((_, n) => n).filter((n) => bands[n].bytes[at] > 0);
  order.sort((a, b) => bands[b].bytes[at] - bands[a].bytes[at]);
  return order.slice(0, 3).map((n) => `${names[n]} ${bytes(bands[n].bytes[at])}`).join(", ");
}
