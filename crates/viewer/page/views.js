/** The views of a question: one is shown, and only that one is asked for. */

import { Latest } from "./api.js";
import { showChips } from "./chips.js";
import { byId, element } from "./dom.js";
import { FlameView } from "./flame.js";
import { changeTable } from "./changes.js";
import { cuts, generationTable } from "./generations.js";
import { lifetimeMap } from "./lifetimes_view.js";
import { blocks, bytes, changed, duration } from "./numbers.js";
import { question } from "./state.js";
import { processTable, threadTable } from "./processes.js";
import { functionTable, sizeTable, stackTable } from "./tables.js";

const VIEWS = { flame: "Flame graph", functions: "Functions", changes: "Differences", stacks: "Stacks", sizes: "Sizes", generations: "Generations", lifetimes: "Lifetimes", processes: "Processes", threads: "Threads" };
/** Those that are made of what is known of the whole recording. */
const OF_WHOLE = ["processes", "threads"];
/** Those that a snapshot, and a ring without its first events, do not have. */
const NEEDS_TIME = ["generations", "lifetimes", ...OF_WHOLE];
const TABLES = /** @type {Record<string, (answer: any, store: import("./state.js").Store, whole: any, time: any) => HTMLElement>} */ ({
  functions: functionTable,
  changes: changeTable,
  stacks: stackTable,
  sizes: sizeTable,
  lifetimes: lifetimeMap,
  generations: (answer, store, _, time) => generationTable(answer, store, time.notes),
  processes: (_, store, whole) => processTable(whole.processes, store),
  threads: (_, store, whole) => threadTable(whole, store),
});

/** What to do where there is nothing to compare with. */
const NO_BASE = "Nothing is compared yet. Drag with Shift on the timeline to choose a range to compare with, or click with Shift to choose a moment.";

/** The views. */
export class Views {
  #latest = new Latest();
  #shown = "";
  /** What the server says of the whole recording, once it has read it.
   * @type {any} */
  #whole;
  /** The heap over time.
   * @type {any} */
  #time;

  /**
   * @param {import("./state.js").Store} store
   * @param {any} summary
   */
  constructor(store, summary) {
    this.store = store;
    this.flame = new FlameView(store);
    const isThere = (/** @type {string} */ view) =>
      summary.duration_ns !== null ? view !== "processes" || summary.processes > 1 : !NEEDS_TIME.includes(view);
    const views = Object.entries(VIEWS).filter(([view]) => isThere(view));
    this.tabs = views.map(([view, title]) =>
      element("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "view", click: () => store.set({ view }) }, title),
    );
    byId("views").append(...this.tabs);
    byId("views").addEventListener("keydown", (event) => this.#key(event));
    store.listen(() => this.show());
    this.show();
  }

  /** Asks again for what is shown. While a box is chosen it stays as it is: another look may number functions anew. */
  refresh() {
    const { focus, path, hide, collapse } = this.store.state;
    if (focus + path + hide + collapse !== "") return;
    this.#shown = "";
    this.show();
  }

  /** The view that is chosen; an address may name one that there is not. */
  get #view() {
    const view = this.store.state.view;
    return this.tabs.some((tab) => tab.id === `tab-${view}`) ? view : "flame";
  }

  /** @param {any} time */
  setTime(time) {
    this.#time = time;
    this.show();
  }

  /** @param {any} whole */
  setWhole(whole) {
    this.#whole = whole;
    this.show();
  }

  /** Shows what the state says. */
  async show() {
    const view = this.#view;
    for (const tab of this.tabs) {
      const isChosen = tab.id === `tab-${view}`;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    byId("view").setAttribute("aria-labelledby", `tab-${view}`);
    const path = this.#path(view);
    if (path === this.#shown) {
      if (view === "flame") this.flame.search();
      return;
    }
    this.#shown = path;
    if (view === "changes" && this.store.state.base === "") {
      byId("view").replaceChildren(element("p", { class: "status" }, NO_BASE));
      byId("total").textContent = "";
    } else if (path === "") byId("view").replaceChildren(element("p", { class: "status" }, "Reading all events…"));
    else if (OF_WHOLE.includes(view)) this.#place(view, {});
    else await this.#ask(view, path);
  }

  /**
   * What is asked for a view; nothing while it is made of what is not known yet.
   * @param {string} view
   */
  #path(view) {
    // Differences are functions in the order of their change.
    const path = view === "changes" ? `functions?${question(this.store.state, view)}&order=change` : `${view}?${question(this.store.state, view)}`;
    if (view === "generations") return this.#time ? `${path}&cuts=${cuts(this.store.state, this.#time).join(".")}` : "";
    return this.#whole || !OF_WHOLE.includes(view) ? path : "";
  }

  /**
   * @param {string} view
   * @param {string} path
   */
  async #ask(view, path) {
    byId("view").setAttribute("aria-busy", "true");
    try {
      const answer = await this.#latest.get(path);
      if (!answer || path !== this.#shown) return; // something else was chosen meanwhile
      this.#place(view, answer);
    } catch (e) {
      byId("view").replaceChildren(element("p", { class: "error" }, `This cannot be shown: ${/** @type {Error} */ (e).message}.`));
      byId("total").textContent = "";
    }
    byId("view").removeAttribute("aria-busy");
  }

  /**
   * @param {string} view
   * @param {any} answer
   */
  #place(view, answer) {
    byId("total").textContent = answer.total ? this.#inWords(answer) : "";
    if (answer.drawn) showChips(answer.drawn, this.store);
    else byId("chips").replaceChildren();
    const root = view === "flame" ? this.flame.root : TABLES[view](answer, this.store, this.#whole, this.#time);
    // What stays there keeps the focus, for who works with keys.
    if (byId("view").firstElementChild !== root) byId("view").replaceChildren(root);
    if (view === "flame") this.flame.show(answer);
  }

  /** @param {any} answer */
  #inWords({ total, before_total: before, at_ns: at }) {
    const { show, from, to, thread, size, age } = this.store.state;
    const unit = this.store.state.unit === "blocks" ? "blocks" : "bytes";
    const when = at === null ? "" : ` live at ${duration(at)}`;
    const born = show === "live" && (from !== "" || to !== "") ? ", of what was allocated in the range" : "";
    const part = `${thread === "" ? "" : ", of one thread"}${size === "" ? "" : ", of one class of sizes"}${age === "" ? "" : ", of these lifetimes"}`;
    const change = before ? `, ${changed(before[unit], total[unit], unit)} from ${unit === "bytes" ? bytes(before.bytes) : blocks(before.blocks)}` : "";
    return `${bytes(total.bytes)} in ${blocks(total.blocks)}${when}${born}${part}${change}`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const at = this.tabs.findIndex((tab) => tab.id === `tab-${this.#view}`);
    const next = this.tabs[(at + by + this.tabs.length) % this.tabs.length];
    next.click();
    next.focus();
  }
}
