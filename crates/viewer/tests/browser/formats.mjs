// Files of other programs on the page: what they have is shown, what they cannot have is said, and no tab leads nowhere.
import assert from "node:assert/strict";
import { chromium } from "./chromium.mjs";

const [binary, profile, address, total, said, tabs] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { run, until, open, events } = browser;
const view = `document.getElementById("view").textContent`;
try {
  await open(address);
  // What has the heap over time alone has no views.
  if (tabs !== "") await until(`document.getElementById("total").textContent.startsWith(${JSON.stringify(total)})`);
  else await until(`document.getElementById("facts").textContent.includes("at the end")`);
  await until(`!document.getElementById("findings").textContent.includes("Reading")`);
  assert.equal(await run(`[...document.querySelectorAll("#views button")].map((tab) => tab.textContent).join("|")`), tabs);
  assert.ok((await run(`document.getElementById("caveats").textContent`)).includes(said), said);
  for (const tab of tabs.split("|").filter(Boolean)) {
    await run(`[...document.querySelectorAll("#views button")].find((b) => b.textContent === ${JSON.stringify(tab)}).click()`);
    await until(`!document.querySelector("#view[aria-busy]") && ${view} !== "" && ${view} !== "Reading all events…"`);
    const isRefused = await run(`document.querySelector("#view .error") !== null`);
    assert.equal(isRefused && !(await run(view)).includes("sizes are not known of this"), false, tab);
  }
  const messages = events.filter(({ method }) => ["Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(method));
  assert.deepEqual(messages.map(({ params }) => params), []);
} finally {
  await browser.end();
}
