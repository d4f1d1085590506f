/** The timeline and the state: which range and cursor the address says, and the other way round. */

import { Latest } from "./api.js";
import { BandsView } from "./bands_view.js";
import { atNextFrame, byId, element } from "./dom.js";
import { embedded, nearest } from "./embedded.js";
import { blocks, bytes, duration, moment } from "./numbers.js";
import { LanesView } from "./lanes_view.js";
import { MessagesView } from "./messages.js";
import { LINES, drawTimeline } from "./timeline.js";
import { listenToTimeline } from "./timeline_input.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {{ from: number, to: number }} Range */

/** Who turns a wheel is asked what for when it stands still: ms. */
const STILL = 120;

/** The timeline. */
export class TimelineView {
  /** A range that is being dragged, and one to compare with.
   * @type {Range | undefined} */
  #dragged;
  /** @type {Range | undefined} */
  #draggedBase;
  /** The part that is zoomed to, in finer steps, and which part that is.
   * @type {{ zoom: string, timeline: import("./answers.js").Timeline } | undefined} */
  #fine;
  #latest = new Latest();
  #asked = "";
  #canvas = /** @type {HTMLCanvasElement} */ (byId("timeline"));
  #axis = /** @type {HTMLCanvasElement} */ (byId("timeline-axis"));
  #draw = atNextFrame(() => drawTimeline(this.#canvas, this.#axis, { time: { ...this.time, timeline: this.#timeline }, ...this.#seen(), bands: this.bands.drawn }));

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./answers.js").Time} time
   * @param {import("./answers.js").Summary} summary
   */
  constructor(store, time, summary) {
    this.store = store;
    this.time = time;
    this.bands = new BandsView(store, summary, this.#draw);
    this.lanes = new LanesView(store, time, () => this.#seen());
    /** Messages of a log, once they are known to be there.
     * @type {MessagesView | undefined} */
    this.messages = undefined;
    listenToTimeline(this.#canvas, {
      now: () => ({ ...this.#now(), whole: this.#length, range: this.#range() }),
      setCursor: (ns) => store.set({ at: String(embedded ? nearest(embedded, ns) : ns), show: "live", path: "" }),
      setRange: (range, isDone) => this.#setRange(range, isDone),
      setBase: (base, isDone) => this.#setBase(base, isDone),
      setShown: (shown) => this.#setShown(shown),
      hover: (ns, event) => showTooltip(ns === undefined ? "" : this.#stepAt(ns), event),
    });
    this.#buttons();
    this.#legend();
    store.listen(() => this.show());
    new ResizeObserver(this.#draw).observe(this.#canvas);
    addEventListener("colors", this.#draw);
    this.show();
  }

  /** @param {import("./answers.js").Messages} messages */
  setMessages(messages) {
    this.messages = new MessagesView(messages, () => this.#seen());
  }

  /** The steps that are drawn: the finer ones while they are those of the part that is shown. */
  get #timeline() {
    return this.#fine?.zoom === this.store.state.zoom ? this.#fine.timeline : this.time.timeline;
  }

  /** Asks for finer steps when something else is zoomed to, and that stays so for a moment. */
  #refine() {
    const { zoom } = this.store.state;
    if (zoom === this.#asked || embedded) return;
    this.#asked = zoom;
    if (zoom !== "") setTimeout(() => this.#askForFiner(zoom), STILL);
  }

  /** @param {string} zoom */
  async #askForFiner(zoom) {
    if (zoom !== this.store.state.zoom) return;
    const { from, to } = this.#now().shown;
    // Without it the coarser steps stay.
    const answer = await this.#latest.get("zoom", `from=${from}&to=${to}`).catch(() => undefined);
    if (!answer?.timeline) return;
    this.#fine = { zoom, timeline: answer.timeline };
    this.show();
  }

  get #length() {
    return Math.max(1, this.time.duration_ns);
  }

  /** What the state says is shown, and where the cursor is. */
  #now() {
    const { zoom, at, show } = this.store.state;
    const [from, to] = zoom.split("-").map(Number);
    const isZoomed = zoom !== "" && from < to;
    const cursor = at === "peak" ? this.time.peak.time_ns : Number(at);
    return {
      shown: isZoomed ? { from, to } : { from: 0, to: this.#length },
      cursor: show === "live" && Number.isFinite(cursor) ? cursor : undefined,
      isHeapAlone: this.store.state.lines === "heap",
    };
  }

  /** What is drawn. */
  #seen() {
    // "trace" is no moment.
    const { base: compared, born, show } = this.store.state;
    const [from, to] = (compared || (show === "freed" && born) || "trace").split(".").map(Number);
    const base = this.#draggedBase ?? (from >= 0 ? { from, to: to ?? from } : undefined);
    return { ...this.#now(), range: this.#dragged ?? this.#range(), base };
  }

  /**
   * What is compared with: a moment is one of live blocks, a range one of what was done in it.
   * @param {Range | number} base
   * @param {boolean} isDone
   */
  #setBase(base, isDone) {
    this.#draggedBase = isDone || typeof base === "number" ? undefined : base;
    if (!isDone) this.show();
    else if (typeof base === "number") this.store.set({ base: String(base), show: "live", path: "" });
    else this.store.set({ base: `${base.from}.${base.to}`, path: "", ...(this.store.state.show === "live" ? { show: "allocated" } : {}) });
    this.show();
  }

  /** @returns {Range | undefined} */
  #range() {
    const { from, to } = this.store.state;
    if (from === "" && to === "") return undefined;
    return { from: Number(from || 0), to: Number(to || this.#length) };
  }

  /**
   * @param {Range | undefined} range
   * @param {boolean} isDone
   */
  #setRange(range, isDone) {
    this.#dragged = isDone ? undefined : range;
    if (!isDone) {
      this.show();
      return;
    }
    const { show } = this.store.state;
    const [from, to] = range ? [String(range.from), String(range.to)] : ["", ""];
    // A range of blocks that are live at a moment is a generation; who drags one first wants to know what it did.
    const of = range && show === "live" && !this.#range() ? { show: "allocated" } : {};
    this.store.set({ from, to, path: "", ...of });
    this.show();
  }

  /** @param {Range} shown */
  #setShown({ from, to }) {
    const isAll = from <= 0 && to >= this.#length;
    this.store.set({ zoom: isAll ? "" : `${from}-${to}` }, { isSmall: true });
  }

  #buttons() {
    const press = (/** @type {string} */ id, /** @type {() => void} */ act) => byId(id).addEventListener("click", act);
    press("zoom-range", () => this.#setShown(this.#range() ?? { from: 0, to: this.#length }));
    press("zoom-all", () => this.#setShown({ from: 0, to: this.#length }));
    press("clear-range", () => this.#setRange(undefined, true));
    press("resident", () => this.store.set({ lines: this.store.state.lines === "heap" ? "" : "heap" }, { isSmall: true }));
    byId("resident").hidden = !this.time.timeline.rss_bytes;
    // The range becomes that of births, and the next one is that of frees.
    press("births", () => this.store.set({ show: "freed", born: this.#births(), from: "", to: "", path: "" }));
    press("to-peak", () => this.store.set({ at: "peak", show: "live", path: "" }));
  }

  /** The range as that of births. */
  #births() {
    const { from, to } = this.store.state;
    return `${from || 0}.${to || this.#length}`;
  }

  #legend() {
    const lines = [...LINES.filter((line) => this.time.timeline[line.column]), { name: "▲ allocated", color: "rate" }, { name: "▼ freed", color: "freed" }];
    byId("legend").replaceChildren(...lines.map((line) => element("span", { class: line.color }, line.name)));
  }

  /** Shows the state. */
  show() {
    const { shown, cursor } = this.#now();
    const range = this.#dragged ?? this.#range();
    const step = (shown.to - shown.from) / 1000;
    const chosen = range && `Range: ${moment(range.from, step)} to ${moment(range.to, step)}, ${duration(range.to - range.from)}`;
    byId("resident").setAttribute("aria-pressed", String(this.store.state.lines !== "heap"));
    for (const id of ["zoom-range", "clear-range"]) byId(id).toggleAttribute("disabled", !range);
    byId("births").toggleAttribute("disabled", !range || !this.store.allows({ show: "freed", born: this.#births(), from: "", to: "", path: "" }));
    const begin = this.time.timeline.begin_ns;
    const all = begin > 0 ? `all that the ring has, the last ${duration(this.#length - begin)}` : `all of ${duration(this.#length)}`;
    byId("range").textContent = chosen ?? `Range: ${all}`;
    const at = cursor === undefined ? "" : `Cursor at ${moment(cursor, step)}: ${this.#heapAt(cursor)}`;
    byId("timeline-status").textContent = at;
    this.#refine();
    this.#canvas.setAttribute("aria-label", `Heap over time, ${duration(shown.from)} to ${duration(shown.to)}. Peak ${bytes(this.time.peak.bytes)} at ${duration(this.time.peak.time_ns)}.`);
    this.bands.show();
    this.#draw();
    this.lanes.draw();
    this.messages?.draw();
  }

  /**
   * The step of a moment.
   * @param {number} ns
   */
  #step(ns) {
    const { begin_ns: begin, step_ns: step, heap_max_bytes: heap } = this.#timeline;
    return Math.min(heap.length - 1, Math.max(0, Math.floor((ns - begin) / step)));
  }

  /** @param {number} ns */
  #heapAt(ns) {
    const { step_ns: step, heap_max_bytes: heap } = this.#timeline;
    return `up to ${bytes(heap[this.#step(ns)])} live in this step of ${duration(step)}`;
  }

  /**
   * A step in words, and the marks in it.
   * @param {number} ns
   */
  #stepAt(ns) {
    const [timeline, notes] = [this.#timeline, this.time.notes];
    const [n, step] = [this.#step(ns), timeline.step_ns];
    const begin = timeline.begin_ns + n * step;
    const isIn = (/** @type {string} */ _, /** @type {number} */ at) => notes.from_ns[at] < begin + step && begin <= notes.to_ns[at];
    const named = [...new Set(notes.name.filter(isIn))].slice(0, 5);
    const parts = [
      `${moment(begin, step)}: up to ${bytes(timeline.heap_max_bytes[n])} live`,
      timeline.rss_bytes && `${bytes(timeline.rss_bytes[n])} resident`,
      timeline.anonymous_bytes && `${bytes(timeline.anonymous_bytes[n])} anonymous`,
      `${blocks(timeline.allocations[n])} of ${bytes(timeline.allocated_bytes[n])} allocated`,
      `${blocks(timeline.frees[n])} of ${bytes(timeline.freed_bytes[n])} freed`,
      this.bands.describe(ns),
      ...named,
    ];
    return parts.filter(Boolean).join(", ");
  }
}
