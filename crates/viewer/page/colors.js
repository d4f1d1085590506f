/** Colors of the canvases: those of the style sheet, so that light and dark are decided in one place. */

/** @type {Map<string, string>} */
const known = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  known.clear();
  dispatchEvent(new Event("colors"));
});

/**
 * A color of the style sheet.
 * @param {string} name without the dashes
 */
export function color(name) {
  let value = known.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    known.set(name, value);
  }
  return value;
}

/**
 * A color between two of the style sheet.
 * @param {string} from
 * @param {string} to
 * @param {number} part 0 for the first, 1 for the second
 */
export function between(from, to, part) {
  const parts = (/** @type {string} */ name) => [1, 3, 5].map((at) => Number.parseInt(color(name).slice(at, at + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return `rgb(${a.map((n, at) => Math.round(n + (b[at] - n) * part)).join(" ")})`;
}

/**
 * The color of a change: more is orange, less is blue, which most people can tell apart.
 * @param {number} before
 * @param {number} after
 */
export function changeColor(before, after) {
  const part = (after - before) / Math.max(1, before, after);
  return between("same", part < 0 ? "shrunk" : "grown", Math.sqrt(Math.abs(part)));
}

/** As many colors as boxes have; they differ in lightness, too, so that no pair is told apart by hue alone. */
const BOXES = 7;

/**
 * The color of a box: that of the file that its function is in.
 * @param {string} file
 */
export function boxColor(file) {
  if (file === "") return color("box-quiet");
  let sum = 7;
  for (let n = 0; n < file.length; n += 1) sum = (Math.imul(sum, 31) + file.charCodeAt(n)) >>> 0;
  return color(`box-${sum % BOXES}`);
}
