/** The view of sizes: a histogram, and what rounding adds to the blocks, where that is known. */

import { element } from "./dom.js";
import { blocks, bytes, count, percent } from "./numbers.js";
import { unitOf } from "./state.js";
import { table } from "./tables.js";

/** @typedef {import("./answers.js").Rounding} Rounding */

/**
 * Shows the sizes at once, and the rounding when it was counted.
 * @param {import("./answers.js").Sizes} answer
 * @param {import("./state.js").Store} store
 * @param {() => Promise<Rounding | undefined>} ask
 */
export function sizeView(answer, store, ask) {
  const root = element("div", {}, ...sizeTable(answer, store, undefined));
  // What cannot be counted is missing; the sizes are there.
  ask().then(
    (rounding) => rounding && root.replaceChildren(...sizeTable(answer, store, rounding)),
    () => {},
  );
  return root;
}

/**
 * Sizes, each with a bar.
 * @param {import("./answers.js").Sizes} answer
 * @param {import("./state.js").Store} store
 * @param {Rounding | undefined} rounding
 */
function sizeTable(answer, store, rounding) {
  const unit = unitOf(store);
  const longest = Math.max(1, ...answer[unit]);
  const given = rounding && rounding.from_bytes.length > 0 ? rounding : undefined;
  const bar = (/** @type {number} */ n) => {
    const meter = element("span", { class: "meter", "aria-hidden": "true" });
    meter.style.width = `${(20 * n) / longest}rem`;
    return meter;
  };
  const choose = (/** @type {number} */ size, /** @type {string} */ title) => {
    const show = () => store.set({ size: String(size), path: "", view: "flame" });
    return element("button", { type: "button", class: "plain", click: show }, title);
  };
  const rows = answer.from_bytes.map((from, n) => [
    choose(from, from === answer.to_bytes[n] ? count(from) : `${count(from)} to ${count(answer.to_bytes[n])}`),
    count(answer.blocks[n]),
    bytes(answer.bytes[n]),
    percent(answer[unit][n], answer.total[unit]),
    ...(given ? wasted(given, from) : []),
    bar(answer[unit][n]),
  ]);
  const unknown = `Of ${blocks(answer.unknown_blocks)} the size is not known: the index was made with too little memory.`;
  const headings = ["Size in bytes", "Blocks", "Asked for", "Part", ...(given ? ["Given", "Rounding", "of given"] : []), ""];
  const kinds = /** @type {import("./tables.js").Kind[]} */ (headings.map((heading) => (heading === "" ? "" : "number")));
  return [
    table("Sizes of blocks", headings, rows, kinds),
    element("p", { class: "status", id: "rounding", "aria-live": "polite" }, rounding ? inWords(rounding) : ""),
    element("p", { class: "hint" }, answer.unknown_blocks > 0 ? unknown : ""),
  ];
}

/**
 * The cells of a class: what is given for it, and what of that is rounding.
 * @param {Rounding} rounding
 * @param {number} from
 */
function wasted(rounding, from) {
  const n = rounding.from_bytes.indexOf(from);
  if (n < 0) return ["", "", ""];
  const [asked, given] = [rounding.asked_bytes[n], rounding.given_bytes[n]];
  return [bytes(given), bytes(given - asked), percent(given - asked, given)];
}

/** @param {Rounding} rounding */
function inWords({ asked_bytes: asked, given_bytes: given, note }) {
  const [all, of] = [given, asked].map((column) => column.reduce((sum, n) => sum + n, 0));
  return all === 0 ? note : `For ${bytes(of)} the heap gives ${bytes(all)}: ${bytes(all - of)} (${percent(all - of, all)}) is rounding. ${note}`;
}
