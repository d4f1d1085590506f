// A picture of each view, light and dark: for eyes, for the output of CI, and for the documentation.
//
//   [HEIGHT=720] node screenshots.mjs chromium PROFILE ADDRESS FOLDER [VIEW=HASH...]
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "./chromium.mjs";

const ALL = ["flame=", "callers=tree=callers", "functions=view=functions", "stacks=view=stacks", "sizes=view=sizes&show=allocated", "generations=view=generations", "held=view=held", "bands=bands=threads", "processes=view=processes", "threads=view=threads"];

const [binary, profile, address, folder, ...wanted] = process.argv.slice(2);
const browser = await chromium(binary, profile);
const { page, run, until, open } = browser;
try {
  await mkdir(folder, { recursive: true });
  await page("Emulation.setDeviceMetricsOverride", { width: 1280, height: Number(process.env.HEIGHT ?? 720), deviceScaleFactor: 1, mobile: false });
  for (const scheme of ["light", "dark"]) {
    await page("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    for (const one of wanted.length > 0 ? wanted : ALL) {
      const [view, hash] = [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)];
      await open(`${address}#${hash}`);
      await until(`document.getElementById("findings").textContent.includes("Reading") === false && !document.querySelector("[aria-busy]") && document.getElementById("view").textContent !== "Looking up names…"`);
      await run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))");
      const { cssContentSize: size } = await page("Page.getLayoutMetrics");
      const whole = { x: 0, y: 0, width: 1280, height: Math.min(2400, size.height), scale: 1 };
      for (const [name, more] of [["", {}], ["-whole", { clip: whole, captureBeyondViewport: true }]]) {
        const { data } = await page("Page.captureScreenshot", { format: "png", ...more });
        await writeFile(join(folder, `${view}${name}-${scheme}.png`), Buffer.from(data, "base64"));
      }
    }
  }
} finally {
  await browser.end();
}
