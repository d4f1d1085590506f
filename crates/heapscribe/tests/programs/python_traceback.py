"""Writes down for each block of the oracle what `traceback` tells of the stack, each stack once."""
import atexit
import itertools
import os
import sys
import traceback

import oracle

# Threads note side by side, and may be switched between any two lines: each step is one call, and a stack is written
# before the blocks that name it.
numbers = {}
unused = itertools.count()
blocks = []


def note(tid, size):
    # The caller of this is the oracle, so that the frame is at the instruction that asks for the block.
    summary = traceback.extract_stack(sys._getframe(1))
    stack = tuple((frame.name, frame.filename, frame.lineno) for frame in reversed(summary))
    number = numbers.setdefault(stack, next(unused))
    blocks.append("%d %d\t=%d\n" % (tid, size, number))


@atexit.register
def write():
    with open(os.environ["ORACLE"] + ".traceback", "w") as out:
        for stack, number in numbers.items():
            frames = "".join("\t%s\x1f%s\x1f%d" % frame for frame in stack)
            out.write("=%d%s\n" % (number, frames))
        out.writelines(blocks)


oracle.note_by(note)
