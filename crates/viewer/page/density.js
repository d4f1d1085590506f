/** A map of density: time goes upward in short cells, and on from column to column. */

import { between, color } from "./colors.js";
import { prepared } from "./dom.js";
import { bytes, count, duration, moment } from "./numbers.js";
import { ticks, toX } from "./scale.js";

/** Height of a cell, and of the axis of time, pixels. */
export const CELL = 5;
const AXIS = 18;

/**
 * @typedef {object} Density
 * @property {number} from_ns
 * @property {number} cell_ns
 * @property {number} per_column
 * @property {boolean} is_freed whether it is of what was freed
 * @property {number[]} cells one after the other in time
 */

/** @typedef {{ first: number, last: number }} Cells both ends are in it */

/** @param {Density} density */
export function columnsOf({ cells, per_column: rows }) {
  return Math.max(1, Math.ceil(cells.length / rows));
}

/** @param {Density} density */
export function heightOf({ per_column: rows }) {
  return rows * CELL + AXIS;
}

/**
 * The cell at a place.
 * @param {Density} density
 * @param {number} x part of the width
 * @param {number} y pixels from the top
 */
export function cellAt(density, x, y) {
  const { cells, per_column: rows } = density;
  const columns = columnsOf(density);
  const column = Math.min(columns - 1, Math.max(0, Math.floor(x * columns)));
  const row = Math.min(rows - 1, Math.max(0, rows - 1 - Math.floor(y / CELL)));
  return Math.min(cells.length - 1, column * rows + row);
}

/**
 * The question of cells that follow each other.
 * @param {Density} density
 * @param {Cells} cells
 * @returns {Partial<import("./state.js").State>}
 */
export function questionOf({ from_ns: begin, cell_ns: step, is_freed: isFreed }, { first, last }) {
  const [from, to] = [begin + first * step, begin + (last + 1) * step];
  return { show: isFreed ? "freed" : "allocated", from: String(from), to: String(to), born: "", age: "", path: "" };
}

/**
 * Cells in words.
 * @param {Density} density
 * @param {Cells} cells
 * @param {"bytes" | "blocks"} unit
 */
export function describe({ from_ns: begin, cell_ns: step, is_freed: isFreed, cells }, { first, last }, unit) {
  const sum = cells.slice(first, last + 1).reduce((all, n) => all + n, 0);
  const amount = unit === "bytes" ? bytes(sum) : `${count(sum)} ${sum === 1 ? "block" : "blocks"}`;
  const [from, to] = [begin + first * step, begin + (last + 1) * step].map((ns) => moment(ns, step));
  return `${isFreed ? "Freed" : "Allocated"} from ${from} to ${to}: ${amount}`;
}

/**
 * What it shows, and how to use it.
 * @param {Density} density
 * @param {"bytes" | "blocks"} unit
 */
export function legend(density, unit) {
  const { cells, cell_ns: step, per_column: rows } = density;
  const most = cells.reduce((found, n) => Math.max(found, n), 0);
  const shades = `the darkest, or in the dark the brightest, has ${unit === "bytes" ? bytes(most) : `${count(most)} blocks`}; shades are logarithmic`;
  return `Each cell is ${duration(step)}, each column ${duration(step * rows)} from its foot to its top: ${shades}. Choose a shorter range for shorter cells.`;
}

/**
 * Draws it.
 * @param {HTMLCanvasElement} canvas
 * @param {Density} density
 * @param {Cells | undefined} chosen
 */
export function drawDensity(canvas, density, chosen) {
  const { context, width, height } = prepared(canvas);
  const { cells, per_column: rows } = density;
  const wide = width / columnsOf(density);
  const most = Math.log1p(cells.reduce((found, n) => Math.max(found, n), 1));
  const gap = wide > 3 ? 0.3 : 0;
  cells.forEach((amount, n) => {
    const isChosen = chosen !== undefined && n >= chosen.first && n <= chosen.last;
    if (amount === 0 && !isChosen) return;
    const [x, y] = [Math.floor(n / rows) * wide, (rows - 1 - (n % rows)) * CELL];
    if (amount > 0) {
      context.fillStyle = between("map-low", "map-high", Math.log1p(amount) / most);
      context.fillRect(x, y, Math.max(1, wide - gap), CELL - 0.5);
    }
    if (!isChosen) return;
    context.fillStyle = color("range");
    context.fillRect(x, y, wide, CELL);
  });
  drawTimes(context, density, width, height);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Density} density
 * @param {number} width
 * @param {number} height
 */
function drawTimes(context, density, width, height) {
  const long = columnsOf(density) * density.per_column * density.cell_ns;
  const scale = { from: density.from_ns, to: density.from_ns + long, width };
  const { step, all } = ticks(scale.from, scale.to, Math.max(2, width / 110));
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "bottom";
  for (const ns of all) {
    const x = Math.round(toX(scale, ns));
    context.fillStyle = color("line");
    context.fillRect(x, height - AXIS, 1, 4);
    context.fillStyle = color("quiet");
    context.fillText(moment(ns, step), x + 3, height - 2);
  }
}
