/** The view of what lives long and is large: live blocks by age and size, as a table whose cells are shaded. */

import { between } from "./colors.js";
import { element } from "./dom.js";
import { blocks, bytes, count, duration, percent } from "./numbers.js";
import { unitOf } from "./state.js";

/**
 * A time without digits that say nothing.
 * @param {number} ns
 */
function short(ns) {
  return ns === 0 ? "0" : duration(ns).replace(/\.00?(?= )/, "");
}

/**
 * A column in words.
 * @param {number[]} ages
 * @param {number} n
 */
export function ageName(ages, n) {
  return n + 1 < ages.length ? `${short(ages[n])} to ${short(ages[n + 1])}` : `${short(ages[n])} and older`;
}

/**
 * The question of a cell; nothing is any.
 * @param {{ at_ns: number, ages_ns: number[], from_bytes: number[] }} answer
 * @param {number | undefined} row
 * @param {number | undefined} column
 * @returns {Partial<import("./state.js").State>}
 */
export function questionOf({ at_ns: at, ages_ns: ages, from_bytes: sizes }, row, column) {
  const next = column === undefined ? undefined : ages[column + 1];
  const born = column === undefined ? {} : { from: next === undefined ? "" : String(at - next + 1), to: String(at - ages[column] + 1) };
  const size = row === undefined ? {} : { size: String(sizes[row]) };
  return { show: "live", at: String(at), larger: "", older: "", age: "", path: "", ...born, ...size, view: "flame" };
}

/**
 * @param {import("./answers.js").Held} answer
 * @param {import("./state.js").Store} store
 */
export function heldTable(answer, store) {
  const unit = unitOf(store);
  const cells = answer[unit];
  const most = Math.log1p(Math.max(1, ...cells.flat()));
  const press = (/** @type {string} */ text, /** @type {string} */ title, /** @type {Partial<import("./state.js").State>} */ change) =>
    element("button", { type: "button", class: "plain", title, click: () => store.set(change) }, text);
  const sizeOf = (/** @type {number} */ row) => {
    const [from, to] = [answer.from_bytes[row], answer.to_bytes[row]];
    return from === to ? `${count(from)} B` : `${bytes(from)} to ${bytes(to)}`;
  };
  const cell = (/** @type {number} */ row, /** @type {number} */ column) => {
    const n = cells[row][column];
    if (n === 0) return element("td", { class: "number" });
    const part = Math.log1p(n) / most;
    const title = `${bytes(answer.bytes[row][column])} in ${blocks(answer.blocks[row][column])}, of ${sizeOf(row)}, ${ageName(answer.ages_ns, column)} old`;
    const made = element("td", { class: part > 0.55 ? "number deep" : "number" }, press(unit === "bytes" ? bytes(n) : count(n), title, questionOf(answer, row, column)));
    made.style.background = between("map-low", "map-high", part);
    return made;
  };
  const heading = (/** @type {number} */ column) =>
    element("th", { scope: "col", class: "number" }, press(`from ${short(answer.ages_ns[column])}`, `Blocks that are ${ageName(answer.ages_ns, column)} old`, questionOf(answer, undefined, column)));
  const columns = answer.ages_ns.map((_, column) => column);
  // The largest are on top, the oldest on the right: what lives long and is large is in that corner.
  const rows = answer.from_bytes.map((_, row) => row).reverse();
  const line = (/** @type {number} */ row) => {
    const sum = cells[row].reduce((all, n) => all + n, 0);
    const name = element("th", { scope: "row", class: "number" }, press(sizeOf(row), "Blocks of these sizes", questionOf(answer, row, undefined)));
    return element("tr", {}, name, ...columns.map((column) => cell(row, column)), element("td", { class: "number" }, percent(sum, answer.total[unit])));
  };
  const nothing = element("tr", {}, element("td", { colspan: String(columns.length + 2) }, "There are no such blocks."));
  const head = element("tr", {}, element("th", { scope: "col" }, "Size \\ age"), ...columns.map(heading), element("th", { scope: "col", class: "number" }, "Part"));
  const table = element("table", { "aria-label": "Live blocks by size and age", class: "held" }, element("thead", {}, head), element("tbody", {}, ...(rows.length > 0 ? rows.map(line) : [nothing])));
  const hint = "Live at the cursor, exact: each column is twice as old as the one left of it. Press a cell to see its stacks; “at least” above chooses all that are larger and older. Shades are logarithmic.";
  return element("div", {}, element("div", { class: "scroll" }, table), element("p", { class: "hint" }, hint));
}
