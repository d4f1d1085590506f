// The page in one file, opened from the disk: what is in it is shown, what is not is said, nothing is asked of anybody.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open, reload, click, drag, events } = browser;
const hash = () => run("location.hash");
const isTotal = (text) => until(`document.getElementById("total").textContent.startsWith(${JSON.stringify(text)})`);
const button = (text) => run(`[...document.querySelectorAll("button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
const choose = (name, value) =>
  run(`{ const f = document.querySelector('[name="${name}"]'); f.value = ${JSON.stringify(value)}; f.dispatchEvent(new Event("change")); }`);
const isDisabled = (selector) => run(`document.querySelector(${JSON.stringify(selector)}).disabled`);
const rows = (n) => until(`document.querySelectorAll("#view tbody tr").length === ${n}`);
const box = (id) => run(`(({ x, y, width, height }) => ({ x, y, width, height }))(document.getElementById("${id}").getBoundingClientRect())`);

try {
  await open(address);
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms");
  assert.equal(await run(`document.getElementById("program").textContent`), "./app <script>alert(1)</script>");
  await until(`!document.getElementById("findings").textContent.includes("Reading")`);
  assert.match(await run(`document.getElementById("file").textContent`), /^This page is one file with the views of .*run\.hst/);

  // Each view, of what was allocated.
  await choose("show", "allocated");
  await isTotal("14.2 KiB in 5 blocks");
  await button("Functions");
  await rows(6);
  await button("Stacks");
  await until(`document.querySelector("#view").textContent.includes("<script>alert(1)</script> ← main")`);
  await button("Sizes");
  await rows(5);
  await button("Generations");
  await rows(8);
  await button("Lifetimes");
  await until(`document.getElementById("lifetimes")?.getAttribute("aria-label").endsWith("3 rows")`);
  await button("Density");
  await until(`document.getElementById("density") !== null`);
  await button("Age and size");
  await rows(3);
  await choose("bands", "threads");
  await until(`document.querySelectorAll("#bands button").length === 2`);
  await choose("bands", "");
  await button("Processes");
  await rows(2);
  await button("Threads");
  await rows(2);
  await button("Flame graph");
  await choose("tree", "callers");
  await until(`location.hash.includes("tree=callers") && document.getElementById("flame") !== null`);
  await choose("unit", "blocks");
  await isTotal("14.2 KiB in 5 blocks");
  await choose("unit", "bytes");
  await choose("tree", "callees");
  await reload();
  await isTotal("14.2 KiB in 5 blocks");

  // A box in full width is a part of the graph that is there.
  await run(`document.getElementById("flame").scrollIntoView()`);
  const flame = await box("flame");
  await click(flame.x + 5, flame.y + 2.5 * 19);
  await until(`document.querySelector("nav")?.textContent === "all ›app (pid 101) ›"`);
  await run(`document.getElementById("flame").focus()`);
  await run("history.back()");
  await until(`document.querySelector("nav")?.textContent === ""`);

  // A function, a process and a moment near the one that is pressed.
  await button("Functions");
  await rows(6);
  await button("callers");
  await until(`document.getElementById("chips").textContent === "Focus on load ×"`);
  await button("Focus on load ×");
  await choose("tree", "callees");
  await choose("process", "0");
  await isTotal("4.46 KiB in 4 blocks");
  await choose("process", "");
  await run("scrollTo(0, 0)");
  const timeline = await box("timeline");
  const at = (ms) => timeline.x + (timeline.width * ms) / 10;
  await click(at(4.5), timeline.y + 40);
  await isTotal("13.2 KiB in 3 blocks live at 4.38 ms");

  // What is not in it cannot be chosen, and that is said.
  const before = await hash();
  await drag(at(2.5), at(7.5), timeline.y + 40);
  await until(`document.getElementById("missing-answer").textContent.startsWith("Not shown: this file does not have it; \`heapscribe view ")`);
  assert.equal(await hash(), before);
  await choose("show", "allocated");
  await until(`document.getElementById("missing-answer").hidden`);
  for (const field of ['[name="with"]', '[name="without"]', 'option[value="freed"]']) assert.ok(await isDisabled(field), field);
  assert.ok(!(await isDisabled('[name="search"]')));
  await page("Page.navigate", { url: `${address}#from=7` });
  await until(`document.getElementById("view").textContent.startsWith("This cannot be shown: this file does not have it")`);

  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
  const asked = events.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url);
  assert.deepEqual([...new Set(asked.map((url) => url.split("#")[0]))], [address]);
} catch (e) {
  console.error(await run(`document.getElementById("total").textContent`).catch(() => ""), await hash().catch(() => ""));
  throw e;
} finally {
  await browser.end();
}
