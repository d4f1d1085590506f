// Messages of a log on the timeline: a lane for each channel, ticks that say what they are, names as text.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open, events } = browser;
const label = (id) => run(`document.getElementById(${JSON.stringify(id)}).getAttribute("aria-label")`);
try {
  await open(address);
  await until(`!document.getElementById("messages-of").hidden && document.getElementById("messages").clientHeight === 8 * 16 - 1`);
  assert.ok((await label("messages")).startsWith("Messages by channel: /<b>camera</b> (channel 0), 3; channel 1, 2; channel 2, 1;"), await label("messages"));
  assert.equal(await run(`document.getElementById("messages-more").textContent`), "3 more channels have fewer messages and are not drawn.");
  await run(`document.getElementById("messages").scrollIntoView({ block: "center" })`);
  const box = await run(`(({ x, y, width }) => ({ x, y, width }))(document.getElementById("messages").getBoundingClientRect())`);
  const says = async (ms, lane, text) => {
    await page("Input.dispatchMouseEvent", { type: "mouseMoved", x: box.x + (box.width * ms) / 10, y: box.y + 16 * lane + 8 });
    await until(`document.getElementById("tooltip").textContent === ${JSON.stringify(text)}`);
  };
  await says(2, 0, "/<b>camera</b> (channel 0), 3 messages from Q0 on at 2.00 ms: 288 B of frc971.Image; until the next message of any channel: 2.93 KiB in 3 allocations, 0 B freed");
  await says(5, 1, "channel 1, Q41 at 5.00 ms: 96 B; until the next message of any channel: 64 B in 1 allocation, 0 B freed");
  await says(6.5, 1, "channel 1: 2 messages");
  const messages = events.filter(({ method }) => ["Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
