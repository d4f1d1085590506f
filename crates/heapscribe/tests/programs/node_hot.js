// Hot code: blocks of sizes that nothing else has, in functions that V8 optimizes, inlines and replaces while their loops
// run, and the stack of each as V8 itself says it: written to a file, a block a line.
// node_hot.js ROUNDS FILE
'use strict';
const stacks = require('./v8_stacks.js');

const kept = [];

function note() {
  const size = stacks.nextSize();
  const noted = {};
  Error.captureStackTrace(noted, note);
  stacks.note(size, noted.stack);
  return size;
}

function keep(block) {
  kept[stacks.nextSize() % 16] = block;
}

function leaf(i) {
  let sum = 0;
  for (let j = 0; j < 10; j++) sum += (i * j) & 7;
  if (i % 13 === 0) {
    const size = note(); keep(new ArrayBuffer(size));
  }
  return sum;
}

function rare(i) {
  if (i % 17 === 0) {
    const size = note(); keep(new ArrayBuffer(size));
  }
  return i;
}

function middle(i) {
  if (i & 1)
    return leaf(i);
  return leaf(i) +
    leaf(i + 1) +
    rare(i);
}

class Loop {
  constructor(count) {
    this.count = count;
  }
  run() {
    let sum = 0;
    for (let i = 0; i < this.count; i++) {
      sum += middle(i);
    }
    return sum;
  }
  get first() {
    return leaf(0);
  }
}

class Other extends Loop {
  constructor(count) {
    super(count);
    leaf(0);
  }
  run() {
    return super.run() +
      this.first;
  }
}

function callbacks(k) {
  let sum = [1, 2, 13].map((value) => {
    return leaf(value * k);
  }).reduce((a, b) =>
    a + rare(b), 0);
  [1, 2, 3, 26].forEach((value) => {
    sum += middle(value + k);
  });
  for (const value of [1, 13])
    sum += leaf(value);
  return sum;
}

function deep(depth) {
  if (depth === 0) return leaf(13);
  return 1 +
    deep(depth - 1);
}

function* numbers(count) {
  for (let i = 0; i < count; i++) {
    leaf(i * 13);
    yield i;
  }
}

function throws(i) {
  try {
    if (i % 3 === 0) throw new TypeError('x');
    leaf(i);
  } catch (error) {
    rare(i);
  } finally {
    leaf(13);
  }
}

const converted = {
  toString() {
    return leaf(13) + 'o';
  },
  valueOf() {
    return leaf(26);
  },
};

function converts(k) {
  const text = `${converted}` + k;
  return text.length +
    (converted - 1);
}

function nested(k) {
  let sum = 0;
  for (let a = 0; a < k; a++) {
    for (let b = 0; b < k; b++) {
      if (b & 1) continue;
      sum += leaf(a * b);
    }
    sum -= rare(a);
  }
  while (k-- > 0)
    sum += middle(k);
  return sum;
}

function many(...values) {
  return leaf(values[0], ...values);
}

function spread(k) {
  const values = [k, 2, 3];
  return many(...values) + leaf.call(null, k) +
    leaf.apply(null, [k * 13]);
}

async function later(count) {
  for (let i = 0; i < count; i++) {
    leaf(i);
    await null;
    leaf(i * 13);
  }
}

async function main(rounds, file) {
  for (let i = 0; i < rounds; i++) {
    new Loop(60).run();
    new Other(20).run();
    callbacks(i);
    deep(i % 20);
    for (const number of numbers(3)) number;
    throws(i);
    converts(i);
    nested(9);
    spread(i);
    if (i % 8 === 0) await later(3);
  }
  stacks.write(file);
}

main(Number(process.argv[2]), process.argv[3]);
