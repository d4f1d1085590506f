/** What is said about the thing under the pointer. */

import { byId } from "./dom.js";

/**
 * Shows a text beside the pointer; none hides it.
 * @param {string} text
 * @param {PointerEvent} event
 */
export function showTooltip(text, event) {
  const tooltip = byId("tooltip");
  tooltip.hidden = text === "";
  if (text === "") return;
  tooltip.textContent = text;
  const { width, height } = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4))}px`;
  tooltip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - height - 4))}px`;
}
