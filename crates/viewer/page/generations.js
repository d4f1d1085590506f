/** The view of generations: what was allocated between marks, and what of it stayed. */

import { element } from "./dom.js";
import { bytes, count, duration, percent } from "./numbers.js";
import { unitOf } from "./state.js";
import { table } from "./tables.js";

/** Where there are no marks a range is cut into so many parts; and it never is into more than the server answers. */
const PARTS = 8;
const MOST = 64;

/**
 * The moments between generations, with the begin and the end of the range.
 * @param {import("./state.js").State} state
 * @param {import("./answers.js").Time} time
 * @returns {number[]}
 */
export function cuts(state, { duration_ns: duration, notes }) {
  const [from, to] = [Number(state.from || 0), Number(state.to || duration)];
  const isInside = (/** @type {number} */ ns) => from < ns && ns < to;
  const marks = notes.from_ns.filter((ns, n) => !notes.is_section[n] && isInside(ns));
  const parts = Array.from({ length: PARTS - 1 }, (_, n) => Math.round(from + ((to - from) * (n + 1)) / PARTS));
  const between = marks.length > 0 ? marks : parts.filter(isInside);
  const all = [...new Set([from, ...between, to])].sort((a, b) => a - b);
  return all.length <= MOST + 1 ? all : [...all.slice(0, MOST), to];
}

/**
 * The mark that was set at a moment, if one was.
 * @param {import("./answers.js").Notes | undefined} notes
 * @param {number} ns
 */
function markAt(notes, ns) {
  const name = notes?.name.find((_, n) => notes.from_ns[n] === ns && !notes.is_section[n]);
  return name === undefined ? "" : ` (${name})`;
}

/**
 * A row for each generation; a press leads to its flame graph.
 * @param {import("./answers.js").Generations} answer
 * @param {import("./state.js").Store} store
 * @param {import("./answers.js").Notes | undefined} notes
 */
export function generationTable(answer, store, notes) {
  const unit = unitOf(store);
  const show = unit === "bytes" ? bytes : count;
  const lead = (/** @type {number} */ row, /** @type {"allocated" | "retained" | "left"} */ of) => {
    const [from, to] = [String(answer.from_ns[row]), String(answer.to_ns[row])];
    const open = () => store.set({ show: of, from, to, path: "", view: "flame" });
    return element("button", { type: "button", class: "plain", click: open }, show(answer[`${of}_${unit}`][row]));
  };
  const rows = answer.from_ns.map((from, row) => [
    `${duration(from)}${markAt(notes, from)}`,
    `${duration(answer.to_ns[row])}${markAt(notes, answer.to_ns[row])}`,
    lead(row, "allocated"),
    lead(row, "retained"),
    lead(row, "left"),
    percent(answer[`left_${unit}`][row], answer[`allocated_${unit}`][row]),
  ]);
  const headings = ["From", "To", "Allocated", "Live at its end", "Never freed", "of it"];
  return element("div", {}, table("Generations", headings, rows, ["number", "number", "number", "number", "number", "number"]));
}
