/** The views of a question: one is shown, and only that one is asked for. */

import { Latest } from "./api.js";
import { byId, element } from "./dom.js";
import { FlameView } from "./flame.js";
import { blocks, bytes, duration } from "./numbers.js";
import { question } from "./state.js";
import { functionTable, sizeTable, stackTable } from "./tables.js";

const VIEWS = { flame: "Flame graph", functions: "Functions", stacks: "Stacks", sizes: "Sizes" };
const TABLES = /** @type {Record<string, (answer: any, store: import("./state.js").Store) => HTMLElement>} */ ({
  functions: functionTable,
  stacks: stackTable,
  sizes: sizeTable,
});

/** The views. */
export class Views {
  #latest = new Latest();
  #shown = "";

  /** @param {import("./state.js").Store} store */
  constructor(store) {
    this.store = store;
    this.flame = new FlameView(store);
    this.tabs = Object.entries(VIEWS).map(([view, title]) =>
      element("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "view", click: () => store.set({ view }) }, title),
    );
    byId("views").append(...this.tabs);
    byId("views").addEventListener("keydown", (event) => this.#key(event));
    store.listen(() => this.show());
    this.show();
  }

  /** The view that is chosen; an address may name one that there is not. */
  get #view() {
    return Object.hasOwn(VIEWS, this.store.state.view) ? this.store.state.view : "flame";
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
    const path = `${view}?${question(this.store.state, view)}`;
    if (path === this.#shown) {
      if (view === "flame") this.flame.search();
      return;
    }
    this.#shown = path;
    byId("view").setAttribute("aria-busy", "true");
    try {
      const answer = await this.#latest.get(path);
      if (answer) this.#place(view, answer);
    } catch (e) {
      byId("view").replaceChildren(element("p", { class: "error" }, `This cannot be shown: ${/** @type {Error} */ (e).message}.`));
      byId("total").textContent = "";
      byId("view").removeAttribute("aria-busy");
    }
  }

  /**
   * @param {string} view
   * @param {any} answer
   */
  #place(view, answer) {
    const of = answer.at_ns === null ? "" : ` live at ${duration(answer.at_ns)}`;
    byId("total").textContent = `${bytes(answer.total.bytes)} in ${blocks(answer.total.blocks)}${of}`;
    const root = view === "flame" ? this.flame.root : TABLES[view](answer, this.store);
    byId("view").replaceChildren(root);
    if (view === "flame") this.flame.show(answer);
    byId("view").removeAttribute("aria-busy");
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
