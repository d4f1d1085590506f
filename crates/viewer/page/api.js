/** Requests to the server that this page is from; there are no others. */

/** What the server says about a question that makes no sense. */
export class Refused extends Error {}

/**
 * An answer; while the server still works on it, it is asked again.
 * @param {string} path behind `api/`
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  for (let wait = 50; ; wait = Math.min(1000, wait * 2)) {
    const response = await fetch(`api/${path}`, { signal });
    const answer = await response.json();
    if (response.status === 202) await later(wait, signal);
    else if (response.ok) return answer;
    else throw new Refused(answer.error ?? response.statusText);
  }
}

/**
 * Changes something; what is so then.
 * @param {string} path behind `api/`
 * @returns {Promise<any>}
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
   * @param {string} path
   */
  async get(path) {
    this.#last?.abort();
    const mine = new AbortController();
    this.#last = mine;
    try {
      const answer = await get(path, mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (e) {
      if (mine.signal.aborted) return undefined;
      throw e;
    }
  }
}
