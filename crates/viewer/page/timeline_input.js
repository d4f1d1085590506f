/** What a pointer and keys do on the timeline. */

import { panned, toNs, zoomed } from "./scale.js";

/** A pointer that moved less is one that was pressed, not dragged: pixels. */
const STILL = 4;

/**
 * @typedef {object} Hands what the timeline is asked to do
 * @property {() => { shown: { from: number, to: number }, whole: number, cursor: number | undefined, range: { from: number, to: number } | undefined }} now
 * @property {(ns: number) => void} setCursor
 * @property {(range: { from: number, to: number } | undefined, isDone: boolean) => void} setRange
 * @property {(base: { from: number, to: number } | number, isDone: boolean) => void} setBase
 * @property {(shown: { from: number, to: number }) => void} setShown
 * @property {(ns: number | undefined, event: PointerEvent) => void} hover
 */

/**
 * Listens.
 * @param {HTMLCanvasElement} canvas
 * @param {Hands} hands
 */
export function listenToTimeline(canvas, hands) {
  const nsAt = (/** @type {number} */ x) => {
    const { shown, whole } = hands.now();
    const ns = toNs({ ...shown, width: canvas.clientWidth }, x);
    return Math.round(Math.min(Math.max(0, ns), whole));
  };
  dragging(canvas, hands, nsAt);
  canvas.addEventListener(
    "wheel",
    (event) => {
      const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      // Else the wheel scrolls the page.
      if (!isPan && !event.ctrlKey) return;
      event.preventDefault();
      const { shown, whole } = hands.now();
      const perPixel = (shown.to - shown.from) / canvas.clientWidth;
      if (isPan) hands.setShown(panned(shown, event.deltaX * perPixel, whole));
      else hands.setShown(zoomed(shown, nsAt(event.offsetX), Math.exp(event.deltaY / 300), whole));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && key(event, hands)) event.preventDefault();
  });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Hands} hands
 * @param {(x: number) => number} nsAt
 */
function dragging(canvas, hands, nsAt) {
  /** @type {{ x: number, ns: number, isPan: boolean, isBase: boolean, shown: { from: number, to: number } } | undefined} */
  let begun;
  const rangeTo = (/** @type {number} */ x) => {
    const [a, b] = [begun?.ns ?? 0, nsAt(x)];
    return { from: Math.min(a, b), to: Math.max(a, b, Math.min(a, b) + 1) };
  };
  const isStill = (/** @type {number} */ x) => Math.abs(x - (begun?.x ?? x)) < STILL;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    canvas.setPointerCapture(event.pointerId);
    const { shown } = hands.now();
    begun = { x: event.offsetX, ns: nsAt(event.offsetX), isPan: event.button === 1, isBase: event.shiftKey, shown };
  });
  canvas.addEventListener("pointerleave", (event) => hands.hover(undefined, event));
  canvas.addEventListener("pointermove", (event) => {
    hands.hover(begun ? undefined : nsAt(event.offsetX), event);
    if (!begun || isStill(event.offsetX)) return;
    if (begun.isPan) {
      const perPixel = (begun.shown.to - begun.shown.from) / canvas.clientWidth;
      hands.setShown(panned(begun.shown, (begun.x - event.offsetX) * perPixel, hands.now().whole));
    } else if (begun.isBase) hands.setBase(rangeTo(event.offsetX), false);
    else hands.setRange(rangeTo(event.offsetX), false);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!begun) return;
    if (isStill(event.offsetX)) begun.isBase ? hands.setBase(begun.ns, true) : hands.setCursor(begun.ns);
    else if (begun.isBase) hands.setBase(rangeTo(event.offsetX), true);
    else if (!begun.isPan) hands.setRange(rangeTo(event.offsetX), true);
    begun = undefined;
  });
  canvas.addEventListener("pointercancel", () => {
    begun = undefined;
  });
}

/**
 * Whether a key means something here.
 * @param {KeyboardEvent} event
 * @param {Hands} hands
 */
function key(event, hands) {
  const { shown, whole, cursor, range } = hands.now();
  const step = Math.max(1, Math.round((shown.to - shown.from) / 100));
  const middle = cursor ?? (shown.from + shown.to) / 2;
  const by = event.key === "ArrowLeft" ? -step : event.key === "ArrowRight" ? step : 0;
  const moved = (/** @type {number} */ ns) => Math.round(Math.min(Math.max(0, ns + by), whole));
  if (by !== 0 && event.shiftKey) {
    const from = range?.from ?? Math.round(middle);
    hands.setRange({ from, to: Math.max(from + 1, moved(range?.to ?? from)) }, true);
  } else if (by !== 0) hands.setCursor(moved(middle));
  else if (event.key === "+" || event.key === "=") hands.setShown(zoomed(shown, middle, 0.5, whole));
  else if (event.key === "-") hands.setShown(zoomed(shown, middle, 2, whole));
  else if (event.key === "0") hands.setShown({ from: 0, to: whole });
  else if (event.key === "Escape") hands.setRange(undefined, true);
  else return false;
  return true;
}
