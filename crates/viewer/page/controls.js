/** The question, as fields: which blocks, of whom, counted how. */

import { command } from "./command.js";
import { byId, element } from "./dom.js";
import { embedded } from "./embedded.js";
import { bytes, duration } from "./numbers.js";

/** What can be shown, in words. */
const SHOWS = /** @type {Record<string, string>} */ ({
  live: "live at the cursor",
  allocated: "allocated in the range",
  freed: "freed in the range",
  retained: "allocated in the range, live at its end",
  within: "allocated and freed in the range",
  left: "allocated in the range, never freed",
});

/** What "Reset" leaves. */
const NO_FILTERS = { focus: "", path: "", hide: "", collapse: "", recursion: "", with: "", without: "", process: "", thread: "", size: "", larger: "", older: "", born: "", age: "", search: "" };

/** The least sizes and ages that can be chosen; the address takes others. */
const SIZES = [64, 256, 1024, 4096, 2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20, 2 ** 24];
const AGES = [1e6, 1e7, 1e8, 1e9, 1e10, 6e10, 6e11, 3.6e12];

/** The fields. */
export class Controls {
  /** @type {{ name: string, field: HTMLSelectElement | HTMLInputElement }[]} */
  #fields = [];
  /** @type {number[]} */
  #pids = [];

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./answers.js").Summary} summary
   */
  constructor(store, summary) {
    this.store = store;
    this.summary = summary;
    // What has no times has no cursor.
    const shows = summary.shows.map((show) => [show, show === "live" && summary.duration_ns === null ? "live" : SHOWS[show]]);
    this.form = byId("question");
    this.processes = this.#select("process", "Process", [["", "all"]]);
    this.copy = element("button", { type: "button", click: () => this.#copy() }, "Copy as command");
    this.form.append(
      this.#select("show", "Blocks", shows),
      this.#select("unit", "by", summary.has_blocks ? [["bytes", "bytes"], ["blocks", "blocks"]] : [["bytes", "bytes"]]),
      this.processes,
      ...this.#leasts(summary.duration_ns),
      this.#select("tree", "Tree of", [["callees", "callees"], ["callers", "callers"]]),
      this.#text("with", "Stacks with", "name or /regex/"),
      this.#text("without", "without", "name or /regex/"),
      this.#text("search", "Search", "name or /regex/", true),
      element("button", { type: "button", click: () => store.set(NO_FILTERS) }, "Reset"),
      this.copy,
    );
    this.form.addEventListener("submit", (event) => event.preventDefault());
    store.listen(() => this.show());
    this.show();
  }

  /**
   * The processes are known once all events were read.
   * @param {import("./answers.js").Processes} processes
   */
  setProcesses(processes) {
    this.#pids = processes.pid;
    const option = (/** @type {number} */ pid, /** @type {number} */ n) =>
      element("option", { value: String(n) }, `${processes.name[n]} (pid ${pid})`);
    const field = this.processes.querySelector("select");
    field?.append(...processes.pid.map(option));
    this.processes.hidden = processes.pid.length < 2;
    this.show();
  }

  /** Shows the state. */
  show() {
    for (const { name, field } of this.#fields) {
      const value = this.store.state[/** @type {keyof import("./state.js").State} */ (name)];
      const isMissing = field instanceof HTMLSelectElement && ["larger", "older"].includes(name) && ![...field.options].some((option) => option.value === value);
      if (isMissing) this.#add(field, value);
      // What is being typed is not put back.
      if (field.value !== value && document.activeElement !== field) field.value = value;
      if (name === "older") field.disabled = this.store.state.show !== "live";
      if (field instanceof HTMLSelectElement) this.#disable(field);
      else if (name !== "search") field.disabled = embedded !== undefined;
    }
    const line = command(this.store.state, { ...this.summary, pids: this.#pids });
    this.copy.disabled = line === "";
    this.copy.title = line || (this.summary.is_live ? "What runs changes: `heapscribe snapshot` keeps what is live now, in a file for `flame`" : "No command prints exactly this");
  }

  /**
   * The least size and the least age, where they are known.
   * @param {number | null} duration_ns
   */
  #leasts(duration_ns) {
    if (duration_ns === null) return [];
    const ages = AGES.filter((ns) => ns < duration_ns).map((ns) => [String(ns), duration(ns)]);
    return [
      this.#select("larger", "at least", [["", "any size"], ...SIZES.map((size) => [String(size), bytes(size)])]),
      this.#select("older", "and", [["", "any age"], ...ages.map(([ns, text]) => [ns, `${text} old`])]),
    ];
  }

  /**
   * An address may have a value that is not in the list.
   * @param {HTMLSelectElement} field
   * @param {string} value
   */
  #add(field, value) {
    const text = field.name === "larger" ? bytes(Number(value)) : `${duration(Number(value))} old`;
    field.append(element("option", { value }, text));
  }

  /**
   * What a file does not have cannot be chosen.
   * @param {HTMLSelectElement} field
   */
  #disable(field) {
    for (const option of field.options) option.disabled = option.value !== field.value && !this.store.allows({ [field.name]: option.value, path: "" });
  }

  async #copy() {
    const line = command(this.store.state, { ...this.summary, pids: this.#pids });
    await navigator.clipboard.writeText(line);
    byId("total").textContent = `Copied: ${line}`;
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {string[][]} options
   */
  #select(name, label, options) {
    // A thread is one of a process.
    const change = () => this.store.set({ [name]: field.value, path: "", ...(name === "process" ? { thread: "" } : {}) });
    const field = element("select", { name, change }, ...options.map(([value, text]) => element("option", { value }, text)));
    this.#fields.push({ name, field });
    return element("label", {}, label, field);
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {string} placeholder
   * @param {boolean} [isSmall] whether each letter counts at once, and is no step to go back over
   */
  #text(name, label, placeholder, isSmall = false) {
    const change = () => this.store.set(isSmall ? { [name]: field.value } : { [name]: field.value, path: "" }, { isSmall });
    const field = element("input", { name, placeholder, type: "search", size: "13", [isSmall ? "input" : "change"]: change });
    this.#fields.push({ name, field });
    return element("label", {}, label, field);
  }
}
