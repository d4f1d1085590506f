/** The views of processes and threads: when they were there, what each held, and what it allocated. */

import { element } from "./dom.js";
import { bytes, count, duration } from "./numbers.js";
import { table } from "./tables.js";

/** Rows of a table; a build has thousands of processes. */
const MOST = 1000;

/**
 * The one that held most first; a press chooses it.
 * @param {import("./answers.js").Processes} processes
 * @param {import("./state.js").Store} store
 */
export function processTable(processes, store) {
  const order = processes.pid.map((_, n) => n);
  order.sort((a, b) => processes.peak_bytes[b] - processes.peak_bytes[a] || a - b);
  const choose = (/** @type {number} */ n) => {
    const attributes = { type: "button", class: "plain name", click: () => store.set({ process: String(n), thread: "", path: "", view: "flame" }) };
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
  return element("div", {}, table("Processes", headings, rows, ["", "number", "number", "number", "number", "number"]), element("p", { class: "hint" }, more));
}

/**
 * The thread that allocated most first; a press chooses it.
 * @param {import("./answers.js").Whole} whole
 * @param {import("./state.js").Store} store
 */
export function threadTable({ threads, processes }, store) {
  const order = threads.thread.map((_, n) => n);
  order.sort((a, b) => threads.allocated_bytes[b] - threads.allocated_bytes[a] || a - b);
  const choose = (/** @type {number} */ n) => {
    const thread = { process: String(threads.process[n]), thread: String(threads.thread[n]) };
    const show = () => store.set({ ...thread, path: "", view: "flame" });
    return element("button", { type: "button", class: "plain name", click: show }, threads.name[n] || "(no name)");
  };
  const rows = order.slice(0, MOST).map((n) => [
    choose(n),
    String(threads.tid[n]),
    `${processes.name[threads.process[n]]} (pid ${processes.pid[threads.process[n]]})`,
    count(threads.allocations[n]),
    bytes(threads.allocated_bytes[n]),
  ]);
  const headings = ["Thread", "Tid", "Process", "Allocations", "Allocated"];
  const more = order.length > MOST ? `${count(order.length - MOST)} more threads are not shown.` : "";
  return element("div", {}, table("Threads", headings, rows, ["", "number", "", "number", "number"]), element("p", { class: "hint" }, more));
}
