/** Buttons for what keys do to the chosen box of a flame graph. */

import { element } from "./dom.js";

const ACTIONS = [
  ["f", "Focus", "Only the function of the chosen box, wherever it is called from"],
  ["c", "Callers", "Who calls the function of the chosen box"],
  ["h", "Hide", "Draw what the function calls on its callers"],
  ["l", "Collapse library", "Draw the functions of its library that call each other as one box"],
  ["s", "Source", "The source around the line of its function that has most"],
  ["r", "Merge recursion", "Draw a call of a function within itself on its first box"],
];

/**
 * The bar with them.
 * @param {{ act: (key: string) => boolean }} view
 */
export function flameActions(view) {
  const button = (/** @type {string[]} */ [key, text, title]) => element("button", { type: "button", title: `${title} (${key.toUpperCase()})`, click: () => view.act(key) }, text);
  return element("div", { class: "bar", role: "toolbar", "aria-label": "The chosen box" }, element("span", { class: "hint" }, "Chosen box:"), ...ACTIONS.map(button));
}
