/** What is worth changing, in words: the first thing on the page. */

import { byId, element } from "./dom.js";
import { shortPath } from "./numbers.js";

/** So many are shown at once; the others are worth less. */
const FIRST = 3;

/**
 * Shows them.
 * @param {import("./answers.js").Whole} whole
 * @param {import("./state.js").Store} store
 * @param {import("./answers.js").Summary} summary what was known before all events were read
 */
export function showFindings(whole, store, { caveats, shows }) {
  const all = whole.findings.map((finding) => one(finding, store));
  const nothing = element("p", {}, shows.length <= 1 ? "Findings need a recording: this has no events." : "Nothing here looks worth changing.");
  const first = element("ol", {}, ...all.slice(0, FIRST));
  const others = element("details", {}, element("summary", {}, `${all.length - FIRST} more`), element("ol", { start: String(FIRST + 1) }, ...all.slice(FIRST)));
  const shown = all.length === 0 ? [nothing] : all.length > FIRST ? [first, others] : [first];
  byId("findings").replaceChildren(...shown);
  const item = (/** @type {string} */ text) => element("li", {}, text);
  byId("caveats").replaceChildren(...[...caveats, ...whole.caveats].map(item));
  byId("notes").replaceChildren(...whole.notes.map(item));
  byId("missing").hidden = whole.notes.length === 0;
}

/**
 * @param {import("./answers.js").Finding} finding
 * @param {import("./state.js").Store} store
 */
function one(finding, store) {
  const severity = element("span", { class: `severity ${finding.severity}` }, `${finding.severity}: `);
  const stacks = finding.culprits.map((stack) => culprit(stack, finding.show, store));
  const more = [element("div", { class: "hint" }, "Try: ", finding.try), element("div", { class: "bar" }, ...stacks)];
  return element("li", {}, element("details", {}, element("summary", {}, severity, finding.summary), ...more));
}

/**
 * What lives long and is large.
 * @param {import("./answers.js").Whole} whole
 * @param {import("./state.js").Store} store
 */
export function longLived({ long_lived: found }, store) {
  if (found === null) return [element("p", { class: "hint" }, "What lived long is not known: this recording has lost its first events.")];
  const blocks = { larger: "65536" };
  const stacks = found.culprits.map((stack) => culprit(stack, "allocated", store, blocks));
  const more = found.more > 0 ? [` and ${found.more} more`] : [];
  return [element("p", {}, found.summary), element("div", { class: "bar" }, ...stacks, ...more)];
}

/**
 * A function, and its stacks in the views below.
 * @param {import("./answers.js").Culprit} stack
 * @param {string} show which blocks
 * @param {import("./state.js").Store} store
 * @param {Partial<import("./state.js").State>} blocks which of them
 */
function culprit(stack, show, store, blocks = {}) {
  const place = stack.file ? ` (${shortPath(stack.file)}${stack.line ? `:${stack.line}` : ""})` : "";
  const question = { show, at: "peak", from: "", to: "", process: "", thread: "", size: "", larger: "", older: "", born: "", age: "", ...blocks, with: `=${stack.name}`, without: "" };
  const look = () => {
    store.set({ ...question, focus: "", path: "", view: "flame" });
    byId("question-title").scrollIntoView();
  };
  return element("button", { type: "button", class: "plain name", title: stack.file ?? "", click: look }, `${stack.function}${place}`);
}
