// Two recordings: the second is compared with the first, which can be undone and brought back.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { run, until, open, events } = browser;
const press = (text) => run(`[...document.querySelectorAll("#chips button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
const isTotal = (text) => until(`document.getElementById("total").textContent === ${JSON.stringify(text)}`);
const areChips = (text) => until(`document.getElementById("chips").textContent === ${JSON.stringify(text)}`);
try {
  await open(address);
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms, ±0 B from 13.7 KiB");
  await areChips("Compared with the first trace ×");
  await press("Compared with the first trace ×");
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms");
  await areChips("Compare with the first trace");
  await press("Compare with the first trace");
  await isTotal("13.7 KiB in 3 blocks live at 2.00 ms, ±0 B from 13.7 KiB");
  await areChips("Compared with the first trace ×");
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
