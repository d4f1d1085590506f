/** The command that prints what the page shows. */

/** @typedef {import("./state.js").State} State */

/**
 * A word as a shell takes it.
 * @param {string} word
 */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The command; "" where there is none that prints the same.
 * @param {State} state
 * @param {string} trace
 * @param {number[]} pids by index of a process
 */
export function command(state, trace, pids) {
  const isFiltered = state.with !== "" || state.without !== "" || state.focus !== "" || state.path !== "";
  if (isFiltered || state.tree === "callers") return "";
  const range = [
    ...(state.from === "" ? [] : ["--from", `${state.from}ns`]),
    ...(state.to === "" ? [] : ["--to", `${state.to}ns`]),
  ];
  const metric = { allocated: state.unit === "blocks" ? "count" : "allocated", retained: "leaked" }[state.show];
  const isLive = state.show === "live" && state.unit === "bytes";
  const what = isLive ? ["--live-at", state.at === "peak" ? "peak" : `${state.at}ns`] : metric ? ["--metric", metric] : undefined;
  if (!what || (metric === "leaked" && state.unit === "blocks")) return "";
  const pid = state.process === "" ? [] : ["--pid", String(pids[Number(state.process)])];
  return ["heapscribe", "flame", trace, ...what, ...range, ...pid, "-o", "flame.svg"].map(quoted).join(" ");
}
