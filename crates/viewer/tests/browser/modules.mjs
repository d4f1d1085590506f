// The pure functions of the page, called in the browser that runs them: input and expected answer.
import assert from "node:assert/strict";

/** Calls a function of a module with values, and gives its value. */
function caller(run, address) {
  return (module, name, ...values) =>
    run(`import(${JSON.stringify(address + module)}).then((m) => m.${name}(...${JSON.stringify(values)}))`);
}

export async function checkModules(run, address) {
  const call = caller(run, address);
  const check = async (module, name, values, expected) =>
    assert.deepEqual(await call(module, name, ...values), expected, `${module} ${name}(${JSON.stringify(values)})`);

  // As `report` prints them.
  for (const [n, text] of [[0, "0 B"], [1002, "1,002 B"], [1024, "1.00 KiB"], [2 ** 20 - 1, "1.00 MiB"], [1021 * 1024, "1,021 KiB"], [14000, "13.7 KiB"]]) {
    await check("numbers.js", "bytes", [n], text);
  }
  for (const [ns, text] of [[0, "0 ns"], [1500, "1.50 us"], [12345678, "12.3 ms"], [61e9, "61.0 s"], [1234e9, "1,234 s"]]) {
    await check("numbers.js", "duration", [ns], text);
  }
  await check("numbers.js", "blocks", [1], "1 block");
  await check("numbers.js", "blocks", [1234567], "1,234,567 blocks");
  for (const [before, after, text] of [[1024, 3072, "+2.00 KiB"], [5, 0, "−5 B"], [5, 5, "±0 B"]]) await check("numbers.js", "changed", [before, after, "bytes"], text);
  await check("numbers.js", "shortPath", ["/usr/src/a/b.c"], "…/a/b.c");
  await check("numbers.js", "moment", [2_500_000, 10_000], "2.50 ms");

  await checkState(call, check);
  await checkCommands(call, check);
  await checkScale(check);
  await checkBoxes(call, check);
  await checkCuts(check);
  await checkLifetimes(call, check);
  await checkDensity(check);
  const lane = { step: [2, 5], heap_end_bytes: [7, 9] };
  for (const [step, heap] of [[0, 0], [1, 0], [2, 7], [4, 7], [5, 9], [99, 9]]) await check("lanes.js", "heapAt", [lane, step], heap);
}

async function checkState(call, check) {
  const state = await call("state.js", "parse", "#show=freed&from=1&with=%3Cscript%3E+x&unknown=1&__proto__=1");
  assert.equal(state.show + state.from + state.with + state.unit, "freed1<script> xbytes");
  assert.ok(!("unknown" in state));
  await check("state.js", "format", [state], "show=freed&from=1&with=%3Cscript%3E+x");
  await check("state.js", "format", [await call("state.js", "parse", "")], "");
  await check("state.js", "question", [{ ...state, born: "1.2" }, "sizes"], "show=freed&at=peak&from=1&born=1.2&with=%3Cscript%3E+x&unit=bytes");
  await check("state.js", "question", [{ ...state, show: "allocated", born: "1.2" }, "sizes"], "show=allocated&at=peak&from=1&with=%3Cscript%3E+x&unit=bytes");
  await check("state.js", "question", [{ ...state, search: "x" }, "sizes"], "show=freed&at=peak&from=1&with=%3Cscript%3E+x&unit=bytes");
}

