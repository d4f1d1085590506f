/** The answers that the page brings with it, where it is a file of its own: there is no server then. */

import { byId, element } from "./dom.js";
import { partOf } from "./flame_part.js";
import { quoted } from "./command.js";
import { DEFAULTS } from "./state.js";

/** @typedef {import("./answers.js").Answers} Answers */

/**
 * What is in the file.
 * @typedef {object} Embedded
 * @property {string} trace the path of the trace
 * @property {number[]} moments_ns moments of which it is known what was live
 * @property {string[]} left_out what is not in it, in sentences
 * @property {Record<string, string>} answers packed, by question
 */

/** Nothing where there is a server.
 * @type {Embedded | undefined} */
export const embedded = JSON.parse(document.getElementById("answers")?.textContent || "null") ?? undefined;

/**
 * What an answer is found by: names in order, without what is as it always is, and what the answer does not depend on.
 * @param {string} what
 * @param {string} question
 */
export function key(what, question) {
  const names = new URLSearchParams(question);
  const isOfAll = what === "lifetimes" || what === "density" || what === "generations";
  if (isOfAll && !(what === "density" && names.get("show") === "freed")) names.delete("show");
  if (isOfAll || (names.get("show") ?? "live") !== "live") names.delete("at");
  for (const name of ["cuts", "path"]) names.delete(name);
  for (const [name, value] of Object.entries(DEFAULTS)) if (names.get(name) === value) names.delete(name);
  names.sort();
  return `${what}?${[...names].map(([name, value]) => `${name}=${value}`).join("&")}`;
}

/**
 * Whether the file has an answer.
 * @param {Embedded} file
 * @param {string} what
 * @param {string} question
 */
export function has(file, what, question) {
  return Object.hasOwn(file.answers, key(what, question));
}

/**
 * An answer of the file.
 * @template {keyof Answers} W
 * @param {Embedded} file
 * @param {W} what
 * @param {string} question
 * @returns {Promise<Answers[W]>}
 */
export async function unpacked(file, what, question) {
  if (!has(file, what, question)) throw new Error(missing(file));
  const answer = await unpack(file.answers[key(what, question)]);
  const path = new URLSearchParams(question).get("path");
  return what === "flame" && path ? partOf(answer, path.split(".").map(Number)) : answer;
}

/**
 * @param {string} packed gzip, in base 64
 */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  // Newer than the declarations of an old `tsc`.
  const { DecompressionStream } = /** @type {{ DecompressionStream: new (format: string) => ReadableWritablePair<Uint8Array, Uint8Array> }} */ (/** @type {unknown} */ (globalThis));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** @param {Embedded} file */
function missing(file) {
  return `this file does not have it; \`heapscribe view ${quoted(file.trace)}\` shows any range, function and filter`;
}

/**
 * The moment nearest to another of which it is known what was live.
 * @param {Embedded} file
 * @param {number} ns
 */
export function nearest({ moments_ns: moments }, ns) {
  return moments.reduce((best, moment) => (Math.abs(moment - ns) < Math.abs(best - ns) ? moment : best), moments[0] ?? ns);
}

/**
 * Says what the file has, and when it does not have something.
 * @param {Embedded} file
 * @param {import("./state.js").Store} store
 * @param {(state: import("./state.js").State) => boolean} isThere
 */
export function restrict(file, store, isThere) {
  const about = `This page is one file with the views of ${file.trace} that most people look at. For any range, filter and function there is the trace: \`heapscribe view ${quoted(file.trace)}\`.`;
  const items = file.left_out.map((text) => element("li", {}, text));
  const list = element("details", {}, element("summary", {}, "What is left out"), element("ul", {}, ...items));
  byId("file").replaceChildren(element("p", {}, about), ...(items.length > 0 ? [list] : []));
  byId("file").hidden = false;
  const status = byId("missing-answer");
  store.restrict(isThere, (isThereNow) => {
    status.textContent = isThereNow ? "" : `Not shown: ${missing(file)}.`;
    status.hidden = isThereNow;
  });
}
