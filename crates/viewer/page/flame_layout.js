/** Where boxes are. Pure functions over the columns that the server sends: a row is a box, and what is on it follows. */

/**
 * @typedef {object} Flame
 * @property {string[]} names
 * @property {string[]} files
 * @property {number[]} functions
 * @property {(number | null)[]} modules
 * @property {number[]} path
 * @property {number[]} depth
 * @property {number[]} name
 * @property {number[]} bytes
 * @property {number[]} blocks
 * @property {number[]} own_bytes
 * @property {number[]} own_blocks
 * @property {number[]} left_out
 * @property {number[]} [before_bytes] what each was, where that is compared
 * @property {number[]} [before_blocks]
 */

/**
 * The begin of each box, as a part of the first one's width, and the row that it is on.
 * @param {Flame} flame
 * @param {"bytes" | "blocks"} unit
 */
export function layout(flame, unit) {
  const rows = flame.depth.length;
  const [begin, below] = [new Float64Array(rows), new Int32Array(rows).fill(-1)];
  const [free, open] = [/** @type {number[]} */ ([0]), /** @type {number[]} */ ([])];
  let levels = 0;
  for (let row = 0; row < rows; row += 1) {
    const depth = flame.depth[row];
    begin[row] = free[depth];
    if (depth > 0) below[row] = open[depth - 1];
    free[depth] = begin[row] + flame[unit][row];
    free[depth + 1] = begin[row];
    open[depth] = row;
    levels = Math.max(levels, depth + 1);
  }
  return { begin, below, levels, whole: rows > 0 ? flame[unit][0] : 0 };
}

/** @typedef {ReturnType<typeof layout>} Layout */

/**
 * The box at a place; -1 if there is none.
 * @param {Flame} flame
 * @param {Layout} layout
 * @param {"bytes" | "blocks"} unit
 * @param {number} part from 0 to 1
 * @param {number} level
 */
export function boxAt(flame, layout, unit, part, level) {
  const at = part * layout.whole;
  const isThere = (/** @type {number} */ row) =>
    flame.depth[row] === level && layout.begin[row] <= at && at < layout.begin[row] + flame[unit][row];
  return flame.depth.findIndex((_, row) => isThere(row));
}

/**
 * The rows from above the first box to a box, the outermost first.
 * @param {Layout} layout
 * @param {number} row
 */
export function pathTo(layout, row) {
  const path = [];
  for (let at = row; at > 0; at = layout.below[at]) path.unshift(at);
  return path;
}

/**
 * What is searched: a part of a name, or a regular expression between two /, both in letters of any case.
 * @param {string} text
 * @returns {(name: string) => boolean}
 */
export function matcher(text) {
  const pattern = /^\/(.+)\/$/s.exec(text)?.[1];
  if (pattern !== undefined) {
    try {
      const regex = new RegExp(pattern, "iu");
      return (name) => regex.test(name);
    } catch {
      return () => false; // it is being typed
    }
  }
  const wanted = text.toLowerCase();
  return (name) => wanted !== "" && name.toLowerCase().includes(wanted);
}

/**
 * Which names have this part, and what all boxes of such names have together: those on others of them count once.
 * @param {Flame} flame
 * @param {"bytes" | "blocks"} unit
 * @param {string} part
 */
export function matches(flame, unit, part) {
  const names = flame.names.map(matcher(part));
  let [sum, inside] = [0, Infinity];
  for (let row = 0; row < flame.depth.length; row += 1) {
    const depth = flame.depth[row];
    if (depth <= inside) inside = Infinity;
    if (inside === Infinity && names[flame.name[row]]) {
      sum += flame[unit][row];
      inside = depth;
    }
  }
  return { names, sum };
}

/**
 * The box that an arrow key leads to: out to its caller, in to the widest on it, or to one beside it.
 * @param {Flame} flame
 * @param {Layout} layout
 * @param {number} row
 * @param {string} key
 */
export function neighbor(flame, layout, row, key) {
  const depth = flame.depth[row];
  const isBeside = (/** @type {number} */ other) => flame.depth[other] === depth;
  if (key === "ArrowUp") return Math.max(0, layout.below[row]);
  if (key === "ArrowDown") return flame.depth[row + 1] === depth + 1 ? row + 1 : row;
  const step = key === "ArrowRight" ? 1 : -1;
  for (let other = row + step; other >= 0 && other < flame.depth.length; other += step) {
    if (isBeside(other)) return other;
  }
  return row;
}
