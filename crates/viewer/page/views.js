/** The views of a question: one is shown, and only that one is asked for. */

import { Latest } from "./api.js";
import { baseInWords, showChips } from "./chips.js";
import { byId, element } from "./dom.js";
import { embedded, has } from "./embedded.js";
import { longLived } from "./findings.js";
import { densityMap } from "./density_view.js";
import { FlameView } from "./flame.js";
import { changeTable } from "./changes.js";
import { cuts, generationTable } from "./generations.js";
import { heldTable } from "./held.js";
import { lifetimeMap } from "./lifetimes_view.js";
import { pagesView } from "./pages.js";
import { blocks, bytes, changed, duration } from "./numbers.js";
import { question } from "./state.js";
import { processTable, threadTable } from "./processes.js";
import { NO_FUNCTION, sourceView } from "./source.js";
import { sizeView } from "./sizes.js";
import { functionTable, stackTable } from "./tables.js";

/** @typedef {import("./answers.js").Views} Answers */
/** @typedef {import("./answers.js").Time} Time */
/** @typedef {keyof typeof VIEWS} View */

const VIEWS = { flame: "Flame graph", functions: "Functions", changes: "Differences", stacks: "Stacks", sizes: "Sizes", generations: "Generations", held: "Age and size", lifetimes: "Lifetimes", density: "Density", pages: "Pages", source: "Source", processes: "Processes", threads: "Threads" };
/** Those that are made of what is known of the whole recording. */
const OF_WHOLE = /** @type {View[]} */ (["processes", "threads"]);
/** Those that a snapshot, and a ring without its first events, do not have. */
const NEEDS_TIME = /** @type {View[]} */ (["generations", "held", "lifetimes", "density", ...OF_WHOLE]);

/** What to do where there is nothing to compare with. */
const NO_BASE = "Nothing is compared yet. Drag with Shift on the timeline to choose a range to compare with, or click with Shift to choose a moment.";

/**
 * What is asked for a view: differences are functions in the order of their change.
 * @param {View} view
 */
function pathOf(view) {
  return view === "changes" ? "functions" : view;
}

/** The views. */
export class Views {
  #latest = new Latest();
  #rounding = new Latest();
  /** What shows the answers.
   * @type {{ [V in keyof Answers]: (answer: Answers[V]) => HTMLElement }} */
  #shows = {
    flame: (answer) => this.flame.show(answer),
    functions: (answer) => functionTable(answer, this.store),
    changes: (answer) => changeTable(answer, this.store),
    stacks: (answer) => stackTable(answer, this.store),
    sizes: (answer) => sizeView(answer, this.store, () => this.#ofRounding()),
    generations: (answer) => generationTable(answer, this.store, this.#time?.notes),
    held: (answer) => element("div", {}, heldTable(answer, this.store), this.#longLived),
    lifetimes: (answer) => lifetimeMap(answer, this.store),
    density: (answer) => densityMap(answer, this.store),
    pages: (answer) => pagesView(answer, this.store),
    source: (answer) => sourceView(answer, this.store),
  };
  #shown = "";
  /** What lives long and is large, once all events are read. */
  #longLived = element("div", { id: "long-lived" }, element("p", { class: "status" }, "Reading all events…"));
  /** What the server says of the whole recording, once it has read it.
   * @type {import("./answers.js").Whole | undefined} */
  #whole;
  /** The heap over time.
   * @type {Time | undefined} */
  #time;

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./answers.js").Summary} summary
   */
  constructor(store, summary) {
    this.store = store;
    this.summary = summary;
    this.flame = new FlameView(store);
    const isThere = (/** @type {View} */ view) =>
      view === "pages" ? summary.has_pages : summary.duration_ns !== null ? view !== "processes" || summary.processes > 1 : !NEEDS_TIME.includes(view);
    this.views = /** @type {View[]} */ (Object.keys(VIEWS)).filter(isThere);
    this.tabs = this.views.map((view) =>
      element("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "view", click: () => store.set({ view }) }, VIEWS[view]),
    );
    byId("views").append(...this.tabs);
    byId("views").addEventListener("keydown", (event) => this.#key(event));
    store.listen(() => this.show());
    this.show();
  }

  /** Asks again for what is shown. While a box is chosen it stays as it is: another look may number functions anew. */
  refresh() {
    const { focus, path, hide, collapse, function: of } = this.store.state;
    if (focus + path + hide + collapse + of !== "") return;
    this.#shown = "";
    this.show();
  }

  /**
   * The view that is chosen; an address may name one that there is not.
   * @param {import("./state.js").State} state
   */
  #view(state) {
    return this.views.find((view) => view === state.view) ?? "flame";
  }

  /**
   * Whether a state can be shown: of a page that is a file only what it brings with it.
   * @param {import("./state.js").State} state
   */
  isThere(state) {
    const view = this.#view(state);
    const asked = this.#question(view, state);
    return !embedded || OF_WHOLE.includes(view) || asked === undefined || has(embedded, pathOf(view), asked);
  }

  /** @param {Time} time */
  setTime(time) {
    this.#time = time;
    this.show();
  }

  /** @param {import("./answers.js").Whole} whole */
  setWhole(whole) {
    this.#whole = whole;
    this.#longLived.replaceChildren(...longLived(whole, this.store));
    this.show();
  }

  /** Shows what the state says. */
  async show() {
    const view = this.#view(this.store.state);
    for (const tab of this.tabs) {
      const isChosen = tab.id === `tab-${view}`;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      tab.disabled = !isChosen && !this.store.allows({ view: tab.id.slice("tab-".length) });
    }
    byId("view").setAttribute("aria-labelledby", `tab-${view}`);
    const asked = this.#question(view, this.store.state);
    const shown = `${view}?${asked}`;
    if (shown === this.#shown) {
      if (view === "flame") this.flame.search();
      return;
    }
    this.#shown = shown;
    const { base, function: of } = this.store.state;
    if (view === "changes" && base === "") this.#placeHint(NO_BASE);
    else if (view === "source" && of === "") this.#placeHint(NO_FUNCTION);
    else if (asked === undefined) byId("view").replaceChildren(element("p", { class: "status" }, "Reading all events…"));
    else if (view === "processes" || view === "threads") this.#placeWhole(view);
    else await this.#ask(view, asked);
  }

  /**
   * What is asked for a view; nothing while it is made of what is not known yet.
   * @param {View} view
   * @param {import("./state.js").State} state
   */
  #question(view, state) {
    if (OF_WHOLE.includes(view)) return this.#whole && "";
    // It depends on no question; how it is shaded is for the page.
    if (view === "pages") return state.pages;
    const asked = question(state, view);
    if (view === "generations") return this.#time && `${asked}&cuts=${cuts(state, this.#time).join(".")}`;
    return view === "changes" ? `${asked}&order=change` : asked;
  }

  /**
   * @template {keyof Answers} V
   * @param {V} view
   * @param {string} asked
   */
  async #ask(view, asked) {
    const shown = this.#shown;
    const what = /** @type {V} */ (pathOf(view));
    const of = view === "pages" ? "" : asked;
    byId("view").setAttribute("aria-busy", "true");
    try {
      const answer = await this.#latest.get(what, of);
      if (!answer || shown !== this.#shown) return; // something else was chosen meanwhile
      this.#place(view, answer);
    } catch (e) {
      byId("view").replaceChildren(element("p", { class: "error" }, `This cannot be shown: ${/** @type {Error} */ (e).message}.`));
      byId("total").textContent = "";
    }
    byId("view").removeAttribute("aria-busy");
  }

  /**
   * @template {keyof Answers} V
   * @param {V} view
   * @param {Answers[V]} answer
   */
  #place(view, answer) {
    byId("total").textContent = "total" in answer ? this.#inWords(answer, view) : "";
    if ("drawn" in answer) showChips(answer.drawn, this.store, this.summary.baseline);
    else byId("chips").replaceChildren();
    const root = this.#shows[view](answer);
    // What stays there keeps the focus, for who works with keys.
    if (byId("view").firstElementChild !== root) byId("view").replaceChildren(root);
  }

  /** What rounding adds to the blocks of the question; nothing where a file does not have it. */
  async #ofRounding() {
    const asked = question(this.store.state, "rounding");
    return embedded && !has(embedded, "rounding", asked) ? undefined : this.#rounding.get("rounding", asked);
  }

