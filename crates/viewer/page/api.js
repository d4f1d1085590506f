/** Requests to the server that this page is from, or to the file that it is; there are no others. */

import { embedded, unpacked } from "./embedded.js";

/** @typedef {import("./answers.js").Answers} Answers */

/** What the server says about a question that makes no sense. */
export class Refused extends Error {}

/**
 * An answer; while the server still works on it, it is asked again.
 * @template {keyof Answers} W
 * @param {W} what
 * @param {string} [question]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answers[W]>}
 */
export async function get(what, question = "", signal) {
  if (embedded) return unpacked(embedded, what, question);
  for (let wait = 50; ; wait = Math.min(1000, wait * 2)) {
    const response = await fetch(`api/${what}${question === "" ? "" : `?${question}`}`, { signal });
    const answer = await response.json();
    if (response.status === 202) await later(wait, signal);
    else if (response.ok) return answer;
    else throw new Refused(answer.error ?? response.statusText);
  }
}

/**
 * Changes something; what is so then.
 * @param {string} path behind `api/`
 * @returns {Promise<Answers["live"]>}
 */
export async function change(path) {
  const response = await fetch(`api/${path}`, { method: "POST" });
  if (!response.ok && response.status !== 400) throw new Refused(response.statusText);
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error);
  return answer;
}

/**
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
function later(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    setTimeout(resolve, ms);
  });
}

/** Questions of which only the last one matters. */
export class Latest {
  /** @type {AbortController | undefined} */
  #last;

  /**
   * The answer, or nothing if something else was asked meanwhile.
   * @template {keyof Answers} W
   * @param {W} what
   * @param {string} question
   */
  async get(what, question) {
    this.#last?.abort();
    const mine = new AbortController();
    this.#last = mine;
    try {
      const answer = await get(what, question, mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (e) {
      if (mine.signal.aborted) return undefined;
      throw e;
    }
  }
}
