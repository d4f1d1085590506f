/** A running process: looked at again and again, and what `ctl` can do to it. */

import { change, get } from "./api.js";
import { color } from "./colors.js";
import { atNextFrame, byId, element, prepared } from "./dom.js";
import { blocks, bytes, duration } from "./numbers.js";

/** Between two looks, ms. */
const PAUSE = 2000;

/** The bar of a running process. */
export class LiveView {
  #status = element("span", { "aria-live": "polite" });
  #error = element("span", { class: "error", role: "alert" });
  #canvas = element("canvas", { id: "live-curve", role: "img" });
  /** @type {Pick<import("./answers.js").Live, "ms" | "bytes" | "blocks">} */
  #state = { ms: [], bytes: [], blocks: [] };
  #draw = atNextFrame(() => drawCurve(this.#canvas, this.#state));
  #isPaused = false;

  /** @param {() => void} refresh shows the new look */
  constructor(refresh) {
    this.refresh = refresh;
    const button = (/** @type {string} */ text, /** @type {() => void} */ click) => element("button", { type: "button", click }, text);
    const name = element("input", { type: "search", size: "12", placeholder: "name", "aria-label": "Name of the mark" });
    this.pause = element("button", { type: "button", "aria-pressed": "false", click: () => this.#setPaused(!this.#isPaused) }, "Pause");
    const mark = () => this.#control(new URLSearchParams({ do: "mark", name: name.value }));
    const control = (/** @type {string} */ what) => () => this.#control(new URLSearchParams({ do: what }));
    byId("live").append(
      element("div", { class: "bar" }, this.pause, button("Start recording", control("start")), button("Stop recording", control("stop")), name, button("Set mark", mark), this.#status, this.#error),
      this.#canvas,
    );
    byId("live-section").hidden = false;
    new ResizeObserver(this.#draw).observe(this.#canvas);
    addEventListener("colors", this.#draw);
    this.#look();
  }

  /** @param {boolean} isPaused */
  #setPaused(isPaused) {
    this.#isPaused = isPaused;
    this.pause.setAttribute("aria-pressed", String(isPaused));
  }

  /** @param {URLSearchParams} what */
  async #control(what) {
    try {
      this.#show(await change(`control?${what}`));
      this.#error.textContent = "";
    } catch (e) {
      this.#error.textContent = /** @type {Error} */ (e).message;
    }
  }

  async #look() {
    // A page that nobody sees asks for nothing.
    if (!this.#isPaused && !document.hidden) {
      try {
        this.#show(await get("live"));
        this.refresh();
      } catch (e) {
        this.#error.textContent = /** @type {Error} */ (e).message;
      }
    }
    setTimeout(() => this.#look(), PAUSE);
  }

  /** @param {import("./answers.js").Live} state */
  #show(state) {
    this.#state = state;
    const last = state.bytes.length - 1;
    const running = state.is_running ? `process ${state.pid} records ${state.records ?? "nothing"}` : `process ${state.pid} has ended`;
    this.#status.textContent = `${bytes(state.bytes[last])} in ${blocks(state.blocks[last])} live · ${running}`;
    this.#canvas.setAttribute("aria-label", `Live heap at ${last + 1} looks, now ${bytes(state.bytes[last])}`);
    this.#draw();
  }
}

/**
 * The live heap at each look, with the most as a label.
 * @param {HTMLCanvasElement} canvas
 * @param {{ ms: number[], bytes: number[] }} state
 */
function drawCurve(canvas, { ms, bytes: heap }) {
  const { context, width, height } = prepared(canvas);
  if (ms.length === 0) return;
  const [first, top] = [ms[0], Math.max(1, ...heap)];
  const length = Math.max(1, ms[ms.length - 1] - first);
  const y = (/** @type {number} */ n) => height - 4 - (n / top) * (height - 20);
  context.beginPath();
  ms.forEach((at, n) => context.lineTo(((at - first) / length) * width, y(heap[n])));
  context.strokeStyle = color("heap");
  context.lineWidth = 1.5;
  context.stroke();
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  context.fillStyle = color("quiet");
  context.fillText(`at most ${bytes(top)} in the last ${duration(length * 1e6)}`, 4, 2);
}
