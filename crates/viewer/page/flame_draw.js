/** A flame graph on a canvas. */

import { boxColor, changeColor, color } from "./colors.js";
import { prepared } from "./dom.js";

/** Height of a level, and the narrowest box with a name in it, pixels. */
export const LEVEL = 19;
const NAMED = 30;
/** Width of a letter: the font has one width. */
const LETTER = 6.7;

/**
 * Draws it.
 * @param {HTMLCanvasElement} canvas
 * @param {import("./flame_layout.js").Flame} flame
 * @param {import("./flame_layout.js").Layout} layout
 * @param {"bytes" | "blocks"} unit
 * @param {{ selected: number, hovered: number, found: boolean[] }} marks
 */
export function drawFlame(canvas, flame, layout, unit, marks) {
  const { context, width } = prepared(canvas);
  if (layout.whole === 0) return;
  const scale = width / layout.whole;
  context.font = "11px ui-monospace, monospace";
  context.textBaseline = "middle";
  const before = flame[`before_${unit}`];
  const isSearch = marks.found.includes(true);
  for (let row = 0; row < flame.depth.length; row += 1) {
    const [x, y] = [layout.begin[row] * scale, flame.depth[row] * LEVEL];
    const wide = flame[unit][row] * scale;
    const name = flame.name[row];
    const isFound = marks.found[name];
    const plain = before ? changeColor(before[row], flame[unit][row]) : boxColor(flame.files[name]);
    context.fillStyle = isSearch && !isFound ? color("box-quiet") : plain;
    context.fillRect(x, y, Math.max(0.5, wide - 0.5), LEVEL - 1);
    if (isFound) {
      context.fillStyle = color("found");
      context.fillRect(x, y + LEVEL - 4, Math.max(0.5, wide - 0.5), 3);
    }
    const sign = before ? signOf(before[row], flame[unit][row]) : "";
    if (wide >= NAMED) drawName(context, sign + flame.names[name], x, y, wide);
  }
  for (const row of new Set([marks.hovered, marks.selected])) {
    if (row < 0 || row >= flame.depth.length) continue;
    context.strokeStyle = color("text");
    context.lineWidth = row === marks.selected ? 2 : 1;
    const wide = Math.max(2, flame[unit][row] * scale - 1.5);
    context.strokeRect(layout.begin[row] * scale + 0.5, flame.depth[row] * LEVEL + 0.5, wide, LEVEL - 2);
  }
}

/**
 * Which way a box has changed, where it has by more than a hundredth.
 * @param {number} before
 * @param {number} after
 */
function signOf(before, after) {
  if (Math.abs(after - before) * 100 < Math.max(before, after)) return "";
  return after > before ? "▲ " : "▼ ";
}

/**
 * As much of a name as there is room for.
 * @param {CanvasRenderingContext2D} context
 * @param {string} name
 * @param {number} x
 * @param {number} y
 * @param {number} wide
 */
function drawName(context, name, x, y, wide) {
  // Of a box that begins left of the picture there is none: boxes are never wider than it.
  const letters = Math.floor((wide - 6) / LETTER);
  const shown = name.length <= letters ? name : `${name.slice(0, Math.max(0, letters - 1))}…`;
  context.fillStyle = color("box-text");
  context.fillText(shown, x + 3, y + LEVEL / 2);
}
