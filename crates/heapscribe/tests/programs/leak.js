'use strict';
// Keeps buffers, whose bytes are in the heap of the process.
const kept = [];
function loadOrder(n) {
  kept.push(Buffer.allocUnsafeSlow(20000 + n));
}
function serve(times) {
  for (let i = 0; i < times; i++) loadOrder(i % 7);
}
serve(2000);
