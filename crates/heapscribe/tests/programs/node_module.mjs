// Blocks of an ECMAScript module while it is evaluated, before and after it has waited, and the stack of each as V8 itself says
// it. With variables that are exported, imported and captured, and with more than the scope has names for in place.
// node_module.mjs ROUNDS FILE
import { createRequire } from 'module';
import process, { argv } from 'process';
import { writeFileSync } from 'fs';
import { pathToFileURL } from 'url';
const stacks = createRequire(import.meta.url)('./v8_stacks.js');

export const kept = [];
export let made = 0;

export default function block() {
  const size = stacks.nextSize();
  const buffer = new ArrayBuffer(size); const frames = new Error().stack;
  stacks.note(size, frames);
  kept[size % 16] = buffer;
  made += 1;
  return buffer.byteLength & 1;
}

const rounds = Number(argv[2]);
for (let round = 0; round < rounds; round++) {
  block();
  [1, 2].forEach(() =>
    block());
}

class Shop {
  static first = block();
  static {
    block();
  }
}

await null;
block();
for await (const _ of [1, 2]) {
  block();
}

// A module with more variables that are captured than their scope has in place, and more that are exported.
const names = [...'abcdefghijklmnopqrstuvwxyz0123456789'].flatMap((c) => [`x${c}`, `y${c}`, `z${c}`]);
const text = [
  ...names.map((name) => `let ${name} = 1; export let ${name}_out = 2;`),
  `export const sum = () => ${names.join(' + ')};`,
  'globalThis.block();',
  '',
  'export const last = globalThis.block();',
];
globalThis.block = block;
writeFileSync(argv[3] + '.mjs', text.join('\n'));
await import(pathToFileURL(argv[3] + '.mjs'));

stacks.write(process.argv[3]);
