// The page in a real browser, on the recording of `tests/it/recording.rs`: each view, dragging, filters, the back button,
// a name that is markup, roles, no message on the console, no request to anybody else.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";
import { checkModules } from "./modules.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open, reload, click, drag, press, events } = browser;
const total = () => run(`document.getElementById("total").textContent`);
const hash = () => run("location.hash");
const box = (id) => run(`(({ x, y, width, height }) => ({ x, y, width, height }))(document.getElementById("${id}").getBoundingClientRect())`);
const isTotal = (text) => until(`document.getElementById("total").textContent.startsWith(${JSON.stringify(text)})`);
const button = (text) => run(`[...document.querySelectorAll("button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
const choose = (name, value) =>
  run(`{ const f = document.querySelector('[name="${name}"]'); f.value = ${JSON.stringify(value)}; f.dispatchEvent(new Event("change")); }`);

try {
  await open(address);
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms");
  await until(`!document.getElementById("findings").textContent.includes("Reading")`);
  assert.equal(await run(`document.getElementById("program").textContent`), "./app <script>alert(1)</script>");

  await checkModules(run, address);

  // A range is dragged: half of the timeline, from 2.5 to 7.5 ms.
  const timeline = await box("timeline");
  const at = (ms) => timeline.x + (timeline.width * ms) / 10;
  await drag(at(2.5), at(7.5), timeline.y + 40);
  await isTotal("564 B in 2 blocks");
  const dragged = await hash();
  assert.match(dragged, /show=allocated/);
  const state = new URLSearchParams(dragged.slice(1));
  assert.ok(Math.abs(state.get("from") - 2.5e6) < 3e4 && Math.abs(state.get("to") - 7.5e6) < 3e4, dragged);

  // The same range, another question; and back to the one before, twice.
  await choose("show", "freed");
  await isTotal("3.91 KiB in 2 blocks");
  await run("history.back()");
  await isTotal("564 B in 2 blocks");
  await run("history.back()");
  await isTotal("13.7 KiB in 3 blocks");
  await run("history.forward()");
  await isTotal("564 B in 2 blocks");

  // An address is all that there is to a state.
  await reload();
  await isTotal("564 B in 2 blocks");
  assert.equal(await hash(), dragged);

  // Keys on the timeline: the range goes, the cursor comes.
  await until(`document.getElementById("timeline").getAttribute("aria-label") !== null`);

  // What a step was, under the pointer.
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: at(2.05), y: timeline.y + 60 });
  await until(`/^2\\.0\\d ms: up to 13\\.7 KiB live, .* allocated, 0 blocks of 0 B freed$/.test(document.getElementById("tooltip").textContent)`);
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: 5, y: 5 });
  await until(`document.getElementById("tooltip").hidden`);

  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");
  await isTotal("14.2 KiB in 5 blocks");
  await click(at(4.5), timeline.y + 40);
  await isTotal("13.2 KiB in 3 blocks live at 4.5");
  await press("+");
  await until(`location.hash.includes("zoom=")`);
  const zoom = new URLSearchParams((await hash()).slice(1)).get("zoom");
  // Steps are finer then.
  await until(`document.getElementById("timeline-status").textContent.endsWith("in this step of 5.00 us")`);
  const wheel = { type: "mouseWheel", x: at(4.5), y: timeline.y + 40, deltaX: 0, deltaY: -100 };
  await page("Input.dispatchMouseEvent", { ...wheel, modifiers: 2 });
  await until(`!location.hash.includes("zoom=${zoom}")`);
  await press("0");
  await until(`!location.hash.includes("zoom=")`);

  // A press on the lane of a process chooses it, and another lets it go.
  const lanes = await box("lanes");
  await click(lanes.x + 50, lanes.y + 30);
  await until(`location.hash.includes("process=0")`);
  await click(lanes.x + 50, lanes.y + 30);
  await until(`!location.hash.includes("process=")`);

  // Of a process, by a part of a name, in the table; a function in focus.
  await choose("show", "allocated");
  await choose("process", "0");
  await isTotal("4.46 KiB in 4 blocks");
  await choose("with", "SCRIPT");
  await isTotal("64 B in 1 block");
  await button("Functions");
  await until(`document.querySelector("#view table td .name")?.textContent === "<script>alert(1)</script>"`);
  await button("Stacks");
  await until(`document.querySelector("#view summary")?.textContent.startsWith("<script>alert(1)</script> ← main")`);
  await choose("with", "no such function");
  await until(`document.querySelector("#view td")?.textContent === "There are no such blocks."`);
  await choose("with", "");
  await button("Sizes");
  await until(`document.querySelectorAll("#view tbody tr").length === 4`);
  await button("Functions");
  await until(`document.querySelectorAll("#view tbody tr").length === 5`);
  await button("Generations");
  await until(`document.querySelectorAll("#view tbody tr").length === 8`);
  await button("64 B");
  await isTotal("64 B in 1 block");
  await until(`location.hash.includes("from=5000000&to=6250000")`);
  await run("history.back()");
  await button("Processes");
  await until(`document.querySelector("#view tbody")?.innerText.replace(/\\s+/g, " ").includes("app 101 0 ns 9.00 ms 9.77 KiB 0 B")`);
  await button("Threads");
  await until(`document.querySelector("#view tbody button")?.textContent === "<b>"`);
  await button("<b>");
  await isTotal("9.77 KiB in 1 block, of one thread");
  await run("history.back()");
  await button("Functions");
  await until(`document.querySelectorAll("#view tbody tr").length === 5`);
  await button("callers");
  await until(`location.hash.includes("tree=callers") && location.hash.includes("focus=")`);
  await button("Reset");

  // Boxes: a click draws one in full width, Backspace goes out again, the tooltip has the name as text.
  await choose("tree", "callees");
  await isTotal("14.2 KiB in 5 blocks");
  await until(`document.getElementById("flame") !== null`);
  await run(`document.getElementById("flame").scrollIntoView()`);
  const flame = await box("flame");
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: flame.x + flame.width - 3, y: flame.y + 3.5 * 19 });
  await until(`!document.getElementById("tooltip").hidden`);
  await click(flame.x + 5, flame.y + 1.5 * 19);
  await until(`location.hash.includes("path=")`);
  await until(`document.querySelector("nav button")?.textContent === "all ›"`);
  await run(`document.getElementById("flame").focus()`);
  await press("ArrowDown");
  await until(`document.getElementById("flame-status").textContent.startsWith("main in app.c: 9.77 KiB in 1 block")`);
  await press("Backspace");
  await until(`!location.hash.includes("path=")`);

  // Boxes are drawn otherwise: without a function, a library as one box, and as they were again. Figures stay.
  const chips = () => run(`document.getElementById("chips").textContent`);
  await until(`document.querySelector("#view nav").childElementCount === 0`);
  await press("ArrowDown");
  await until(`document.getElementById("flame-status").textContent.startsWith("main in app.c")`);
  await button("Hide");
  await until(`document.getElementById("chips").textContent === "Without boxes of main ×"`);
  await isTotal("14.2 KiB in 5 blocks");
  await run(`document.getElementById("flame").focus()`);
  await press("ArrowDown");
  await until(`document.getElementById("flame-status").textContent.startsWith("load in app.c")`);
  await press("h");
  await until(`document.getElementById("chips").textContent === "Without boxes of main ×Without boxes of load ×"`);
  await run(`document.querySelector("#chips button").click()`);
  await until(`document.getElementById("chips").textContent === "Without boxes of load ×"`);
  await button("Merge recursion");
  await until(`document.getElementById("chips").textContent.endsWith("Recursion merged ×")`);
  await button("Reset");
  await until(`document.getElementById("chips").textContent === ""`);
  assert.equal(await chips(), "");
  await choose("with", "/^(load|parse)$/");
  await isTotal("14.2 KiB in 4 blocks");
  await choose("with", "/(/");
  await until(`document.getElementById("view").textContent.includes("is no regular expression: unclosed group")`);
  await button("Reset");
  await isTotal("14.2 KiB in 5 blocks");

  // A second range is compared with the first, a moment with another.
  await drag(at(5), at(9), timeline.y + 40);
  await isTotal("64 B in 1 block");
  await drag(at(1.5), at(4.5), timeline.y + 40, 8);
  await isTotal("64 B in 1 block, −13.1 KiB from 13.2 KiB");
  await until(`document.getElementById("chips").textContent.startsWith("Compared with 1.49 ms to 4.")`);
  await until(`document.getElementById("range").textContent.startsWith("Range: 5.00")`);
  await button("Differences");
  await until(`/^−10\\.3 KiB gone 10\\.3 KiB 0 B −10\\.3 KiB load/.test(document.querySelector("#view tbody").innerText.replace(/\\s+/g, " "))`);
  await button("load");
  await until(`location.hash.includes("focus=") && document.getElementById("chips").textContent.includes("Focus on load")`);
  await run("history.back()");
  await run("history.back()");
  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");
  await click(at(2.5), timeline.y + 40);
  await click(at(4.5), timeline.y + 40, 8);
  await isTotal("13.7 KiB in 3 blocks live at 2.50 ms, +500 B from 13.2 KiB");
  await run(`document.querySelector("#chips button").click()`);
  await until(`document.getElementById("chips").textContent === ""`);

  // Births in one range, frees in another: of the three blocks that were allocated from 1.5 to 4.5 ms, and of the two that
  // were freed from 2.5 to 6 ms, one is both.
  await drag(at(1.5), at(4.5), timeline.y + 40);
  await isTotal("13.2 KiB in 3 blocks");
  await run(`document.getElementById("births").click()`);
  await until(`/^12\\.7 KiB in 2 blocks, of what was allocated from 1\\.\\d\\d ms to 4\\.\\d\\d ms$/.test(document.getElementById("total").textContent)`);
  await drag(at(2.5), at(6), timeline.y + 40);
  await until(`document.getElementById("total").textContent.startsWith("2.93 KiB in 1 block, of what was allocated from")`);
  assert.match(await hash(), /show=freed.*born=1\d+\.4\d+/);
  assert.match(await run(`document.getElementById("chips").textContent`), /^Allocated from 1\.\d\d ms to 4\.\d\d ms ×$/);
  await run(`document.querySelector("#chips button").click()`);
  await isTotal("3.91 KiB in 2 blocks");
  await until(`document.getElementById("chips").textContent === ""`);

  // The map of lifetimes: never freed, 3 ms and 1 ms; a press on a cell leads to its stacks.
  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");
  await button("Lifetimes");
  await until(`document.getElementById("lifetimes")?.getAttribute("aria-label").endsWith("3 rows")`);
  await run(`document.getElementById("lifetimes").scrollIntoView({ block: "end" })`);
  const map = await box("lifetimes");
  const column = (ms) => map.x + (map.width * (ms - 0.03)) / 10;
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: column(2), y: map.y + 27 });
  await until(`/^Allocated from 1\\.9\\d* ms to 2\\.0\\d* ms, lived 3 ms to 10 ms: 12\\.7 KiB$/.test(document.getElementById("tooltip").textContent)`);
  await click(column(1), map.y + 45);
  await isTotal("1,000 B in 1 block, of these lifetimes");
  await until(`document.getElementById("chips").textContent === "Lived 1.00 ms to 3.00 ms ×"`);
  await run("history.back()");
  await until(`document.getElementById("lifetimes")?.clientWidth > 0`);
  await run(`document.getElementById("lifetimes").scrollIntoView({ block: "end" })`);
  const again = await box("lifetimes");
  await drag(column(1.2), column(7), again.y + 9);
  await isTotal("564 B in 2 blocks");
  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");

  // The map of density: cells of 2 us in 101 columns; those of what is freed; a drag leads to the stacks of that time.
  await button("Density");
  await until(`document.getElementById("density")?.getAttribute("aria-label") === "What was allocated over time, 101 columns of 50 cells"`);
  await run(`document.getElementById("density").scrollIntoView({ block: "end" })`);
  const dense = await box("density");
  const foot = (ms) => dense.x + ((ms * 10 + 0.5) / 101) * dense.width;
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: foot(2), y: dense.y + 247 });
  await until(`document.getElementById("tooltip").textContent === "Allocated from 2.000 ms to 2.002 ms: 12.7 KiB"`);
  await drag(foot(2), foot(4), dense.y + 247);
  await isTotal("13.2 KiB in 3 blocks");
  assert.match(await hash(), /show=allocated.*&from=2000000&to=4002000/);
  await button("Density");
  await choose("show", "freed");
  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");
  await until(`document.getElementById("density")?.getAttribute("aria-label") === "What was freed over time, 101 columns of 50 cells"`);
  await run(`document.getElementById("density").focus()`);
  for (let n = 0; n < 30; n += 1) await press("ArrowRight");
  await until(`document.getElementById("density-status").textContent === "Freed from 3.000 ms to 3.002 ms: 1,000 B"`);
  await press("Enter");
  await isTotal("1,000 B in 1 block");
  await button("Reset");
  await run(`document.getElementById("timeline").focus()`);
  await press("Escape");

  // What lives long and is large: a cell leads to its stacks; the least size and age are fields.
  await choose("show", "live");
  await run(`document.getElementById("to-peak").click()`);
  await button("Age and size");
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms");
  await until(`document.querySelectorAll("#view tbody tr").length === 3`);
  await until(`document.getElementById("long-lived").textContent === "No block of 64.0 KiB or more lived for half of its process's life or longer."`);
  assert.match(await run(`document.querySelector("#view tbody tr").innerText.replace(/\\s+/g, " ")`), /^8\.00 KiB to 16\.0 KiB 9\.77 KiB 71\.4 %$/);
  await button("1,000 B");
  await isTotal("1,000 B in 1 block live at 2.00 ms, of what was allocated in the range, of one class of sizes");
  await run("history.back()");
  await button("Flame graph");
  await choose("older", "1000000");
  await isTotal("1,000 B in 1 block live at 2.00 ms, at least 1.00 ms old");
  await choose("older", "");
  await choose("larger", "1024");
  await isTotal("12.7 KiB in 2 blocks live at 2.00 ms, of at least 1.00 KiB each");
  assert.match(await hash(), /larger=1024/);
  await choose("larger", "");

  // Bands of threads and of processes in the timeline: their names choose them, and they are in the address.
  await choose("bands", "threads");
  await until(`document.getElementById("bands").textContent === "<b> (tid 100) of app (pid 101)<b> (tid 100) of app (pid 100)"`);
  assert.match(await hash(), /bands=threads/);
  await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: at(2.05), y: timeline.y + 60 });
  await until(`document.getElementById("tooltip").textContent.includes("of app (pid 101) 9.77 KiB, <b> (tid 100) of app (pid 100) 3.91 KiB")`);
  await choose("bands", "processes");
  await until(`document.getElementById("bands").textContent === "app (pid 101)app (pid 100)"`);
  await button("app (pid 101)");
  await isTotal("9.77 KiB in 1 block live at 2.00 ms");
  await button("Reset");
  await choose("bands", "");
  await until(`document.getElementById("bands").hidden`);

  // What rounding adds is said to be unknown where the heap is not glibc's.
  await button("Sizes");
  await until(`document.getElementById("rounding").textContent.startsWith("What rounding adds is not known here")`);
  await button("Flame graph");

  // What a screen reader is told.
  const { nodes } = await page("Accessibility.getFullAXTree");
  const roles = new Set(nodes.map((node) => node.role?.value));
  for (const role of ["main", "heading", "tablist", "tab", "tabpanel", "image", "combobox", "searchbox"]) {
    assert.ok(roles.has(role), `no ${role} in ${[...roles]}`);
  }

  // Without JavaScript there is a sentence that says what to do, and nothing else.
  await page("Emulation.setScriptExecutionDisabled", { value: true });
  await page("Page.reload");
  const isSaid = async () => JSON.stringify((await page("Accessibility.getFullAXTree")).nodes.map((node) => node.name?.value)).includes("This page needs JavaScript. Without it, ");
  for (const end = Date.now() + 60_000; !(await isSaid()) && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(await isSaid());
  await page("Emulation.setScriptExecutionDisabled", { value: false });
  await reload();
  await until(`!document.getElementById("findings").textContent.includes("Reading")`);

  // Nothing was run that is no file of the page, nothing was said, nobody else was asked.
  assert.equal(await run(`document.querySelectorAll("script").length`), 1);
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"].includes(method));
  // But that the question which makes no sense was refused.
  const isRefusal = ({ params }) => params.entry?.text.includes("400") && params.entry.url.includes("with=%2F%28%2F");
  assert.deepEqual(messages.filter((message) => !isRefusal(message)).map(({ params }) => params), []);
  const asked = events.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url);
  assert.deepEqual(asked.filter((url) => !url.startsWith(address)), []);
  assert.ok(asked.length > 10);
} catch (e) {
  console.error(await total().catch(() => ""), await hash().catch(() => ""));
  throw e;
} finally {
  await browser.end();
}
