/** The lanes and the state: a press on a process chooses it, another shows all again. */

import { atNextFrame, byId } from "./dom.js";
import { LANE, describeLane, drawLanes } from "./lanes.js";
import { toNs } from "./scale.js";
import { showTooltip } from "./tooltip.js";

/** The lanes. */
export class LanesView {
  #canvas = /** @type {HTMLCanvasElement} */ (byId("lanes"));
  #axis = /** @type {HTMLCanvasElement} */ (byId("lanes-axis"));

  /**
   * @param {import("./state.js").Store} store
   * @param {import("./answers.js").Time} time
   * @param {() => { shown: { from: number, to: number }, cursor: number | undefined, range: { from: number, to: number } | undefined }} now what the timeline shows
   */
  constructor(store, time, now) {
    this.store = store;
    this.time = time;
    this.now = now;
    byId("lanes-of").hidden = time.lanes.length === 0;
    for (const canvas of [this.#canvas, this.#axis]) canvas.style.height = `${time.lanes.length * LANE}px`;
    const names = time.lanes.map((lane) => `${lane.name} ${lane.pid}`);
    this.#canvas.setAttribute("aria-label", `Heap over time of ${names.length} processes: ${names.join(", ")}`);
    this.#canvas.addEventListener("click", (event) => this.#choose(event));
    this.#canvas.addEventListener("pointermove", (event) => this.#hover(event));
    this.#canvas.addEventListener("pointerleave", (event) => showTooltip("", event));
    new ResizeObserver(this.draw).observe(this.#canvas);
    addEventListener("colors", this.draw);
  }

  draw = atNextFrame(() => drawLanes(this.#canvas, this.#axis, { time: this.time, ...this.now(), chosen: this.store.state.process }));

  /** @param {MouseEvent} event */
  #lane(event) {
    return this.time.lanes[Math.floor(event.offsetY / LANE)];
  }

  /** @param {MouseEvent} event */
  #choose(event) {
    const lane = this.#lane(event);
    if (!lane) return;
    const process = String(lane.process);
    this.store.set({ process: this.store.state.process === process ? "" : process, thread: "", path: "" });
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const lane = this.#lane(event);
    const ns = toNs({ ...this.now().shown, width: this.#canvas.clientWidth }, event.offsetX);
    showTooltip(lane ? describeLane(this.time, lane, ns) : "", event);
  }
}
