/** Numbers as `heapscribe report` prints them, as far as a browser has them, and paths as there is room for them. */

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/**
 * Three digits, or all that are before the point.
 * @param {number} n
 */
function short(n) {
  return n >= 999.5 ? count(Math.round(n)) : n.toFixed(n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2);
}

/** @param {number} n */
export function bytes(n) {
  let unit = 0;
  let rest = n;
  while (Math.round(rest) >= 1024 && unit + 1 < BYTES.length) {
    rest /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count(n)} B` : `${short(rest)} ${BYTES[unit]}`;
}

/** @param {number} n */
export function count(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

let countsBlocks = true;

/** massif's files have bytes only: their numbers of blocks are no zeros, they are not known. */
export function doNotCountBlocks() {
  countsBlocks = false;
}

/**
 * A number of blocks where its unit is said elsewhere.
 * @param {number} n
 */
export function blockCount(n) {
  return countsBlocks ? count(n) : "?";
}

/** @param {number} n */
export function blocks(n) {
  if (!countsBlocks) return "an unknown number of blocks";
  return `${count(n)} ${n === 1 ? "block" : "blocks"}`;
}

/**
 * A time, or a moment from the start.
 * @param {number} ns
 */
export function duration(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${short(ns / 1e3)} us`;
  if (ns < 1e9) return `${short(ns / 1e6)} ms`;
  return `${short(ns / 1e9)} s`;
}

/**
 * A moment, with as many digits as are needed to tell those apart that are so far from each other.
 * @param {number} ns
 * @param {number} stepNs
 */
export function moment(ns, stepNs) {
  const [unit, name] = stepNs >= 1e6 ? [1e9, "s"] : stepNs >= 1e3 ? [1e6, "ms"] : [1e3, "us"];
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(stepNs / unit))));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

/**
 * @param {number} part
 * @param {number} whole
 */
export function percent(part, whole) {
  if (whole === 0) return "0 %";
  const share = ((100 * part) / whole).toFixed(1);
  return part > 0 && share === "0.0" ? "< 0.1 %" : `${share} %`;
}

/**
 * A change with its sign.
 * @param {number} before
 * @param {number} after
 * @param {"bytes" | "blocks"} unit
 */
export function changed(before, after, unit) {
  const [by, sign] = [Math.abs(after - before), after > before ? "+" : after < before ? "−" : "±"];
  return `${sign}${unit === "bytes" ? bytes(by) : count(by)}`;
}

/**
 * The end of a path, as far as people know files by it.
 * @param {string} path
 */
export function shortPath(path) {
  const parts = path.split("/");
  return parts.length <= 3 ? path : `…/${parts.slice(-2).join("/")}`;
}
