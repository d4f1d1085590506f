// What rounding adds beside the histogram of sizes, of a program on glibc's heap.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { run, until, open, events } = browser;
try {
  await open(`${address}#view=sizes&show=allocated`);
  await until(`/^For 12\\.9 MiB the heap gives 12\\.9 MiB: 2\\d\\.\\d KiB \\(0\\.2 %\\) is rounding\\. Given is what malloc_usable_size/.test(document.getElementById("rounding")?.textContent ?? "")`);
  const headings = await run(`[...document.querySelectorAll("#view th")].map((heading) => heading.textContent).join("|")`);
  assert.equal(headings, "Size in bytes|Blocks|Asked for|Part|Given|Rounding|of given|");
  // Blocks of no byte have 24.
  assert.match(await run(`document.querySelector("#view tbody tr").innerText.replace(/\\s+/g, " ")`), /^0 1 0 B 0\.0 % 24 B 24 B 100\.0 %/);
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