async function checkCommands(call, check) {
  const plain = await call("state.js", "parse", "");
  const recording = { trace: "a b's.hst", duration_ns: 9, is_live: false, pids: [100, 101] };
  const trace = `'a b'\\''s.hst'`;
  for (const [change, flags] of [
    [{}, ""],
    [{ at: "5" }, " --live-at 5ns"],
    [{ from: "2" }, " --live-at peak --from 2ns"],
    [{ show: "allocated", from: "1", to: "9" }, " --metric allocated --from 1ns"],
    [{ show: "allocated", to: "8", unit: "blocks" }, " --metric count --to 8ns"],
    [{ show: "retained", from: "1" }, " --metric leaked --from 1ns"],
    [{ show: "left", process: "1" }, " --metric leaked --pid 101"],
    [{ show: "freed" }, " --metric allocated --freed-in 0ns..100%"],
    [{ show: "freed", from: "2", to: "5", born: "1.3", unit: "blocks" }, " --metric count --born-in 1ns..3ns --freed-in 2ns..5ns"],
    [{ show: "within", from: "2" }, " --metric allocated --born-in 2ns..100% --freed-in 2ns..100%"],
    [{ show: "allocated", born: "1.3" }, " --metric allocated"],
  ]) {
    await check("command.js", "command", [{ ...plain, ...change }, recording], `heapscribe flame ${trace}${flags} -o flame.svg`);
  }
  for (const change of [{ show: "left", from: "1" }, { with: "x" }, { tree: "callers" }, { hide: "3" }, { base: "1.2" }, { age: "1.2" }, { unit: "blocks" }]) {
    await check("command.js", "command", [{ ...plain, ...change }, recording], "");
  }
  await check("command.js", "command", [plain, { ...recording, is_live: true }], "");
}

async function checkScale(check) {
  const shown = { from: 0, to: 1000 };
  await check("scale.js", "zoomed", [shown, 500, 0.5, 1000], { from: 250, to: 750 });
  await check("scale.js", "zoomed", [shown, 0, 0.5, 1000], { from: 0, to: 500 });
  await check("scale.js", "zoomed", [{ from: 250, to: 750 }, 300, 8, 1000], shown);
  await check("scale.js", "zoomed", [{ from: 0, to: 50 }, 10, 0.5, 50], { from: 0, to: 50 });
  await check("scale.js", "panned", [{ from: 250, to: 750 }, 1000, 1000], { from: 500, to: 1000 });
  await check("scale.js", "toNs", [{ from: 100, to: 300, width: 50 }, 25], 200);
  await check("scale.js", "toX", [{ from: 100, to: 300, width: 50 }, 200], 25);
  await check("scale.js", "ticks", [0, 10, 5], { step: 2, all: [0, 2, 4, 6, 8, 10] });
  await check("scale.js", "byteTicks", [3000, 4], [1024, 2048]);
}

async function checkLifetimes(call, check) {
  const ages = { moments_ns: [100, 110, 120, 130], ages_ns: [0, 100, 300], freed: [[0, 0, 0], [1, 0, 2], [0, 5, 0]], left: [0, 0, 9] };
  const named = (await call("lifetimes.js", "rowsOf", ages)).map(({ cells }) => cells);
  assert.deepEqual(named, [[0, 0, 9], [0, 5, 0], [1, 0, 2]]);
  const rows = [{ from: 0, to: 0 }, { from: 300, to: 900 }, { from: 100, to: 300 }];
  const range = { from: "110", to: "130", path: "" };
  for (const [top, bottom, question] of [[0, 0, { show: "left", age: "" }], [2, 2, { show: "allocated", age: "100.300" }], [1, 2, { show: "allocated", age: "100.900" }]]) {
    await check("lifetimes.js", "questionOf", [ages, rows, { left: 1, right: 2, top, bottom }], { ...range, ...question });
  }
  for (const [x, column] of [[0, 0], [9, 0], [10, 1], [29, 2], [30, 2]]) await check("lifetimes.js", "columnAt", [ages, 30, x], column);
  const uneven = { moments_ns: [0, 10, 90, 100], left: [0, 0, 0] };
  for (const [x, column] of [[9, 0], [10, 1], [89, 1], [90, 2]]) await check("lifetimes.js", "columnAt", [uneven, 100, x], column);
  const some = [{ cells: [10, 40, 0], from: 0, to: 100 }];
  await check("lifetimes.js", "shadesOf", [{ moments_ns: [0, 10, 50, 60] }, some], { mean: 20, factors: [2, 0.5, 2], most: 20, isEven: false });
  await check("lifetimes.js", "shadesOf", [{ moments_ns: [0, 20, 40, 60] }, some], { mean: 20, factors: [1, 1, 1], most: 40, isEven: true });
  await check("lifetimes.js", "rowName", [{ from: 300, to: 1000 }], "300 ns to 1 us");
}

