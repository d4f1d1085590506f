// How long a person waits: from what is done to the picture that answers it, and what the browser needs meanwhile.
//
//   node latency.mjs chromium PROFILE ADDRESS [TIMES [quick]]
//
// Prints a table of medians of TIMES (20) measurements; the machine's load stands beside them. `quick` does not wait for
// findings, for which all events are read: of a very large trace they take minutes.
import { readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { chromium } from "./chromium.mjs";

const [binary, profile, address, times = "20", how = ""] = process.argv.slice(2);
const isQuick = how === "quick";
const browser = await chromium(binary, profile);
const { page, run, until, open, drag, click } = browser;

/** In the page: resolves when nothing is asked any more, and what came is drawn. */
const SETTLED = `new Promise((resolve) => {
  const look = () => (document.getElementById("view").hasAttribute("aria-busy") ? setTimeout(look, 1) : requestAnimationFrame(() => requestAnimationFrame(resolve)));
  look();
})`;
const box = (id) => run(`(({ x, y, width }) => ({ x, y, width }))(document.getElementById("${id}").getBoundingClientRect())`);
const set = (name, value) => run(`{ const f = document.querySelector('[name="${name}"]'); f.value = ${JSON.stringify(value)}; f.dispatchEvent(new Event("change")); }`);
const tab = (view) => run(`document.getElementById("tab-${view}").click()`);

/**
 * Measures something so many times, in ms by the clock; what is done is different each time, so that no answer is known.
 * What is done before it each time is not measured.
 */
async function measure(name, act, count = Number(times), before = undefined) {
  const all = [];
  for (let n = 0; n < count; n += 1) {
    if (before) {
      await before(n);
      await run(SETTLED);
    }
    const begin = performance.now();
    await act(n);
    await run(SETTLED);
    all.push(performance.now() - begin);
  }
  all.sort((a, b) => a - b);
  const at = (part) => all[Math.min(all.length - 1, Math.floor(all.length * part))].toFixed(0);
  console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${loadavg()[0].toFixed(0)} |`);
}

/** Resident memory of the browser's processes that draw, MB. */
async function residentMb() {
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  const sizes = processInfo.filter(({ type }) => type === "renderer").map(async ({ id }) => {
    const status = await readFile(`/proc/${id}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) / 1000;
  });
  return Math.max(...(await Promise.all(sizes)));
}

try {
  console.log("| what | median, ms | 95 % | worst | load |\n|---|--:|--:|--:|--:|");
  const isShown = `document.getElementById("total").textContent.includes(" in ") && document.getElementById("timeline")?.getAttribute("aria-label") !== null`;
  const first = async () => {
    await open(address);
    await until(isShown);
  };
  await measure("first page of a server that has just started", first, 1);
  if (!isQuick) await until(`!document.getElementById("findings").textContent.includes("Reading")`, 1800);
  await measure("first page", first, 5);
  await run("scrollTo(0, 0)");
  const timeline = await box("timeline");
  const at = (part) => timeline.x + timeline.width * part;
  const y = timeline.y + 40;
  await measure("set the cursor", (n) => click(at(0.03 + n * 0.045), y));
  await measure("drag a range", (n) => drag(at(0.01 + n * 0.021), at(0.3 + n * 0.03), y));
  await measure("a range to compare with", (n) => drag(at(0.02 + n * 0.01), at(0.1 + n * 0.02), y, 8));
  await run(`document.querySelector("#chips button").click()`);
  await run(SETTLED);
  const shows = ["freed", "retained", "within", "left", "allocated"];
  await measure("other blocks of the range", (n) => set("show", shows[n % shows.length]));
  await measure("filter by name", (n) => set("with", "abcdefghijklmnopqrst"[n % 20]));
  await set("with", "");
  await run(SETTLED);
  const views = ["functions", "stacks", "sizes", "flame"];
  await measure("switch of view", (n) => tab(views[n % views.length]));
  await tab("flame");
  await run(SETTLED);
  const trees = ["callers", "callees"];
  await measure("callers, callees", (n) => set("tree", trees[n % 2]));
  const ofRange = (name, from, to) => measure(name, () => tab(name), Number(times) / 2, async (n) => {
    await tab("flame");
    await run(SETTLED);
    await drag(at(from(n)), at(to(n)), y);
  });
  await ofRange("generations", (n) => 0.01 + n * 0.02, (n) => 0.5 + n * 0.02);
  await ofRange("density", (n) => 0.9 + n * 0.0005, () => 0.91);
  await ofRange("lifetimes", (n) => 0.1 + n * 0.005, (n) => 0.9 - n * 0.005);
  await set("with", "dict");
  await run(SETTLED);
  await measure("lifetimes of a filter", (n) => set("with", "abcdefghijklmnopqrst"[n % 20]), Number(times) / 2);
  await page("HeapProfiler.collectGarbage");
  await page("Performance.enable");
  const { metrics } = await page("Performance.getMetrics");
  const heap = metrics.find(({ name }) => name === "JSHeapUsedSize").value / 1e6;
  console.log(`\nMemory of the page: ${heap.toFixed(1)} MB of JavaScript, ${(await residentMb()).toFixed(0)} MB resident in its process.`);
} finally {
  await browser.end();
}
