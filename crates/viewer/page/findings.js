/** What is worth changing, in words: the first thing on the page. */

import { byId, element } from "./dom.js";

/**
 * Shows them.
 * @param {any} whole
 * @param {import("./state.js").Store} store
 */
export function showFindings(whole, store) {
  const found = whole.findings.map((/** @type {any} */ finding) => one(finding, store));
  const nothing = element("p", {}, "Nothing here looks worth changing.");
  byId("findings").replaceChildren(found.length > 0 ? element("ol", {}, ...found) : nothing);
  const caveats = whole.caveats.map((/** @type {string} */ caveat) => element("li", {}, caveat));
  byId("caveats").replaceChildren(...caveats);
}

/**
 * @param {any} finding
 * @param {import("./state.js").Store} store
 */
function one(finding, store) {
  const severity = element("span", { class: `severity ${finding.severity}` }, `${finding.severity}: `);
  const attempt = element("div", {}, "Try: ", finding.try);
  const stacks = finding.stacks.map((/** @type {any} */ stack) => culprit(stack, finding.kind, store));
  return element("li", {}, severity, finding.summary, attempt, ...stacks);
}

/** Which blocks a kind of finding is about. */
const SHOWS = /** @type {Record<string, string>} */ ({
  growth: "left",
  leak: "left",
  burst: "live",
  "late-free": "allocated",
  temporary: "allocated",
  "realloc-growth": "allocated",
  "foreign-free": "freed",
  rounding: "live",
});

/**
 * A function, and its stacks in the views below.
 * @param {any} stack
 * @param {string} kind
 * @param {import("./state.js").Store} store
 */
function culprit(stack, kind, store) {
  const place = stack.file ? ` (${stack.file}${stack.line ? `:${stack.line}` : ""})` : "";
  const show = SHOWS[kind] ?? "live";
  const look = () => {
    store.set({ show, at: "peak", from: "", to: "", with: stack.function, without: "", focus: "", path: "", view: "flame" });
    byId("question-title").scrollIntoView({ behavior: "smooth" });
  };
  return element("div", {}, element("button", { type: "button", class: "plain name", click: look }, `${stack.function}${place}`));
}
