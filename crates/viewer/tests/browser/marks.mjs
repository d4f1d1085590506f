// Generations between marks: what was allocated, what of it stayed, and the flame graph behind each figure.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { run, until, open, events } = browser;
const button = (text) => run(`[...document.querySelectorAll("#view button, #views button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
const rows = () => run(`[...document.querySelectorAll("#view tbody tr")].map((row) => row.innerText.replace(/\\s+/g, " ").trim()).join("|")`);
const isTotal = (text) => until(`document.getElementById("total").textContent === ${JSON.stringify(text)}`);
try {
  await open(address);
  await until(`document.getElementById("view").textContent !== "Looking up names…"`);
  await button("Generations");
  await until(`document.querySelectorAll("#view tbody tr").length === 3`);
  // The section from 2 to 5 ms is none of them.
  assert.equal(await rows(), [
    "0 ns 3.50 ms (<i>loaded</i>) 3.91 KiB 2.93 KiB 0 B 0.0 %",
    "3.50 ms (<i>loaded</i>) 5.50 ms (served) 500 B 500 B 500 B 100.0 %",
    "5.50 ms (served) 10.0 ms 64 B 64 B 64 B 100.0 %",
  ].join("|"));
  // What grew between two marks is a press away: parse's block, which outlived its generation and was freed later.
  await button("2.93 KiB");
  await isTotal("2.93 KiB in 1 block");
  await until(`location.hash.includes("show=retained&from=0&to=3500000")`);
  const boxes = () => fetchFlame("show=retained&from=0&to=3500000");
  const fetchFlame = (asked) => run(`fetch("api/flame?${asked}").then((answer) => answer.json()).then(({ names, name, bytes }) => name.map((n, row) => names[n] + " " + bytes[row]).join("|"))`);
  assert.equal(await boxes(), "all 3000|main 3000|parse 3000");
  await run("history.back()");
  await until(`document.querySelectorAll("#view tbody tr").length === 3`);
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
