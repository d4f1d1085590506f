/** The map of density and the state: a press or a drag leads to the stacks of that time. */

import { cellAt, columnsOf, describe, drawDensity, heightOf, legend, questionOf } from "./density.js";
import { atNextFrame, element } from "./dom.js";
import { unitOf } from "./state.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {import("./density.js").Cells} Cells */

/**
 * The view of an answer.
 * @param {import("./density.js").Density} density
 * @param {import("./state.js").Store} store
 */
export function densityMap(density, store) {
  const unit = unitOf(store);
  const canvas = element("canvas", { id: "density", tabindex: "0", role: "img", "aria-describedby": "density-status density-keys" });
  canvas.setAttribute("aria-label", `What was ${density.is_freed ? "freed" : "allocated"} over time, ${columnsOf(density)} columns of ${density.per_column} cells`);
  canvas.style.height = `${heightOf(density)}px`;
  const status = element("p", { class: "status", id: "density-status", "aria-live": "polite" });
  /** @type {Cells} */
  let chosen = { first: 0, last: 0 };
  let isShown = false;
  const draw = atNextFrame(() => drawDensity(canvas, density, isShown ? chosen : undefined));
  const show = (/** @type {Cells} */ cells) => {
    [chosen, isShown] = [cells, true];
    status.textContent = describe(density, cells, unit);
    draw();
  };
  const go = () => store.set({ ...questionOf(density, chosen), view: "flame" });
  pointer(canvas, density, { show, go, inWords: (cells) => describe(density, cells, unit) });
  canvas.addEventListener("keydown", (event) => {
    const { per_column: rows, cells } = density;
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -rows, ArrowRight: rows, ArrowUp: 1, ArrowDown: -1 })[event.key];
    if (event.key === "Enter") go();
    else if (by) {
      const at = Math.min(cells.length - 1, Math.max(0, (event.shiftKey ? chosen.last : chosen.first) + by));
      show(event.shiftKey ? { first: Math.min(chosen.first, at), last: at } : { first: at, last: at });
    } else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas);
  addEventListener("colors", draw);
  const keys = "Press a cell or drag over several to see their stacks. Keys: arrows choose a cell, with Shift several, Enter shows their stacks.";
  const hints = element("p", { class: "hint", id: "density-keys" }, `${legend(density, unit)} ${keys}`);
  return element("div", {}, element("div", { class: "map" }, canvas), status, hints);
}

/**
 * Cells under a pointer.
 * @param {HTMLCanvasElement} canvas
 * @param {import("./density.js").Density} density
 * @param {{ show: (cells: Cells) => void, go: () => void, inWords: (cells: Cells) => string }} hands
 */
function pointer(canvas, density, { show, go, inWords }) {
  const cell = (/** @type {PointerEvent} */ event) => cellAt(density, event.offsetX / canvas.clientWidth, event.offsetY);
  /** @type {number | undefined} */
  let begun;
  const cells = (/** @type {PointerEvent} */ event) => {
    const [a, b] = [begun ?? cell(event), cell(event)];
    return { first: Math.min(a, b), last: Math.max(a, b) };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    begun = cell(event);
    show(cells(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    showTooltip(begun === undefined ? inWords(cells(event)) : "", event);
    if (begun !== undefined) show(cells(event));
  });
  canvas.addEventListener("pointerleave", (event) => showTooltip("", event));
  canvas.addEventListener("pointerup", (event) => {
    if (begun === undefined) return;
    show(cells(event));
    begun = undefined;
    showTooltip("", event);
    go();
  });
}