  /** @param {string} what */
  #placeHint(what) {
    byId("view").replaceChildren(element("p", { class: "status" }, what));
    byId("total").textContent = "";
    byId("chips").replaceChildren();
  }

  /** @param {"processes" | "threads"} view */
  #placeWhole(view) {
    if (!this.#whole) return;
    byId("total").textContent = "";
    byId("chips").replaceChildren();
    byId("view").replaceChildren(view === "processes" ? processTable(this.#whole.processes, this.store) : threadTable(this.#whole, this.store));
  }

  /**
   * @param {{ total: import("./answers.js").Amount, before_total?: import("./answers.js").Amount, at_ns: number | null }} answer
   * @param {string} view
   */
  #inWords({ total, before_total: before, at_ns: at }, view) {
    if (view === "held") return `${bytes(total.bytes)} in ${blocks(total.blocks)} live at ${duration(at ?? 0)}`;
    const { show, from, to, born: births, thread, size, larger, older, age } = this.store.state;
    const unit = this.store.state.unit === "blocks" ? "blocks" : "bytes";
    // A snapshot has no times.
    const when = show !== "live" ? "" : at === null ? " live" : ` live at ${duration(at)}`;
    const born = show === "live" && (from !== "" || to !== "") ? ", of what was allocated in the range" : "";
    const apart = show === "freed" && births !== "" ? `, of what was allocated from ${baseInWords(births)}` : "";
    const part = `${apart}${thread === "" ? "" : ", of one thread"}${size === "" ? "" : ", of one class of sizes"}${larger === "" ? "" : `, of at least ${bytes(Number(larger))} each`}${older === "" || show !== "live" ? "" : `, at least ${duration(Number(older))} old`}${age === "" ? "" : ", of these lifetimes"}`;
    const change = before ? `, ${changed(before[unit], total[unit], unit)} from ${unit === "bytes" ? bytes(before.bytes) : blocks(before.blocks)}` : "";
    return `${bytes(total.bytes)} in ${blocks(total.blocks)}${when}${born}${part}${change}`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const at = this.tabs.findIndex((tab) => tab.id === `tab-${this.#view(this.store.state)}`);
    const next = this.tabs[(at + by + this.tabs.length) % this.tabs.length];
    next.click();
    next.focus();
  }
}
