/** The view of processes: when they were there, and what each held. */

import { element } from "./dom.js";
import { bytes, count, duration } from "./numbers.js";
import { table } from "./tables.js";

/** Rows; a build has thousands of processes. */
const MOST = 1000;

/**
 * The one that held most first; a press chooses it.
 * @param {any} processes
 * @param {import("./state.js").Store} store
 */
export function processTable(processes, store) {
  /** @type {number[]} */
  const order = processes.pid.map((/** @type {number} */ _, /** @type {number} */ n) => n);
  order.sort((a, b) => processes.peak_bytes[b] - processes.peak_bytes[a] || a - b);
  const choose = (/** @type {number} */ n) => {
    const attributes = { type: "button", class: "plain name", click: () => store.set({ process: String(n), path: "", view: "flame" }) };
    return element("button", attributes, processes.name[n]);
  };
  const rows = order.slice(0, MOST).map((n) => [
    choose(n),
    String(processes.pid[n]),
    duration(processes.begin_ns[n]),
    duration(processes.end_ns[n]),
    bytes(processes.peak_bytes[n]),
    bytes(processes.left_bytes[n]),
  ]);
  const headings = ["Program", "Pid", "From", "To", "Peak of its own", "Never freed"];
  const more = order.length > MOST ? `${count(order.length - MOST)} more processes are not shown.` : "";
  const isNumber = [false, true, true, true, true, true];
  return element("div", {}, table("Processes", headings, rows, isNumber), element("p", { class: "hint" }, more));
}
