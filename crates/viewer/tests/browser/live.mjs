// The page on a process that runs: it looks again by itself, stops and starts the recording, and says what was refused.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open, events } = browser;
const press = (text) => run(`[...document.querySelectorAll("button")].find((b) => b.textContent === ${JSON.stringify(text)}).click()`);
const says = (text) => until(`document.getElementById("live").textContent.includes(${JSON.stringify(text)})`);
try {
  await open(address);
  await says("records every block");
  await until(`/ in [\\d,]+ blocks live$/.test(document.getElementById("total").textContent)`);
  // Two more looks come by themselves.
  const looks = `Number(/ at (\\d+) looks/.exec(document.getElementById("live-curve").getAttribute("aria-label"))?.[1])`;
  const before = await run(looks);
  await until(`${looks} >= ${before} + 2`);
  await press("Stop recording");
  await says("records no new blocks");
  await press("Start recording");
  await says("records every block");
  await press("Set mark");
  await says("the mark has no name");
  await run(`document.querySelector("#live input").value = "<b>warm</b>"`);
  await press("Set mark");
  await until(`!document.getElementById("live").textContent.includes("the mark has no name")`);
  const isRefusal = ({ params }) => params.entry?.text.includes("400");
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(method));
  assert.deepEqual(messages.filter((message) => !isRefusal(message)).map(({ params }) => params), []);
} finally {
  await browser.end();
}
