// The source of a real program: from a box and from a table to the lines that allocated, whatever stands in the file.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open, press, events } = browser;
const button = (text) => run(`[...document.querySelectorAll("button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
/** The row of the line that has this text: own, with callees, part, source. */
const row = (text) => run(`(() => {
  const cells = [...document.querySelectorAll(".source tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
  const found = cells.find((cells) => cells[4].includes(${JSON.stringify(text)}));
  return [...found.slice(0, 3), found[4].trim()];
})()`);
const isAt = (text) => until(`document.querySelector(".source tr[aria-current]")?.textContent.includes(${JSON.stringify(text)})`);
try {
  await open(`${address}#show=allocated`);
  await until(`document.getElementById("flame")?.getAttribute("aria-label") === "Flame graph" && document.getElementById("total").textContent.startsWith("119 KiB in 152 blocks")`);
  // Nothing is chosen yet.
  await button("Source");
  await until(`location.hash.includes("view=source") || location.hash.includes("function=")`);
  await run(`document.getElementById("tab-source").click()`);

  // From the table: the file of a function.
  await button("Functions");
  await until(`document.querySelectorAll("#view tbody tr").length > 4`);
  await run(`[...document.querySelectorAll("#view tbody tr")].find((row) => row.cells[4].textContent === "load").cells[5].querySelector("button").click()`);
  await isAt("make(1000);");
  assert.deepEqual(await row("make(1000);"), ["", "97.7 KiB", "81.9 %", "make(1000);"]);
  assert.deepEqual(await row("make(300);"), ["", "14.6 KiB", "12.3 %", "make(300);"]);
  assert.deepEqual(await row("make(7000);"), ["", "6.84 KiB", "5.7 %", "make(7000);"]);
  // Inlined into three places; the recursion counts once.
  assert.deepEqual(await row("kept = malloc(size);"), ["119 KiB", "119 KiB", "99.9 %", "kept = malloc(size);"]);
  assert.deepEqual(await row("parse(depth - 1);"), ["", "6.84 KiB", "5.7 %", "parse(depth - 1);"]);
  assert.deepEqual(await row("free(malloc(64));"), ["64 B", "64 B", "0.1 %", "free(malloc(64));"]);
  // The line is seen, in a part of the page that scrolls.
  await until(`(() => {
    const [room, line] = [document.querySelector(".source"), document.querySelector(".source tr[aria-current]")].map((e) => e.getBoundingClientRect());
    return room.top <= line.top && line.bottom <= room.bottom;
  })()`);
  // What is in the file is text.
  assert.equal((await row("onerror"))[3], "What the page shows of this file is text: <script>alert(1)</script> <img src=x onerror=alert(2)> */");
  assert.equal(await run(`document.querySelectorAll(".source img, .source script").length`), 0);

  // Another line, and back.
  const first = await run("location.hash");
  await run(`document.querySelector('[aria-label="Lines with most"] button:nth-child(2)').click()`);
  await until(`location.hash.includes("line=")`);
  await run("history.back()");
  await until(`location.hash === ${JSON.stringify(first)}`);

  // By blocks, and of a part of them.
  await run(`{ const f = document.querySelector('[name="unit"]'); f.value = "blocks"; f.dispatchEvent(new Event("change")); }`);
  await until(`document.querySelector(".source tbody")?.textContent.includes("151")`);
  assert.deepEqual(await row("make(300);"), ["", "50", "32.9 %", "make(300);"]);

  // From a box, by a key: an inlined function.
  await button("Flame graph");
  await until(`document.getElementById("flame")?.clientWidth > 0 && !document.querySelector("[aria-busy]")`);
  await run(`document.getElementById("flame").focus()`);
  for (let level = 0; level < 9; level += 1) await press("ArrowDown");
  await until(`document.getElementById("flame-status").textContent.startsWith("make in /")`);
  await press("s");
  await isAt("kept = malloc(size);");

  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
  const asked = events.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url);
  assert.deepEqual(asked.filter((url) => !url.startsWith(address)), []);
} finally {
  await browser.end();
}
