/** The pages of a snapshot: what the resident memory is, as bars, and the heap as a map of cells, one of which leads to the stacks whose blocks are in it. */

import { get } from "./api.js";
import { between, color } from "./colors.js";
import { atNextFrame, element, prepared } from "./dom.js";
import { blocks, bytes, count, duration, percent } from "./numbers.js";
import { stackTable, table } from "./tables.js";
import { showTooltip } from "./tooltip.js";

/** @typedef {import("./answers.js").Pages} Pages */

/** Sides of a cell, pixels, and how far it is to the next one. */
const SIDE = 9;
const STEP = 10;

/** What the parts of a heap are, in words. */
const KINDS = /** @type {Record<string, string>} */ ({ brk: "heap (brk)", arena: "arena", mapped: "mapped for single blocks", foreign: "heap" });

/** What cells are shaded by. */
const SHADES = /** @type {Record<string, string>} */ ({ live: "live bytes", oldest: "oldest blocks", youngest: "youngest blocks" });

/**
 * Where cells are: in rows of so many, with a new row where the kind changes or addresses are left out.
 * @param {{ page: number[], kind: string[], cell_pages: number }} map
 * @param {number} wide cells of a row
 * @returns {{ x: number, y: number }[]}
 */
export function placed({ page, kind, cell_pages: step }, wide) {
  const places = [];
  let [x, y] = [-1, 0];
  for (let n = 0; n < page.length; n += 1) {
    const follows = n > 0 && kind[n] === kind[n - 1];
    // A hole is a gap of one cell, whatever its size.
    x += follows && page[n] !== page[n - 1] + step ? 2 : 1;
    if (n > 0 && !follows) [x, y] = [0, y + 2];
    if (x >= wide) [x, y] = [0, y + 1];
    places.push({ x, y });
  }
  return places;
}

/**
 * How dark a cell is, from 0 to 1.
 * @param {Pages} map
 * @param {number} n
 * @param {string} by
 * @param {number} most the most of all, of ages
 */
function shade(map, n, by, most) {
  // A root: what is nearly empty is to be seen beside what is empty.
  if (by === "live") return map.resident[n] === 0 ? 0 : Math.sqrt(map.live[n] / map.resident[n]);
  const age = by === "oldest" ? map.oldest_ns[n] : map.youngest_ns[n];
  return age === null ? 0 : Math.log1p(age) / Math.log1p(Math.max(1, most));
}

/**
 * A cell in words.
 * @param {Pages} map
 * @param {number} n
 */
export function describeCell(map, n) {
  const address = `0x${(BigInt(map.page[n]) * BigInt(map.page_bytes)).toString(16)}`;
  const [youngest, oldest] = [map.youngest_ns[n], map.oldest_ns[n]];
  const ages = youngest === null || oldest === null ? "no block" : youngest === oldest ? `${duration(oldest)} old` : `${duration(youngest)} to ${duration(oldest)} old`;
  const begin = map.blocks[n] === 0 && oldest !== null ? "a block from before" : blocks(map.blocks[n]);
  return `${address}, ${KINDS[map.kind[n]]}: ${bytes(map.resident[n])} in memory, ${bytes(map.live[n])} live; ${oldest === null ? ages : `${begin}, ${ages}`}`;
}

/**
 * The view.
 * @param {Pages} map
 * @param {import("./state.js").Store} store
 */
export function pagesView(map, store) {
  const notes = [...map.problems, ...(map.is_sampled ? ["Blocks were sampled: a page may have blocks that are not known here."] : [])];
  return element("div", {}, waterfall(map), ...notes.map((note) => element("p", { class: "error" }, note)), cellMap(map, store));
}

/** @param {Pages} map */
function waterfall(map) {
  const longest = Math.max(1, ...map.part_bytes);
  const rows = map.part_name.map((name, n) => {
    const meter = element("span", { class: map.is_heap[n] ? "meter" : "meter other", "aria-hidden": "true" });
    meter.style.width = `${(24 * map.part_bytes[n]) / longest}rem`;
    return [name, bytes(map.part_bytes[n]), percent(map.part_bytes[n], map.resident_bytes), meter];
  });
  const heading = element("h3", {}, `What the resident memory is: ${bytes(map.resident_bytes)}`);
  return element("div", {}, heading, table("Parts of the resident memory", ["Part", "Bytes", "", ""], rows, ["", "number", "number", ""]));
}

/**
 * @param {Pages} map
 * @param {import("./state.js").Store} store
 */
