/** The bands and the state: by what they are told apart, and a legend whose names choose a process or a thread. */

import { get } from "./api.js";
import { bandColor, describeBands } from "./bands.js";
import { byId, element } from "./dom.js";
import { embedded, has } from "./embedded.js";
import { bytes, count } from "./numbers.js";

/** A place that no band has: its color is that of the rest. */
const REST = 99;

/** The bands. */
export class BandsView {
  /** What is shown, and by what it is told apart.
   * @type {{ by: string, bands: import("./answers.js").Bands } | undefined} */
  #shown;
  #asked = "";
  /** What is said where no bands are drawn. */
  #message = "";
  /** @type {import("./answers.js").Whole | undefined} */
  #whole;

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./answers.js").Summary} summary
   * @param {() => void} draw
   */
  constructor(store, summary, draw) {
    this.store = store;
    this.draw = draw;
    const isThere = (/** @type {string} */ by) => (by === "threads" || summary.processes > 1) && (!embedded || has(embedded, "bands", `by=${by}`));
    const all = ["processes", "threads"].filter(isThere);
    const change = () => store.set({ bands: this.field.value }, { isSmall: true });
    this.field = element("select", { name: "bands", change }, element("option", { value: "" }, "none"), ...all.map((by) => element("option", { value: by }, by)));
    byId("bands-by").replaceChildren("Bands of", this.field);
    byId("bands-by").hidden = all.length === 0;
    addEventListener("colors", () => this.#legend());
  }

  /** The bands that are drawn. */
  get drawn() {
    return this.#shown?.by === this.store.state.bands ? this.#shown.bands : undefined;
  }

  /**
   * Threads have names once all events were read.
   * @param {import("./answers.js").Whole} whole
   */
  setWhole(whole) {
    this.#whole = whole;
    this.#legend();
  }

  /** Asks for what the state says, if that is something else than before. */
  show() {
    const by = this.store.state.bands;
    this.field.value = by;
    const isNew = by !== this.#asked;
    this.#asked = by;
    if (isNew) this.#message = by === "" ? "" : "Reading…";
    this.#legend();
    if (isNew && by !== "") this.#ask(by);
  }

  /** @param {string} by */
  async #ask(by) {
    try {
      const bands = await get("bands", `by=${encodeURIComponent(by)}`);
      if (by !== this.#asked) return;
      this.#shown = { by, bands };
      this.#message = bands.bands.length === 0 ? "No band: nothing was live." : "";
      this.#legend();
      this.draw();
    } catch (e) {
      if (by !== this.#asked) return;
      this.#message = `Bands of ${by} cannot be drawn: ${/** @type {Error} */ (e).message}.`;
      this.#legend();
    }
  }

  /** @param {import("./answers.js").Band} band */
  #name({ process, thread, name, pid }) {
    if (this.store.state.bands === "processes") return `${name} (pid ${pid})`;
    const threads = this.#whole?.threads;
    const at = threads?.thread.findIndex((of, n) => of === thread && threads.process[n] === process) ?? -1;
    const own = thread === null ? "other threads" : (at >= 0 && threads?.name[at]) || `thread ${thread}`;
    const tid = threads && at >= 0 ? ` (tid ${threads.tid[at]})` : "";
    const areOfSeveral = this.drawn?.bands.some((band) => band.process !== process);
    return `${own}${tid}${areOfSeveral ? ` of ${name} (pid ${pid})` : ""}`;
  }

  /**
   * What they were at a moment, in words.
   * @param {number} ns
   */
  describe(ns) {
    return this.drawn ? describeBands(this.drawn, this.drawn.bands.map((band) => this.#name(band)), ns) : "";
  }

  #legend() {
    const { drawn } = this;
    byId("bands").hidden = !drawn && this.#message === "";
    if (!drawn || this.#message !== "") {
      byId("bands").textContent = this.#message;
      return;
    }
    const swatch = (/** @type {number} */ n) => {
      const made = element("span", { class: "swatch", "aria-hidden": "true" });
      made.style.background = bandColor(n);
      return made;
    };
    const item = (/** @type {import("./answers.js").Band} */ band, /** @type {number} */ n) => {
      const thread = band.thread === null ? "" : String(band.thread);
      const choose = () => this.store.set({ process: String(band.process), thread, path: "" });
      const title = `${bytes(band.max_bytes)} at most; press to see only its blocks`;
      return element("button", { type: "button", class: "plain", title, click: choose }, swatch(n), this.#name(band));
    };
    const rest = drawn.others > 0 ? [element("span", {}, swatch(REST), `${count(drawn.others)} others together`)] : [];
    byId("bands").replaceChildren(...drawn.bands.map(item), ...rest);
  }
}
