// A browser without a window, driven by its own protocol over a pipe: nothing has to be installed beside chromium.
import { spawn } from "node:child_process";

export async function chromium(binary, profile) {
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"];
  const stdio = ["ignore", "ignore", "ignore", "pipe", "pipe"];
  const child = spawn(binary, [...flags, `--user-data-dir=${profile}`, "about:blank"], { stdio });
  const { send, events } = protocol(child.stdio[3], child.stdio[4]);
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const page = (method, parameters = {}) => send(method, parameters, sessionId);
  for (const domain of ["Page", "Runtime", "Network", "Log", "Accessibility"]) await page(`${domain}.enable`);
  const size = { width: 1280, height: 720, deviceScaleFactor: 1, mobile: false };
  await page("Emulation.setDeviceMetricsOverride", size);
  const end = async () => {
    const ended = new Promise((resolve) => child.on("exit", resolve));
    await send("Browser.close");
    await ended;
  };
  return { ...hands(page), page, send, events, end };
}

/** Messages with a zero byte after each. */
function protocol(into, from) {
  const [waiting, events] = [new Map(), []];
  let [number, rest] = [0, ""];
  from.setEncoding("utf8");
  from.on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const message of messages.map(JSON.parse)) {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      if (!resolve) events.push(message);
      else if (message.error) reject(new Error(JSON.stringify(message.error)));
      else resolve(message.result);
    }
  });
  const send = (method, params, sessionId) =>
    new Promise((resolve, reject) => {
      number += 1;
      waiting.set(number, { resolve, reject });
      into.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
    });
  return { send, events };
}

/** What a person does with a page. */
function hands(page) {
  const run = async (expression) => {
    const { result, exceptionDetails: e } = await page("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (e) throw new Error(e.exception?.description ?? e.text);
    return result.value;
  };
  /** Waits for a condition; who waits for a whole minute waits for nothing, unless more is said. */
  const until = async (expression, seconds = 60) => {
    // While a page is left there is nothing to ask.
    const isTrue = () => run(expression).catch((e) => ((last = e.message), false));
    let last = "";
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await run("new Promise(requestAnimationFrame)").catch(() => {})) {
      if (await isTrue()) return;
    }
    throw new Error(`never true: ${expression}; ${last}; the page: ${await run("document.body.innerText")}`);
  };
  const isThere = `document.readyState === "complete" && document.getElementById("main")?.hidden === false`;
  /** Opens an address, and waits for the page: an address with another `#` alone loads nothing anew. */
  const open = async (url) => {
    await page("Page.navigate", { url: "about:blank" });
    await page("Page.navigate", { url });
    await until(isThere);
  };
  const reload = async () => {
    await run("window.isOld = true");
    await page("Page.reload");
    await until(`!window.isOld && ${isThere}`);
  };
  const mouse = (type, x, y, more = {}) => page("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1, ...more });
  /** With modifiers: 8 is Shift. */
  const click = async (x, y, modifiers = 0) => {
    await mouse("mousePressed", x, y, { modifiers });
    await mouse("mouseReleased", x, y, { modifiers });
  };
  const drag = async (from, to, y, modifiers = 0) => {
    await mouse("mousePressed", from, y, { modifiers });
    await mouse("mouseMoved", (from + to) / 2, y, { buttons: 1, modifiers });
    await mouse("mouseMoved", to, y, { buttons: 1, modifiers });
    await mouse("mouseReleased", to, y, { modifiers });
  };
  const press = async (key, modifiers = 0) => {
    const text = key.length === 1 ? { text: key } : {};
    await page("Input.dispatchKeyEvent", { type: "keyDown", key, modifiers, ...text });
    await page("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers });
  };
  return { run, until, open, reload, click, drag, press };
}
