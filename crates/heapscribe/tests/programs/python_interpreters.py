"""Several interpreters in a process: one after the other in a thread, inside of each other's calls, and in threads."""
import os
import sys
import threading

import oracle

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

SCRIPT = """
import sys
sys.path[:] = {path!r}
import oracle

def tag(i):
    oracle.tag(5000 + i)

def deep(n):
    tag(n)
    if n:
        sorted([2, 1], key=lambda x: deep(n - 1) or x)
    oracle.tag_unlocked(9000 + n)

def generator(n):
    for i in range(n):
        tag(i)
        yield i

deep(4)
list(generator({rounds}))
"""


def tag():
    oracle.tag(4000)


def run(interpreter, script, depth):
    if depth:
        return run(interpreter, script, depth - 1)
    tag()
    interpreters.run_string(interpreter, script)
    oracle.tag_unlocked(4500)
    tag()


def all_of(rounds, is_own):
    script = SCRIPT.format(path=sys.path, rounds=rounds)
    made = [create(is_own) for _ in range(2)]
    for i in range(rounds):
        run(made[i % 2], script, i % 3)
    for interpreter in made:
        interpreters.destroy(interpreter)


def create(is_own):
    """With the lock of all interpreters, or one of its own, as there are from 3.12 on."""
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if is_own else "legacy")
    if sys.version_info >= (3, 9):
        return interpreters.create(isolated=is_own)
    return interpreters.create()


rounds = int(sys.argv[1])
# Of the first thousand blocks not each is used to look whether this is an interpreter.
[bytes(1000) for _ in range(3000)]
tag()
for is_own in (False, True):
    all_of(rounds, is_own)
    threads = [threading.Thread(target=all_of, args=(rounds, is_own)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
tag()
