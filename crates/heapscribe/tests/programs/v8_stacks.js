// The stacks of blocks as V8 itself says them, a block a line.
'use strict';
const fs = require('fs');

const FIRST_SIZE = 1000003;
const lines = [];
Error.stackTraceLimit = 200;
Error.prepareStackTrace = (_, frames) => frames;

// The file of a frame, or that of the code that has evaluated its text.
function fileOf(frame) {
  if (frame.getFileName() || !frame.isEval()) return frame.getFileName()?.replace(/^file:\/\//, '');
  return frame.getEvalOrigin().match(/\(([^()]+):\d+:\d+\)/)[1] + ' (eval)';
}

// Of static blocks V8 says what they are, since 12, where its own function has the name of the class.
function nameOf(frame) {
  const name = frame.getFunctionName() || '';
  return name === '<static_initializer>' ? '' : name;
}

// A size that nothing else has.
exports.nextSize = () => FIRST_SIZE + lines.length;

// Notes the frames of a block of this size: those of `await` are not on the stack. Functions of V8's own have no file.
exports.note = (size, frames) => {
  const own = frames.filter((frame) => !frame.isAsync() && fileOf(frame));
  lines.push([size, ...own.map((frame) =>
    [nameOf(frame), fileOf(frame), frame.getLineNumber()].join('\x1f'))].join('\t'));
};

exports.write = (file) => fs.writeFileSync(file, lines.join('\n'));
