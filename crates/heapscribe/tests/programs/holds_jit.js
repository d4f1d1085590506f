'use strict';
// Keeps buffers, whose bytes are in the heap of the process, until there is a file `end`; then says its pid in `holds`.
const fs = require('fs');
const kept = [];
function loadOrder(n) {
  kept.push(Buffer.allocUnsafeSlow(20000 + n));
}
function serve(times) {
  for (let i = 0; i < times; i++) loadOrder(i % 7);
}
serve(2000);
fs.writeFileSync('holds.part', String(process.pid));
fs.renameSync('holds.part', 'holds');
setInterval(() => fs.existsSync('end') && process.exit(0), 10);
