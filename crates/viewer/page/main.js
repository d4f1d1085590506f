/** The page: what is known at once is shown at once, the rest when the server has read all events. */

import { get } from "./api.js";
import { Controls } from "./controls.js";
import { byId, element } from "./dom.js";
import { embedded, restrict } from "./embedded.js";
import { showFindings } from "./findings.js";
import { LiveView } from "./live.js";
import { blocks, bytes, count, doNotCountBlocks, duration } from "./numbers.js";
import { Store } from "./state.js";
import { TimelineView } from "./timeline_view.js";
import { Views } from "./views.js";

async function start() {
  // Without JavaScript there is only the sentence that says what to do.
  byId("main").hidden = false;
  const store = new Store();
  const summary = await get("summary");
  if (!summary.has_blocks) doNotCountBlocks();
  showProgram(summary);
  // Of two traces the second is compared with the first.
  if (summary.baseline && store.state.base === "") store.set({ base: "trace" }, { isSmall: true });
  // Of a trace of Go there may be the heap over time and nothing else.
  const hasStacks = summary.shows.length > 0;
  if (!hasStacks) byId("question-title").closest("section")?.remove();
  const controls = hasStacks ? new Controls(store, summary) : undefined;
  const views = hasStacks ? new Views(store, summary) : undefined;
  if (embedded && views) restrict(embedded, store, (state) => views.isThere(state));
  if (summary.is_live) new LiveView(() => views?.refresh());
  // The heap over time is known long before all events were read.
  const timeline = showTime(store, views, await get("time"), summary);
  if (timeline && summary.has_messages) timeline.setMessages(await get("messages"));
  const whole = await get("whole");
  showFindings(whole, store, summary);
  showFacts(summary, whole);
  controls?.setProcesses(whole.processes);
  views?.setWhole(whole);
  timeline?.bands.setWhole(whole);
}

/**
 * @param {Store} store
 * @param {Views | undefined} views
 * @param {import("./answers.js").Time} time
 * @param {import("./answers.js").Summary} summary
 */
function showTime(store, views, time, summary) {
  // A snapshot has no time.
  const hasTime = time.duration_ns > 0 && time.timeline.heap_max_bytes.length > 0;
  const timeline = hasTime ? new TimelineView(store, time, summary) : undefined;
  if (!timeline) byId("timeline-title").closest("section")?.remove();
  views?.setTime(time);
  return timeline;
}

/** @param {import("./answers.js").Summary} summary */
function showProgram(summary) {
  const command = summary.command.join(" ") || summary.trace;
  byId("program").textContent = command;
  document.title = `${command} - heapscribe`;
  showFacts(summary, undefined);
}

/**
 * @param {import("./answers.js").Summary} summary
 * @param {import("./answers.js").Whole | undefined} whole
 */
function showFacts(summary, whole) {
  // It has only what is live.
  const [isCurve, isSnapshot] = [summary.shows.length === 0, summary.shows.length === 1];
  const isWhole = !isCurve && !isSnapshot;
  const begun = summary.begin_real_ns > 0 ? new Date(summary.begin_real_ns / 1e6).toLocaleString() : "";
  const facts = [
    summary.trace,
    summary.baseline && `compared with ${summary.baseline}`,
    summary.host && `on ${summary.host}`,
    begun,
    summary.duration_ns && duration(summary.duration_ns),
    summary.processes > 1 && `${count(summary.processes)} processes`,
    whole && isCurve && `peak ${bytes(whole.peak.bytes)}, ${bytes(whole.left.bytes)} at the end`,
    whole && isSnapshot && `${bytes(whole.left.bytes)} in ${blocks(whole.left.blocks)} live`,
    whole && isWhole && `${whole.is_ring ? "peak in the ring" : "peak"} ${bytes(whole.peak.bytes)} in ${blocks(whole.peak.blocks)}`,
    whole && isWhole && `never freed ${bytes(whole.left.bytes)} in ${blocks(whole.left.blocks)}`,
    whole && isWhole && `${count(whole.allocations)} allocations of ${bytes(whole.allocated_bytes)}`,
    whole?.is_estimated && "estimated from samples",
  ];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
}

start().catch((e) => {
  const why = `The page cannot be shown: ${e.message}. ${embedded ? "" : "Is the server still there?"}`;
  byId("findings").replaceChildren(element("p", { class: "error" }, why));
});
