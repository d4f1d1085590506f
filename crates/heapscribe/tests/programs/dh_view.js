// Has valgrind's own dh_view.js read a file, without a browser, and prints the sums at the root of its tree:
// node dh_view.js /usr/libexec/valgrind/dh_view.js FILE
const fs = require('fs');
const vm = require('vm');

const element = () => ({
  childNodes: [], classList: { add() {}, remove() {}, contains: () => false }, style: {}, selectedIndex: 0,
  appendChild(child) { this.childNodes.push(child); return child; },
});
const body = element();
const page = {
  document: { createElement: element, createTextNode: element, body, location: { search: '' } },
  performance, Intl, URLSearchParams, console, text: fs.readFileSync(process.argv[3], 'utf8'),
};
vm.createContext(page);
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), page);
vm.runInContext(`
  onLoad();
  gData = JSON.parse(text);
  buildTree();
  console.log(JSON.stringify({
    tb: gRoot._totalBytes, tbk: gRoot._totalBlocks, tl: gRoot._totalLifetimes,
    gb: gRoot._atTGmaxBytes, gbk: gRoot._atTGmaxBlocks, eb: gRoot._atTEndBytes, ebk: gRoot._atTEndBlocks,
    maxTooSmall: gData.pps.filter(pp => pp.mb < pp.gb || pp.mb < pp.eb).length,
  }));
`, page);
