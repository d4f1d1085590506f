/** The views that are tables: functions, stacks. */

import { element } from "./dom.js";
import { blockCount, bytes, count, percent, shortPath } from "./numbers.js";
import { unitOf } from "./state.js";

/** @typedef {"number" | "" | "wide"} Kind how a column is set: wide is what takes the rest */

/**
 * A table with a row of headings.
 * @param {string} caption
 * @param {(string | Node)[]} headings
 * @param {(string | Node)[][]} rows
 * @param {Kind[]} kinds by column
 */
export function table(caption, headings, rows, kinds) {
  const heading = (/** @type {string | Node} */ text, /** @type {number} */ n) =>
    element("th", { scope: "col", class: kinds[n] }, text);
  const cell = (/** @type {string | Node} */ text, /** @type {number} */ n) => element("td", { class: kinds[n] }, text);
  const nothing = element("tr", {}, element("td", { colspan: String(headings.length) }, "There are no such blocks."));
  return element(
    "table",
    { "aria-label": caption, class: kinds.includes("wide") ? "wide" : "" },
    element("thead", {}, element("tr", {}, ...headings.map(heading))),
    element("tbody", {}, ...(rows.length > 0 ? rows.map((row) => element("tr", {}, ...row.map(cell))) : [nothing])),
  );
}

/**
 * @param {number} all
 * @param {number} shown
 * @param {string} what
 */
function more(all, shown, what) {
  const text = all > shown ? `${count(all - shown)} more ${what} are not shown.` : "";
  return element("p", { class: "hint" }, text);
}

/**
 * Functions; a press leads to what one calls, or to its callers.
 * @param {import("./answers.js").Functions} answer
 * @param {import("./state.js").Store} store
 */
export function functionTable(answer, store) {
  const unit = unitOf(store);
  const { order } = store.state;
  const whole = answer.total[unit];
  const show = unit === "bytes" ? bytes : count;
  const [own, all] = [answer[`own_${unit}`], answer[unit]];
  const sorted = (/** @type {string} */ by, /** @type {string} */ title) =>
    element("button", { type: "button", "aria-pressed": String(order === by), click: () => store.set({ order: by }) }, title);
  const lead = (/** @type {number} */ n, /** @type {string} */ tree, /** @type {string} */ title) => {
    const focus = String(answer.function[n]);
    return element("button", { type: "button", class: "plain", click: () => store.set({ view: "flame", focus, path: "", tree }) }, title);
  };
  const rows = answer.name.map((name, n) => [
    show(own[n]),
    percent(own[n], whole),
    show(all[n]),
    percent(all[n], whole),
    element("div", { class: "name line", title: name }, name),
    fileButton(answer, n, store),
    element("span", { class: "links" }, lead(n, "callees", "callees"), lead(n, "callers", "callers")),
  ]);
  const headings = [sorted("own", "Own"), "", sorted("total", "With callees"), "", "Function", "File", "Flame graph of"];
  return element("div", {}, table("Functions", headings, rows, ["number", "number", "number", "number", "wide", "", ""]), more(answer.all, rows.length, "functions"));
}

/**
 * The file of a function; a press shows its source.
 * @param {{ file: string[], function: number[] }} answer
 * @param {number} n
 * @param {import("./state.js").Store} store
 */
export function fileButton(answer, n, store) {
  const open = () => store.set({ view: "source", function: String(answer.function[n]), line: "" });
  return element("button", { type: "button", class: "plain name line", title: `Source: ${answer.file[n]}`, click: open }, shortPath(answer.file[n]));
}

/**
 * Stacks, the innermost function first.
 * @param {Omit<import("./answers.js").Stacks, "at_ns" | "drawn">} answer
 * @param {import("./state.js").Store} store
 */
export function stackTable(answer, store) {
  const unit = unitOf(store);
  const whole = answer.total[unit];
  const rows = answer.functions.map((functions, n) => [
    bytes(answer.bytes[n]),
    blockCount(answer.blocks[n]),
    percent(answer[unit][n], whole),
    stack(functions.map((name) => answer.names[name])),
  ]);
  const headings = ["Bytes", "Blocks", "Part", "Stack"];
  return element("div", {}, table("Stacks", headings, rows, ["number", "number", "number", "wide"]), more(answer.all, rows.length, "stacks"));
}

/** As many functions of a stack as a line of any screen may have. */
const SHOWN = 24;

/** @param {string[]} names */
function stack(names) {
  const line = (/** @type {string} */ name) => element("li", { class: "name" }, name);
  return element(
    "details",
    {},
    element("summary", { class: "name" }, names.filter((name, n) => name !== names[n - 1]).slice(0, SHOWN).join(" ← ")),
    element("ol", {}, ...names.map(line)),
  );
}
