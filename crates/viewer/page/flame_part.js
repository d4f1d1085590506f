/** A part of a flame graph: the box at the end of a path, with all on it. */

/** @typedef {import("./flame_layout.js").Flame} Flame */

/** What there is of each box. */
const COLUMNS = /** @type {const} */ (["name", "bytes", "blocks", "own_bytes", "own_blocks", "before_bytes", "before_blocks", "left_out"]);

/**
 * As the server draws it, but without what was too narrow for the whole graph.
 * @template {Flame} F
 * @param {F} flame drawn from its first box on
 * @param {number[]} path numbers of functions
 * @returns {F}
 */
export function partOf(flame, path) {
  /** @type {number[]} */
  const names = [];
  let row = 0;
  for (const number of path) {
    const next = child(flame, row, number);
    // A box that is not there is where a path ends.
    if (next < 0) break;
    names.push(flame.name[row]);
    row = next;
  }
  const end = endOf(flame, row);
  const part = { ...flame, path: names, depth: flame.depth.slice(row, end).map((depth) => depth - flame.depth[row]) };
  for (const column of COLUMNS) {
    const all = flame[column];
    if (all) part[column] = all.slice(row, end);
  }
  return part;
}

/**
 * The box of a function directly on another one, or -1.
 * @param {Flame} flame
 * @param {number} below
 * @param {number} number
 */
function child(flame, below, number) {
  const end = endOf(flame, below);
  for (let row = below + 1; row < end; row += 1) {
    if (flame.depth[row] === flame.depth[below] + 1 && flame.functions[flame.name[row]] === number) return row;
  }
  return -1;
}

/**
 * The first box after those that are on this one.
 * @param {Flame} flame
 * @param {number} row
 */
function endOf({ depth }, row) {
  let end = row + 1;
  while (end < depth.length && depth[end] > depth[row]) end += 1;
  return end;
}