async function checkDensity(check) {
  // Two cells in a column, the first one at its foot; the last column has one.
  const density = { from_ns: 100, cell_ns: 10, per_column: 2, is_freed: false, cells: [0, 3, 1024, 0, 7] };
  for (const [x, y, cell] of [[0, 9, 0], [0.1, 0, 1], [0.4, 7, 2], [0.9, 6, 4], [0.9, 1, 4], [1, 99, 4], [0, -3, 1]]) await check("density.js", "cellAt", [density, x, y], cell);
  const range = { from: "110", to: "130", born: "", age: "", path: "" };
  await check("density.js", "questionOf", [density, { first: 1, last: 2 }], { show: "allocated", ...range });
  await check("density.js", "questionOf", [{ ...density, is_freed: true }, { first: 1, last: 2 }], { show: "freed", ...range });
  await check("density.js", "describe", [density, { first: 1, last: 2 }, "bytes"], "Allocated from 0.11 us to 0.13 us: 1.00 KiB");
  await check("density.js", "describe", [density, { first: 4, last: 4 }, "blocks"], "Allocated from 0.14 us to 0.15 us: 7 blocks");
}

async function checkCuts(check) {
  const state = { from: "", to: "" };
  const whole = { duration_ns: 80, notes: { from_ns: [10, 30, 60, 200, 40], is_section: [false, false, false, false, true] } };
  const none = { duration_ns: 80, notes: { from_ns: [], is_section: [] } };
  await check("generations.js", "cuts", [state, whole], [0, 10, 30, 60, 80]);
  await check("generations.js", "cuts", [{ from: "20", to: "40" }, whole], [20, 30, 40]);
  await check("generations.js", "cuts", [state, none], [0, 10, 20, 30, 40, 50, 60, 70, 80]);
  await check("generations.js", "cuts", [{ from: "3", to: "5" }, none], [3, 4, 5]);
}

async function checkBoxes(call, check) {
  // all 10 > a 6 > b 6, and beside it b 3 with nothing on it.
  const flame = {
    names: ["all", "a", "b"],
    depth: [0, 1, 2, 1],
    name: [0, 1, 2, 2],
    bytes: [10, 6, 6, 3],
    blocks: [1, 1, 1, 1],
  };
  const layout = await call("flame_layout.js", "layout", flame, "bytes");
  assert.deepEqual(Object.values(layout.begin), [0, 0, 0, 6]);
  assert.deepEqual(Object.values(layout.below), [-1, 0, 1, 0]);
  assert.deepEqual([layout.levels, layout.whole], [3, 10]);
  for (const [part, level, row] of [[0.1, 0, 0], [0.1, 2, 2], [0.7, 1, 3], [0.95, 1, -1], [0.7, 2, -1], [0.1, 3, -1]]) {
    await check("flame_layout.js", "boxAt", [flame, layout, "bytes", part, level], row);
  }
  await check("flame_layout.js", "pathTo", [layout, 2], [1, 2]);
  await check("flame_layout.js", "matches", [flame, "bytes", "B"], { names: [false, false, true], sum: 9 });
  await check("flame_layout.js", "matches", [flame, "bytes", "a"], { names: [true, true, false], sum: 10 });
  await check("flame_layout.js", "matches", [flame, "bytes", "/^(a|b)$/"], { names: [false, true, true], sum: 9 });
  await check("flame_layout.js", "matches", [flame, "bytes", "/(/"], { names: [false, false, false], sum: 0 });
  for (const [list, number, expected] of [["", 3, "3"], ["3", 12, "3.12"], ["3.12", 3, "12"], ["3", 3, ""]]) await check("chips.js", "toggled", [list, number], expected);
  await check("flame_layout.js", "matches", [flame, "bytes", ""], { names: [false, false, false], sum: 0 });
  for (const [row, key, to] of [[0, "ArrowDown", 1], [2, "ArrowDown", 2], [2, "ArrowUp", 1], [0, "ArrowUp", 0], [1, "ArrowRight", 3], [3, "ArrowLeft", 1], [3, "ArrowRight", 3]]) {
    await check("flame_layout.js", "neighbor", [flame, layout, row, key], to);
  }
}
