/** The command that prints what the page shows. */

/** @typedef {import("./state.js").State} State */

/**
 * What a command has to know of the recording.
 * @typedef {object} Recording
 * @property {string} trace its path
 * @property {number | null} duration_ns none of what has no times
 * @property {boolean} is_live whether it is a look at a process that runs, and is something else a moment later
 * @property {number[]} pids by index of a process
 */

/**
 * A word as a shell takes it.
 * @param {string} word
 */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The command; "" where there is none that draws exactly the same.
 * @param {State} state
 * @param {Recording} recording
 */
export function command(state, recording) {
  const isPart = state.thread !== "" || state.size !== "" || state.larger !== "" || state.older !== "" || state.age !== "" || state.with !== "" || state.without !== "" || state.focus !== "" || state.path !== "" || state.base !== "" || state.hide !== "" || state.collapse !== "" || state.recursion !== "";
  const blocks = recording.is_live || isPart || state.tree === "callers" ? undefined : flags(state, recording);
  if (!blocks) return "";
  const pid = state.process === "" ? [] : ["--pid", String(recording.pids[Number(state.process)])];
  return ["heapscribe", "flame", recording.trace, ...blocks, ...pid, "-o", "flame.svg"].map(quoted).join(" ");
}

/**
 * A range as an argument.
 * @param {string} from ns, or "" for the begin
 * @param {string} to ns, or "" for the end
 */
function between(from, to) {
  return `${from || 0}ns..${to === "" ? "100%" : `${to}ns`}`;
}

/**
 * The flags that choose these blocks, if there are any.
 * @param {State} state
 * @param {Recording} recording
 */
function flags(state, { duration_ns: duration }) {
  // The end of the recording is a part of it, and not the first moment that is none.
  const to = state.to !== "" && Number(state.to) >= (duration ?? 0) ? "" : state.to;
  const range = [...(state.from === "" ? [] : ["--from", `${state.from}ns`]), ...(to === "" ? [] : ["--to", `${to}ns`])];
  const isBlocks = state.unit === "blocks";
  switch (state.show) {
    case "live":
      if (isBlocks) return undefined;
      return state.at === "peak" && range.length === 0 ? [] : ["--live-at", state.at === "peak" ? "peak" : `${state.at}ns`, ...range];
    case "allocated":
      return ["--metric", isBlocks ? "count" : "allocated", ...range];
    case "retained":
      return isBlocks ? undefined : ["--metric", "leaked", ...range];
    case "left":
      return isBlocks || range.length > 0 ? undefined : ["--metric", "leaked"];
    case "freed":
    case "within": {
      const freed = between(state.from, to);
      const born = state.show === "within" ? freed : state.born === "" ? "" : between(.../** @type {[string, string]} */ (state.born.split(".")));
      return ["--metric", isBlocks ? "count" : "allocated", ...(born === "" ? [] : ["--born-in", born]), "--freed-in", freed];
    }
    default:
      return undefined;
  }
}
