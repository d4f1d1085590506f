/** The view of differences: functions by how much they have grown or shrunk. */

import { element } from "./dom.js";
import { bytes, changed, count } from "./numbers.js";
import { unitOf } from "./state.js";
import { fileButton, table } from "./tables.js";

/**
 * A change in percent; of what was not there before there is none.
 * @param {number} before
 * @param {number} after
 */
function inPercent(before, after) {
  if (before === 0) return after === 0 ? "" : "new";
  const percent = (100 * (after - before)) / before;
  return after === 0 ? "gone" : `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
}

/**
 * Functions, the one that has changed most first.
 * @param {import("./answers.js").Changes} answer
 * @param {import("./state.js").Store} store
 */
export function changeTable(answer, store) {
  const unit = unitOf(store);
  const show = unit === "bytes" ? bytes : count;
  const [before, after, all, allBefore] = [answer[`before_own_${unit}`], answer[`own_${unit}`], answer[unit], answer[`before_${unit}`]];
  const delta = (/** @type {number} */ from, /** @type {number} */ to) =>
    element("span", { class: to > from ? "grown" : to < from ? "shrunk" : "" }, from === to ? "0" : changed(from, to, unit));
  const lead = (/** @type {number} */ n) => {
    const focus = String(answer.function[n]);
    const open = () => store.set({ view: "flame", focus, path: "", tree: "callers" });
    return element("button", { type: "button", class: "plain name line", title: `Callers of ${answer.name[n]}`, click: open }, answer.name[n]);
  };
  const rows = answer.name.map((_, n) => [
    delta(before[n], after[n]),
    inPercent(before[n], after[n]),
    show(before[n]),
    show(after[n]),
    delta(allBefore[n], all[n]),
    lead(n),
    fileButton(answer, n, store),
  ]);
  const headings = ["Own change", "", "Before", "After", "With callees", "Function", "File"];
  const left = answer.all - rows.length;
  const what = rows.length === 0 ? "No function has changed." : left > 0 ? `${count(left)} more functions are not shown.` : "";
  const more = element("p", { class: "hint" }, `${what} Functions that have not changed are left out, and what functions allocate that only pass a request on (such as xmalloc) is counted as their callers'.`.trim());
  return element("div", {}, table("Differences", headings, rows, ["number", "number", "number", "number", "number", "wide", ""]), more);
}
