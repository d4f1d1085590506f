/** The view of a flame graph: boxes that are zoomed into, searched, focused on, by pointer and by keys. */

import { atNextFrame, element } from "./dom.js";
import { toggled } from "./chips.js";
import { flameActions } from "./flame_actions.js";
import { boxAt, layout, matches, neighbor, pathTo } from "./flame_layout.js";
import { LEVEL, drawFlame } from "./flame_draw.js";
import { blocks, bytes, changed, percent } from "./numbers.js";
import { unitOf } from "./state.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {import("./flame_layout.js").Flame} Flame */

/** The view. */
export class FlameView {
  /** @type {(Flame & import("./answers.js").Answered) | undefined} */
  #flame;
  #layout = layout({ names: [], files: [], functions: [], modules: [], path: [], depth: [], name: [], bytes: [], blocks: [], own_bytes: [], own_blocks: [], left_out: [] }, "bytes");
  #marks = { selected: 0, hovered: -1, found: /** @type {boolean[]} */ ([]) };
  #draw = atNextFrame(() => this.#drawNow());

  /** @param {import("./state.js").Store} store */
  constructor(store) {
    this.store = store;
    this.crumbs = element("nav", { class: "bar", "aria-label": "Path to the box that is drawn in full width" });
    this.status = element("p", { class: "status", "aria-live": "polite", id: "flame-status" });
    this.canvas = element("canvas", { id: "flame", tabindex: "0", role: "img", "aria-describedby": "flame-status flame-keys" });
    this.canvas.setAttribute("aria-label", "Flame graph");
    const keys = "Click a box to draw it in full width. Keys: arrows choose a box, Enter draws it in full width, Backspace goes back out, F focuses on its function, C shows its callers, H hides its function, L draws its library as one box, R merges recursion, S shows the source of its function.";
    this.actions = flameActions(this);
    this.root = element("div", {}, this.actions, this.crumbs, this.canvas, this.status, element("p", { class: "hint", id: "flame-keys" }, keys));
    this.#listen();
    new ResizeObserver(this.#draw).observe(this.canvas);
    addEventListener("colors", this.#draw);
  }

  get #unit() {
    return unitOf(this.store);
  }

  /**
   * Shows an answer, in the element that it gives.
   * @param {Flame & import("./answers.js").Answered} answer
   */
  show(answer) {
    this.#flame = answer;
    this.#layout = layout(answer, this.#unit);
    // The first box is all blocks together: what is done is done to the one on it.
    this.#marks.selected = answer.path.length === 0 && answer.depth.length > 1 && this.store.state.focus === "" ? 1 : 0;
    this.#marks.hovered = -1;
    this.canvas.style.height = `${Math.max(2, this.#layout.levels) * LEVEL + 2}px`;
    this.canvas.hidden = this.#layout.whole === 0;
    this.#showCrumbs(answer);
    this.search();
    return this.root;
  }

  /** Marks the boxes that the search finds. */
  search() {
    if (!this.#flame) return;
    const { names, sum } = matches(this.#flame, this.#unit, this.store.state.search);
    this.#marks.found = names;
    const amount = this.#unit === "bytes" ? bytes(sum) : blocks(sum);
    const found = `The search finds ${amount}, ${percent(sum, this.#layout.whole)}.`;
    const nothing = this.#layout.whole === 0 ? "There are no such blocks." : "";
    this.status.textContent = this.store.state.search === "" ? nothing : found;
    this.#draw();
  }

  /** @param {Flame} flame */
  #showCrumbs(flame) {
    const path = this.store.state.path.split(".");
    const crumbs = flame.path.map((name, level) =>
      element("button", { type: "button", class: "plain name", click: () => this.store.set({ path: path.slice(0, level).join(".") }) }, `${flame.names[name]} ›`),
    );
    this.crumbs.replaceChildren(...crumbs);
  }

  #drawNow() {
    if (this.#flame) drawFlame(this.canvas, this.#flame, this.#layout, this.#unit, this.#marks);
  }

  #listen() {
    const at = (/** @type {MouseEvent} */ event) => {
      if (!this.#flame) return -1;
      const level = Math.floor(event.offsetY / LEVEL);
      return boxAt(this.#flame, this.#layout, this.#unit, event.offsetX / this.canvas.clientWidth, level);
    };
    this.canvas.addEventListener("pointermove", (event) => this.#hover(at(event), event));
    this.canvas.addEventListener("pointerleave", (event) => this.#hover(-1, event));
    this.canvas.addEventListener("click", (event) => {
      const row = at(event);
      if (row >= 0) this.#zoom(row);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.#key(event.key)) event.preventDefault();
    });
  }

  /** @param {number} row */
  #zoom(row) {
    const flame = this.#flame;
    if (!flame) return;
    // A path of which the server found only a part is continued where it ends.
    const before = this.store.state.path.split(".").filter(Boolean).slice(0, flame.path.length);
    const more = pathTo(this.#layout, row).map((at) => String(flame.functions[flame.name[at]]));
    this.store.set({ path: [...before, ...more].join(".") });
  }

  /** @param {string} key */
  #key(key) {
    const flame = this.#flame;
    if (!flame || flame.depth.length === 0) return false;
    const selected = this.#marks.selected;
    if (key.startsWith("Arrow")) {
      this.#marks.selected = neighbor(flame, this.#layout, selected, key);
      this.status.textContent = this.#describe(this.#marks.selected);
      this.#draw();
    } else if (key === "Enter") this.#zoom(selected);
    else if (key === "Backspace") this.store.set({ path: this.store.state.path.split(".").slice(0, -1).join(".") });
    else return this.act(key.toLowerCase());
    return true;
  }

  /**
   * Does something to the function of the chosen box; whether there is such a thing.
   * @param {string} key
   */
  act(key) {
    const flame = this.#flame;
    if (!flame || flame.depth.length === 0) return false;
    const name = flame.name[this.#marks.selected];
    const [focus, library] = [String(flame.functions[name]), flame.modules[name]];
    const { hide, collapse, recursion } = this.store.state;
    if (key === "f") this.store.set({ focus, path: "" });
    else if (key === "c") this.store.set({ focus, path: "", tree: "callers" });
    else if (key === "h") this.store.set({ hide: toggled(hide, focus), focus: "", path: "" });
    else if (key === "l" && library !== null) this.store.set({ collapse: toggled(collapse, library), focus: "", path: "" });
    else if (key === "s") this.store.set({ view: "source", function: focus, line: "" });
    else if (key === "r") this.store.set({ recursion: recursion === "" ? "merged" : "", path: "" });
    else return false;
    return true;
  }

  /**
   * @param {number} row
   * @param {PointerEvent} event
   */
  #hover(row, event) {
    showTooltip(row < 0 ? "" : this.#describe(row), event);
    if (row !== this.#marks.hovered) {
      this.#marks.hovered = row;
      this.#draw();
    }
  }

  /**
   * A box in words.
   * @param {number} row
   */
  #describe(row) {
    const flame = this.#flame;
    if (!flame) return "";
    const part = percent(flame[this.#unit][row], flame.total[this.#unit]);
    const own = this.#unit === "bytes" ? bytes(flame.own_bytes[row]) : blocks(flame.own_blocks[row]);
    const file = flame.files[flame.name[row]];
    const place = file === "" ? "" : ` in ${file}`;
    const more = flame.left_out[row] === 0 ? "" : `; ${flame.left_out[row]} more on it are not drawn`;
    const sums = `${bytes(flame.bytes[row])} in ${blocks(flame.blocks[row])}, ${part}`;
    const before = flame[`before_${this.#unit}`]?.[row];
    const change = before === undefined ? "" : `; ${changed(before, flame[this.#unit][row], this.#unit)} from ${this.#unit === "bytes" ? bytes(before) : blocks(before)}`;
    return `${flame.names[flame.name[row]]}${place}: ${sums}; ${own} of its own${change}${more}`;
  }
}
