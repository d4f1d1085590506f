/** The view of source: the text around a line, with what each line allocated. */

import { element } from "./dom.js";
import { bytes, count, percent } from "./numbers.js";
import { unitOf } from "./state.js";

/** As many of the lines with most as are named above the text. */
const FIRST = 6;

/** What to do where no function was chosen. */
export const NO_FUNCTION = "No function is chosen. Press S on a box of the flame graph, or a file in the table of functions.";

/**
 * The lines of a file, each with its figures.
 * @param {import("./answers.js").Source} answer
 * @param {import("./state.js").Store} store
 */
export function sourceView(answer, store) {
  const path = element("h3", { class: "name" }, answer.file ?? answer.function);
  const note = answer.note ? element("p", { class: "error" }, answer.note) : "";
  if (answer.file === null) return element("div", {}, path, note);
  return element("div", {}, path, note, hottest(answer, store), answer.text.length > 0 ? text(answer, store) : "");
}

/**
 * Buttons that lead to the lines with most.
 * @param {import("./answers.js").Source} answer
 * @param {import("./state.js").Store} store
 */
function hottest(answer, store) {
  const amounts = answer[unitOf(store)];
  const order = answer.line.map((_, n) => n).sort((a, b) => amounts[b] - amounts[a] || answer.line[a] - answer.line[b]);
  const button = (/** @type {number} */ n) => {
    const line = String(answer.line[n]);
    const title = `Line ${count(answer.line[n])}: ${figure(amounts[n], store)}`;
    return element("button", { type: "button", "aria-pressed": String(answer.line[n] === answer.at), click: () => store.set({ line }) }, title);
  };
  const lines = order.filter((n) => amounts[n] > 0).slice(0, FIRST);
  const nothing = element("span", { class: "hint" }, "No such blocks were allocated through this file.");
  return element("div", { class: "bar", role: "group", "aria-label": "Lines with most" }, ...(lines.length > 0 ? lines.map(button) : [nothing]));
}

/**
 * The text, in a part of the page that scrolls to the line.
 * @param {import("./answers.js").Source} answer
 * @param {import("./state.js").Store} store
 */
function text(answer, store) {
  const unit = unitOf(store);
  const row = (/** @type {string} */ line, /** @type {number} */ n) => {
    const number = answer.first + n;
    const at = answer.line.indexOf(number);
    const figures = at < 0 ? ["", "", ""] : [figure(answer[`own_${unit}`][at], store), figure(answer[unit][at], store), percent(answer[unit][at], answer.total[unit])];
    const cells = [...figures, count(number)].map((text) => element("td", { class: "number" }, text));
    /** @type {Record<string, string>} */
    const attributes = number === answer.at ? { class: "at", "aria-current": "true" } : at < 0 ? {} : { class: "has" };
    return element("tr", attributes, ...cells, element("td", { class: "code" }, line));
  };
  const headings = ["Own", "With callees", "", "Line", "Source"].map((name, n) => element("th", { scope: "col", class: n < 4 ? "number" : "" }, name));
  const table = element("table", { class: "wide", "aria-label": `Source of ${answer.function}` }, element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...answer.text.map(row)));
  const room = element("div", { class: "source", tabindex: "0", role: "region", "aria-label": `Lines ${answer.first} to ${answer.first + answer.text.length - 1} of ${answer.lines}` }, table);
  // Only what stands on the page can be scrolled.
  requestAnimationFrame(() => {
    const line = table.querySelector("tr.at");
    if (line instanceof HTMLElement) room.scrollTop = line.offsetTop - room.clientHeight / 2;
  });
  return room;
}

/**
 * @param {number} n
 * @param {import("./state.js").Store} store
 */
function figure(n, store) {
  return n === 0 ? "" : unitOf(store) === "bytes" ? bytes(n) : count(n);
}
