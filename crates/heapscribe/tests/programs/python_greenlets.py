"""Greenlets: several chains of frames on one thread, whose parts of the stack are copied away and back."""
import sys
import threading

import greenlet

from python_tagged import tag


def deep(n, at_the_end):
    tag()
    if n:
        result = deep(n - 1, at_the_end)
    else:
        result = at_the_end()
    tag()
    return result


def back():
    tag()
    received = greenlet.getcurrent().parent.switch(1)
    tag()
    return received


def body(n):
    for i in range(n):
        deep(i % 7, back)
        # Calls of C in between have the loop call itself.
        sorted([3, 1, 2], key=lambda x: deep(i % 3, back) or x)
        list(map(lambda _: back(), range(2)))
    tag()
    return "end"


def resume(greenlets, depth):
    if depth:
        return resume(greenlets, depth - 1)
    for each in greenlets:
        tag()
        each.switch(2)
        tag()


def switched(n):
    greenlets = [greenlet.greenlet(body) for _ in range(3)]
    for each in greenlets:
        each.switch(n)
    depth = 0
    while not all(each.dead for each in greenlets):
        depth = (depth + 1) % 5
        resume([each for each in greenlets if not each.dead], depth)


def generator(n):
    for i in range(n):
        tag()
        yield back()


def inner(n):
    def nested():
        deep(3, back)
        tag()

    child = greenlet.greenlet(nested)
    child.switch()
    tag()
    list(generator(n))
    child.switch()
    try:
        back()
    except ValueError:
        tag()


def nested(n):
    outer = greenlet.greenlet(inner)
    outer.switch(n)
    for _ in range(n):
        outer.switch(0)
    outer.throw(ValueError)


def killed():
    try:
        deep(2, back)
    finally:
        tag()


def left_behind(n):
    for _ in range(n):
        each = greenlet.greenlet(killed)
        each.switch()
        tag()
        del each


def all_of(n):
    switched(n)
    nested(n)
    left_behind(n)


rounds = int(sys.argv[1])
all_of(rounds)
threads = [threading.Thread(target=all_of, args=(rounds,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
deep(300, lambda: all_of(rounds))