function cellMap(map, store) {
  const canvas = element("canvas", { id: "pages", tabindex: "0", role: "img", "aria-describedby": "pages-status pages-keys" });
  canvas.setAttribute("aria-label", `Map of the heap's pages, ${count(map.page.length)} cells`);
  const status = element("p", { class: "status", id: "pages-status", "aria-live": "polite" });
  const stacks = element("div", { id: "page-stacks" });
  const [by, chosen] = [store.state.pages in SHADES ? store.state.pages : "live", { n: -1 }];
  const ages = by === "live" ? [] : by === "oldest" ? map.oldest_ns : map.youngest_ns;
  const most = ages.reduce((all, age) => Math.max(all ?? 0, age ?? 0), 0) ?? 0;
  /** @type {{ x: number, y: number }[]} */
  let places = [];
  const draw = atNextFrame(() => {
    places = placed(map, Math.max(8, Math.floor(canvas.clientWidth / STEP)));
    canvas.style.height = `${((places.at(-1)?.y ?? 0) + 1) * STEP}px`;
    const { context } = prepared(canvas);
    places.forEach(({ x, y }, n) => {
      if (map.resident[n] === 0) {
        context.strokeStyle = color("line");
        context.lineWidth = 1;
        context.strokeRect(x * STEP + 0.5, y * STEP + 0.5, SIDE - 1, SIDE - 1);
      } else {
        // What holds no block is grey.
        context.fillStyle = map.oldest_ns[n] === null ? color("page-empty") : between("page-low", "map-high", shade(map, n, by, most));
        context.fillRect(x * STEP, y * STEP, SIDE, SIDE);
      }
      if (n !== chosen.n) return;
      context.strokeStyle = color("severe");
      context.lineWidth = 2;
      context.strokeRect(x * STEP, y * STEP, SIDE, SIDE);
    });
  });
  const at = (/** @type {PointerEvent | MouseEvent} */ event) => {
    const [x, y] = [Math.floor(event.offsetX / STEP), Math.floor(event.offsetY / STEP)];
    return places.findIndex((place) => place.x === x && place.y === y);
  };
  const choose = (/** @type {number} */ n) => {
    if (n < 0 || n >= map.page.length) return;
    chosen.n = n;
    status.textContent = describeCell(map, n);
    draw();
    showStacks(stacks, `page=${map.page[n]}&pages=${map.cell_pages}`, `Stacks whose blocks are in ${map.cell_pages === 1 ? "this page" : `these ${count(map.cell_pages)} pages`}`, store);
  };
  canvas.addEventListener("click", (event) => choose(at(event)));
  canvas.addEventListener("pointermove", (event) => {
    const n = at(event);
    showTooltip(n < 0 ? "" : describeCell(map, n), event);
  });
  canvas.addEventListener("pointerleave", (event) => showTooltip("", event));
  canvas.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    choose(Math.max(0, chosen.n + step));
  });
  new ResizeObserver(draw).observe(canvas);
  addEventListener("colors", draw);
  const pinned = `Stacks whose blocks keep nearly empty pages: ${bytes(map.pinned_bytes)}, each page charged to those that are in it`;
  if (map.pinned_bytes > 0) showStacks(stacks, "", pinned, store);
  const change = () => store.set({ pages: field.value === "live" ? "" : field.value }, { isSmall: true });
  const field = element("select", { name: "pages", change }, ...Object.entries(SHADES).map(([value, text]) => element("option", { value }, text)));
  field.value = by;
  const size = map.cell_pages === 1 ? `a page of ${bytes(map.page_bytes)}` : `${count(map.cell_pages)} pages of ${bytes(map.page_bytes)}`;
  const keys = `Each cell is ${size}, by address; a gap stands for addresses without memory. Grey cells are in memory and hold no block, empty ones are not in memory; the darkest, or in the dark the brightest, have most. Press a cell to see who is in it. Keys: ← →.`;
  const bar = element("div", { class: "bar" }, element("h3", {}, "The heap's pages"), element("label", {}, "Shades are of", field));
  return element("div", {}, bar, canvas, status, element("p", { class: "hint", id: "pages-keys" }, keys), stacks);
}

/**
 * Asks for stacks, and shows them below the map.
 * @param {HTMLElement} root
 * @param {string} question
 * @param {string} title
 * @param {import("./state.js").Store} store
 */
async function showStacks(root, question, title, store) {
  root.dataset.asked = question;
  try {
    const answer = await get("page_stacks", question);
    if (root.dataset.asked !== question) return;
    const total = { bytes: answer.total_bytes, blocks: answer.blocks.reduce((sum, n) => sum + n, 0) };
    root.replaceChildren(element("h3", {}, title), stackTable({ ...answer, total }, store));
  } catch (e) {
    root.replaceChildren(element("p", { class: "error" }, `${/** @type {Error} */ (e).message}.`));
  }
}
