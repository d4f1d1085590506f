/** What is drawn otherwise than it was called, each with a button that undoes it. */

import { byId, element } from "./dom.js";
import { duration, shortPath } from "./numbers.js";

/**
 * A list of numbers with one more, or with one less.
 * @param {string} list with dots between
 * @param {string | number} number
 */
export function toggled(list, number) {
  const all = list.split(".").filter(Boolean);
  const without = all.filter((other) => other !== String(number));
  return (without.length < all.length ? without : [...all, String(number)]).join(".");
}

/**
 * What is compared with, in words.
 * @param {string} base
 */
export function baseInWords(base) {
  if (base === "trace") return "the first trace";
  const [from, to] = base.split(".").map(Number);
  return to === undefined ? duration(from) : `${duration(from)} to ${duration(to)}`;
}

/**
 * A lifetime in words.
 * @param {string} age
 */
function ageInWords(age) {
  const [from, to] = age.split(".");
  return to ? `${duration(Number(from))} to ${duration(Number(to))}` : `${duration(Number(from))} and longer`;
}

/**
 * Shows them.
 * @param {import("./answers.js").Drawn} drawn
 * @param {import("./state.js").Store} store
 * @param {string | null} baseline the other trace, if there is one
 */
export function showChips(drawn, store, baseline) {
  const { state } = store;
  const chip = (/** @type {string} */ text, /** @type {string} */ title, /** @type {Partial<import("./state.js").State>} */ change) =>
    element("button", { type: "button", class: "chip", title, "aria-label": `${text}: undo`, click: () => store.set({ ...change, path: "" }) }, `${text} ×`);
  const compare = element("button", { type: "button", title: baseline ?? "", click: () => store.set({ base: "trace", path: "" }) }, `Compare with ${baseInWords("trace")}`);
  const undo = (/** @type {"hide" | "collapse"} */ name, /** @type {number} */ n) => ({ [name]: toggled(state[name], state[name].split(".")[n]) });
  const isBorn = state.born !== "" && state.show === "freed";
  const chips = [
    ...(isBorn ? [chip(`Allocated from ${baseInWords(state.born)}`, "Whenever they were allocated", { born: "" })] : []),
    ...(baseline === null || state.base === "trace" ? [] : [compare]),
    ...(state.base === "" ? [] : [chip(`Compared with ${baseInWords(state.base)}`, "Compare with nothing", { base: "" })]),
    ...(state.age === "" ? [] : [chip(`Lived ${ageInWords(state.age)}`, "Of any lifetime", { age: "" })]),
    ...(drawn.focus === null ? [] : [chip(`Focus on ${drawn.focus}`, "Show all functions", { focus: "" })]),
    ...drawn.hidden.map((/** @type {string} */ name, /** @type {number} */ n) => chip(`Without boxes of ${name}`, "Draw them again", undo("hide", n))),
    ...drawn.collapsed.map((/** @type {string} */ path, /** @type {number} */ n) => chip(`${shortPath(path)} as one box`, "Draw its functions again", undo("collapse", n))),
    ...(state.recursion === "merged" ? [chip("Recursion merged", "Draw each call", { recursion: "" })] : []),
  ];
  byId("chips").replaceChildren(...chips);
}
