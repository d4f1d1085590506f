/**
 * What is looked at, as it stands in the address behind `#`: reloading, going back and bookmarks all lead to it.
 */

/**
 * @typedef {object} State
 * @property {string} show which blocks: live, allocated, freed, retained, within, left
 * @property {string} at the moment of live blocks: ns from the start, or peak
 * @property {string} from begin of the range, ns; "" for that of the recording
 * @property {string} to end of the range, ns
 * @property {string} born of what was freed in the range: when it was allocated, two moments with a dot between
 * @property {string} process index of a process; "" for all
 * @property {string} thread number of a thread of this process
 * @property {string} size a size that stands for its class
 * @property {string} larger the least size of blocks, a power of two
 * @property {string} older the least age of live blocks, ns
 * @property {string} age how long blocks lived that were freed: two times in ns with a dot between
 * @property {string} with part of the name of a function
 * @property {string} without
 * @property {string} unit bytes or blocks
 * @property {string} tree callees or callers
 * @property {string} focus number of a function
 * @property {string} path numbers of functions, with dots between
 * @property {string} base what is compared with: two moments with a dot between, one moment, trace, or "" for nothing
 * @property {string} hide numbers of functions that have no boxes, with dots between
 * @property {string} collapse numbers of libraries that are one box
 * @property {string} recursion merged, or "" where each call has its box
 * @property {string} function number of the function whose source is shown
 * @property {string} line the line that it is shown around; "" for the one that has most
 * @property {string} order own or total: of the table of functions
 * @property {string} view flame, functions, changes, stacks, sizes, generations, held, lifetimes, density, pages, source, processes, threads
 * @property {string} search part of the names that are marked
 * @property {string} lines "heap" for the heap alone in the timeline, "" for resident memory, too
 * @property {string} bands processes, threads, or "" for none: by what the heap in the timeline is told apart
 * @property {string} pages oldest or youngest: what the map of pages is shaded by; "" for live bytes
 * @property {string} zoom what the timeline shows: two moments, with a - between; "" for all
 */

/** @type {State} */
export const DEFAULTS = Object.freeze({
  show: "live",
  at: "peak",
  from: "",
  to: "",
  born: "",
  process: "",
  thread: "",
  size: "",
  larger: "",
  older: "",
  age: "",
  with: "",
  without: "",
  unit: "bytes",
  tree: "callees",
  focus: "",
  path: "",
  base: "",
  hide: "",
  collapse: "",
  recursion: "",
  function: "",
  line: "",
  order: "own",
  view: "flame",
  search: "",
  lines: "",
  bands: "",
  pages: "",
  zoom: "",
});

/** What figures depend on. */
const FIGURES = /** @type {const} */ (["show", "at", "from", "to", "born", "process", "thread", "size", "larger", "older", "age", "with", "without", "unit"]);
/** How calls are drawn otherwise than they were made. */
const SHAPE = /** @type {(keyof State)[]} */ (["hide", "collapse", "recursion"]);
/** What else each view depends on. */
const OF_VIEW = /** @type {Record<string, (keyof State)[]>} */ ({
  flame: ["tree", "focus", "path", "base", ...SHAPE],
  functions: ["order", ...SHAPE],
  changes: ["base", ...SHAPE],
  stacks: SHAPE,
  sizes: [],
  rounding: [],
  generations: [],
  held: [],
  pages: [],
  lifetimes: [],
  density: [],
  source: ["function", "line"],
  processes: [],
  threads: [],
});

/** What a view has all of: its rows and columns. */
const NOT_OF_VIEW = /** @type {Record<string, (keyof State)[]>} */ ({
  lifetimes: ["age", "older"],
  density: ["at", "born", "age", "older"],
  held: ["show", "born", "size", "larger", "older", "age", "unit"],
});

/**
 * Reads the part of an address behind `#`. What is unknown is left out.
 * @param {string} hash
 * @returns {State}
 */
export function parse(hash) {
  const state = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (Object.hasOwn(state, name)) state[/** @type {keyof State} */ (name)] = value;
  }
  return state;
}

/**
 * Writes it, without what is as it always is.
 * @param {State} state
 */
export function format(state) {
  const names = /** @type {(keyof State)[]} */ (Object.keys(DEFAULTS));
  const changed = names.filter((name) => state[name] !== DEFAULTS[name]);
  return new URLSearchParams(changed.map((name) => [name, state[name]])).toString();
}

/**
 * The question of a view, for the server.
 * @param {State} state
 * @param {string} view
 */
export function question(state, view) {
  const left = NOT_OF_VIEW[view] ?? [];
  // Only what is live has an age; only of what was freed the range does not say when it was allocated.
  const isOfAnother = (/** @type {keyof State} */ name) => (name === "older" && state.show !== "live") || (name === "born" && state.show !== "freed");
  const isAsked = (/** @type {keyof State} */ name) => state[name] !== "" && !left.includes(name) && !isOfAnother(name);
  const names = [...FIGURES, ...OF_VIEW[view]].filter(isAsked);
  return new URLSearchParams(names.map((name) => [name, state[name]])).toString();
}

/**
 * What figures are counted in.
 * @param {Store} store
 */
export function unitOf(store) {
  return store.state.unit === "blocks" ? "blocks" : "bytes";
}

/** The state, and who wants to know of its changes. */
export class Store {
  /** @type {((state: State) => void)[]} */
  #listeners = [];
  /** @type {(state: State) => boolean} */
  #isThere = () => true;
  /** @type {(isThere: boolean) => void} */
  #say = () => {};

  constructor() {
    this.state = parse(location.hash);
    addEventListener("popstate", () => {
      this.state = parse(location.hash);
      this.#tell();
    });
  }

  /**
   * Has states only be chosen that can be shown; `say` is told of each choice whether it can.
   * @param {(state: State) => boolean} isThere
   * @param {(isThere: boolean) => void} say
   */
  restrict(isThere, say) {
    this.#isThere = isThere;
    this.#say = say;
    this.#tell();
  }

  /**
   * Whether it can be chosen.
   * @param {Partial<State>} change
   */
  allows(change) {
    return this.#isThere({ ...this.state, ...change });
  }

  /** @param {(state: State) => void} listener */
  listen(listener) {
    this.#listeners.push(listener);
  }

  /**
   * Changes some of it. A step that "back" is to undo gets an address of its own; one of many small ones does not.
   * @param {Partial<State>} change
   * @param {{ isSmall?: boolean }} how
   */
  set(change, { isSmall = false } = {}) {
    const next = { ...this.state, ...change };
    if (format(next) === format(this.state)) return;
    const isThere = this.#isThere(next);
    this.#say(isThere);
    if (!isThere) return;
    this.state = next;
    const address = `#${format(next)}`;
    if (isSmall) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener(this.state);
  }
}
