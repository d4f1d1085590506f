// Functions that are made, called once and forgotten: V8 puts new ones where these were. Function `fresh7` asks for a block
// of 40,011 + 6 * 7 bytes, which nothing else does.
//   node node_fresh.js FUNCTIONS
'use strict';

const functions = Number(process.argv[2]);
const kept = new Array(8);
globalThis.keep = (block, index) => { kept[index & 7] = block; };

for (let index = 0; index < functions; index++) {
  const body = `return (function fresh${index}() { keep(Buffer.allocUnsafeSlow(n), ${index}); })();`;
  new Function('n', body)(40_011 + 6 * index);
}
