/** The map of lifetimes and the state: a press or a drag leads to the stacks of the cells. */

import { atNextFrame, element } from "./dom.js";
import { AXIS, ROW, columnAt, describeCell, drawLifetimes, questionOf, rowsOf, shadesOf } from "./lifetimes.js";
import { bytes, count, duration } from "./numbers.js";
import { unitOf } from "./state.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Cells */

/**
 * The view of an answer.
 * @param {import("./lifetimes.js").Ages} ages
 * @param {import("./state.js").Store} store
 */
export function lifetimeMap(ages, store) {
  const rows = rowsOf(ages);
  const unit = unitOf(store);
  const axis = element("canvas", { class: "wide-axis", "aria-hidden": "true" });
  const canvas = element("canvas", { id: "lifetimes", tabindex: "0", role: "img", "aria-describedby": "lifetimes-status lifetimes-keys" });
  canvas.setAttribute("aria-label", `Blocks by time of allocation and lifetime, ${rows.length} rows`);
  for (const of of [axis, canvas]) of.style.height = `${rows.length * ROW + AXIS}px`;
  const status = element("p", { class: "status", id: "lifetimes-status", "aria-live": "polite" });
  const { mean, most, isEven } = shadesOf(ages, rows);
  const amount = unit === "bytes" ? bytes(Math.round(most)) : `${count(Math.round(most))} blocks`;
  const legend = `The darkest cell, or in the dark the brightest, has ${isEven ? amount : `${amount} in ${duration(mean)}`}; shades are logarithmic.${isEven ? "" : " Columns have about as many events, and are as wide as they are long."}`;
  const keys = "Press a cell or drag over several to see their stacks. Keys: arrows choose a cell, Enter shows its stacks.";
  /** @type {Cells} */
  let chosen = { left: 0, right: 0, top: 0, bottom: 0 };
  let isShown = false;
  const draw = atNextFrame(() => drawLifetimes(canvas, axis, ages, isShown ? chosen : undefined));
  const show = (/** @type {Cells} */ cells) => {
    [chosen, isShown] = [cells, true];
    draw();
  };
  const go = () => store.set({ ...questionOf(ages, rows, chosen), view: "flame" });
  pointer(canvas, { ages, rows, show, go, describe: (row, column) => describeCell(ages, rows[row], column, unit) });
  canvas.addEventListener("keydown", (event) => {
    const by = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] })[event.key];
    if (event.key === "Enter") go();
    else if (by) {
      const column = Math.min(ages.left.length - 1, Math.max(0, chosen.left + by[0]));
      const row = Math.min(rows.length - 1, Math.max(0, chosen.top + by[1]));
      show({ left: column, right: column, top: row, bottom: row });
      status.textContent = describeCell(ages, rows[row], column, unit);
    } else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas);
  addEventListener("colors", draw);
  const hints = element("p", { class: "hint", id: "lifetimes-keys" }, `${legend} ${keys}`);
  return element("div", {}, element("div", { class: "map" }, axis, canvas), status, hints);
}

/**
 * Cells under a pointer.
 * @param {HTMLCanvasElement} canvas
 * @param {{ ages: import("./lifetimes.js").Ages, rows: import("./lifetimes.js").Row[], show: (cells: Cells) => void, go: () => void, describe: (row: number, column: number) => string }} hands
 */
function pointer(canvas, { ages, rows, show, go, describe }) {
  const cell = (/** @type {PointerEvent} */ event) => ({
    column: columnAt(ages, canvas.clientWidth, event.offsetX),
    row: Math.min(rows.length - 1, Math.max(0, Math.floor(event.offsetY / ROW))),
  });
  /** @type {{ column: number, row: number } | undefined} */
  let begun;
  const cells = (/** @type {PointerEvent} */ event) => {
    const [a, b] = [begun ?? cell(event), cell(event)];
    return { left: Math.min(a.column, b.column), right: Math.max(a.column, b.column), top: Math.min(a.row, b.row), bottom: Math.max(a.row, b.row) };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    begun = cell(event);
    show(cells(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const { row, column } = cell(event);
    showTooltip(begun ? "" : describe(row, column), event);
    if (begun) show(cells(event));
  });
  canvas.addEventListener("pointerleave", (event) => showTooltip("", event));
  canvas.addEventListener("pointerup", (event) => {
    if (!begun) return;
    show(cells(event));
    begun = undefined;
    showTooltip("", event);
    go();
  });
}
