// The pages of a snapshot: parts of the resident memory as bars, a map whose cells lead to stacks, by mouse and by keys.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { run, until, open, click, press, events } = browser;
const stacks = `document.getElementById("page-stacks").innerText`;
try {
  await open(`${address}#view=pages`);
  await until(`document.getElementById("pages")?.getAttribute("aria-label").startsWith("Map of the heap's pages, ")`);
  const tabs = await run(`[...document.querySelectorAll("#views button")].map((tab) => tab.textContent).join("|")`);
  assert.equal(tabs, "Flame graph|Functions|Differences|Stacks|Sizes|Pages|Source");
  assert.match(await run(`document.querySelector("#view table").innerText`), /live blocks, as the program asked for them/);
  // Who keeps nearly empty pages is there at first.
  await until(`${stacks}.startsWith("Stacks whose blocks keep nearly empty pages") && ${stacks}.includes("keep")`);
  await run(`document.getElementById("pages").scrollIntoView()`);
  const box = await run(`(({ x, y }) => ({ x, y }))(document.getElementById("pages").getBoundingClientRect())`);
  await click(box.x + 4, box.y + 4);
  await until(`/^Stacks whose blocks are in /.test(${stacks})`);
  assert.match(await run(`document.getElementById("pages-status").textContent`), /^0x[0-9a-f]+, .*: .* in memory, .* live; /);
  const first = await run(`document.getElementById("pages-status").textContent`);
  await run(`document.getElementById("pages").focus()`);
  await press("ArrowRight");
  await until(`document.getElementById("pages-status").textContent !== ${JSON.stringify(first)}`);
  await run(`{ const f = document.querySelector('[name="pages"]'); f.value = "oldest"; f.dispatchEvent(new Event("change")); }`);
  await until(`location.hash.includes("pages=oldest") && document.querySelector('[name="pages"]')?.value === "oldest"`);
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
