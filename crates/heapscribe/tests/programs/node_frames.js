// Blocks of sizes that nothing else has, and the stack of each as V8 itself says it: written to a file, a block a line.
// node_frames.js ROUNDS FILE
'use strict';
const vm = require('vm');
const stacks = require('./v8_stacks.js');

const kept = [];

function block() {
  const size = stacks.nextSize();
  const made = new ArrayBuffer(size); const frames = new Error().stack;
  stacks.note(size, frames);
  kept[size % 16] = made;
  return made.byteLength & 1;
}

function fib(n) {
  if (n < 2) {
    return block();
  }
  return fib(n - 1) +
    fib(n - 2);
}

class Shop {
  constructor() {
    block();
  }
  static open() {
    return new Shop();
  }
  order(n) {
    return n ? this.order(n - 1) : block();
  }
  get price() {
    return block();
  }
}

function* numbers() {
  yield block();
  yield block();
}

async function later() {
  block();
  await null;
  block();
  await new Promise((resolve) => setImmediate(resolve));
  return block();
}

const many = Array.from({ length: 90 }, (_, n) => `const v${n} = ${n};`).join('\n');
const sum = Array.from({ length: 90 }, (_, n) => `v${n}`).join(' + ');
// So many variables that V8 has a table of their names.
const crowded = new Function('block', `${many}\nconst all = () => ${sum};\nblock();\nreturn all();`);
const wide = '\n// größer als ein Byte: π\n';
const scripted = new vm.Script(`${wide}(function scripted(block) {\r\n\r\n  return block();\n})`, {
  filename: 'made.js',
  lineOffset: 10,
}).runInThisContext();

function round(i) {
  fib(4);
  Shop.open().order(i % 5);
  new Shop().price;
  (() => block())();
  for (const number of numbers()) number;
  new Function('block', '\n'.repeat(i % 7) + 'return block();')(block);
  crowded(block);
  scripted(block);
  eval('block()');
  [3, 1, 2].sort((a, b) => {
    block();
    return a - b;
  });
  'abc'.replace(/b/, () => block());
  JSON.parse('{"a":1}', (_, value) => {
    block();
    return value;
  });
}

async function main(rounds, file) {
  for (let i = 0; i < rounds; i++) {
    round(i);
    await later();
    if (i % 10 === 0) global.gc?.();
  }
  stacks.write(file);
}

main(Number(process.argv[2]), process.argv[3]);
