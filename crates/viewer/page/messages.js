/** Messages of a log, a lane for each channel, under the timeline and with its scale: a tick for the messages of a step. */

import { color } from "./colors.js";
import { atNextFrame, byId, prepared } from "./dom.js";
import { bytes, count, moment } from "./numbers.js";
import { toNs, toX } from "./scale.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {import("./answers.js").Messages} Messages */

/** Height of a lane, of its highest tick, and how far a pointer may be beside one, pixels. */
const LANE = 16;
const HIGH = 13;
const NEAR = 4;

/**
 * The row that is drawn at a moment in a lane; -1 if there is none so near.
 * @param {Messages} messages
 * @param {number} lane
 * @param {number} ns
 * @param {number} nearNs
 */
export function tickAt(messages, lane, ns, nearNs) {
  let [found, least] = [-1, nearNs];
  messages.lane.forEach((of, row) => {
    const away = Math.abs(messages.time_ns[row] - ns);
    if (of === lane && away <= least) [found, least] = [row, away];
  });
  return found;
}

/**
 * A tick in words.
 * @param {Messages} messages
 * @param {number} row
 */
export function describeTick(messages, row) {
  const channel = messages.channels[messages.lane[row]];
  const many = messages.messages[row];
  const what = many === 1 ? `Q${messages.queue_index[row]}` : `${count(many)} messages from Q${messages.queue_index[row]} on`;
  const did = `${bytes(messages.allocated_bytes[row])} in ${count(messages.allocations[row])} ${messages.allocations[row] === 1 ? "allocation" : "allocations"}, ${bytes(messages.freed_bytes[row])} freed`;
  return `${channelName(channel)}, ${what} at ${moment(messages.time_ns[row], messages.step_ns)}: ${bytes(messages.size_bytes[row])}${channel.type ? ` of ${channel.type}` : ""}; until the next message of any channel: ${did}`;
}

/** @param {Messages["channels"][number]} channel */
function channelName({ name, channel_index: index }) {
  return name ? `${name} (channel ${index})` : `channel ${index}`;
}

/** The lanes. */
export class MessagesView {
  #canvas = /** @type {HTMLCanvasElement} */ (byId("messages"));
  #axis = /** @type {HTMLCanvasElement} */ (byId("messages-axis"));

  /**
   * @param {Messages} messages
   * @param {() => { shown: { from: number, to: number } }} now what the timeline shows
   */
  constructor(messages, now) {
    this.messages = messages;
    this.now = now;
    byId("messages-of").hidden = messages.channels.length === 0;
    for (const canvas of [this.#canvas, this.#axis]) canvas.style.height = `${messages.channels.length * LANE}px`;
    const names = messages.channels.map((channel) => `${channelName(channel)}, ${count(channel.messages)}`);
    this.#canvas.setAttribute("aria-label", `Messages by channel: ${names.join("; ")}`);
    byId("messages-more").textContent = messages.left_out > 0 ? `${count(messages.left_out)} more channels have fewer messages and are not drawn.` : "";
    this.#canvas.addEventListener("pointermove", (event) => showTooltip(this.#describe(event), event));
    this.#canvas.addEventListener("pointerleave", (event) => showTooltip("", event));
    new ResizeObserver(this.draw).observe(this.#canvas);
    addEventListener("colors", this.draw);
  }

  draw = atNextFrame(() => drawMessages(this.#canvas, this.#axis, this.messages, this.now().shown));

  /** @param {PointerEvent} event */
  #describe(event) {
    const lane = Math.min(this.messages.channels.length - 1, Math.max(0, Math.floor(event.offsetY / LANE)));
    const scale = { ...this.now().shown, width: this.#canvas.clientWidth };
    const near = ((scale.to - scale.from) / scale.width) * NEAR;
    const row = tickAt(this.messages, lane, toNs(scale, event.offsetX), near);
    return row < 0 ? `${channelName(this.messages.channels[lane])}: ${count(this.messages.channels[lane].messages)} messages` : describeTick(this.messages, row);
  }
}

/**
 * Draws them: the height of a tick is what was allocated until the next message, beside the most of all, as a root, so
 * that little is seen, too.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} axis what stands left of it
 * @param {Messages} messages
 * @param {{ from: number, to: number }} shown
 */
function drawMessages(canvas, axis, messages, shown) {
  const { context, width } = prepared(canvas);
  const names = prepared(axis);
  names.context.font = "11px system-ui, sans-serif";
  names.context.textAlign = "right";
  names.context.textBaseline = "middle";
  names.context.fillStyle = color("quiet");
  messages.channels.forEach((channel, lane) => {
    const bottom = (lane + 1) * LANE - 1;
    names.context.fillText(channel.name ?? `channel ${channel.channel_index}`, names.width - 6, bottom - LANE / 2, names.width - 8);
    context.fillStyle = color("line");
    context.fillRect(0, bottom, width, 1);
  });
  const most = Math.max(1, ...messages.allocated_bytes);
  context.fillStyle = color("mark");
  messages.time_ns.forEach((ns, row) => {
    const x = toX({ ...shown, width }, ns);
    if (x < -2 || x > width) return;
    const high = 3 + (HIGH - 3) * Math.sqrt(messages.allocated_bytes[row] / most);
    context.fillRect(Math.round(x), (messages.lane[row] + 1) * LANE - 1 - high, 2, high);
  });
}
