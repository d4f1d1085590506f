import asyncio
import functools
import sys
import threading

import oracle
from python_tagged import tag


def plain(n):
    for i in range(n):
        tag()
        if i % 3:
            tag(); tag()
        oracle.tag(
            4000
            + i % 100
        )


def deep(n):
    if n == 0:
        tag()
        return 0
    if n % 7 == 0:
        tag()
    return deep(n - 1) + 1


def generator(n):
    for i in range(n):
        tag()
        yield i
        tag()


def delegating(n):
    yield from generator(n)
    tag()


class Key:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        tag()
        return self.n < other.n

    def __del__(self):
        tag()

    @property
    def half(self):
        tag()
        return self.n // 2

    def __call__(self, x):
        tag()
        return x


def key(x):
    tag()
    return -x


def exceptions(n):
    for i in range(n):
        try:
            try:
                tag()
                raise ValueError(i)
            except KeyError:
                pass
            finally:
                tag()
        except ValueError as e:
            tag()
            try:
                raise RuntimeError from e
            except RuntimeError:
                tag()


@functools.lru_cache(maxsize=4)
def cached(x):
    tag()
    return x


def through_c(n):
    sorted(range(n), key=key)
    sorted([Key(i % 5) for i in range(n)])
    list(map(Key(0), range(n)))
    [tag() for _ in range(n)]
    {i: Key(i).half for i in range(n)}
    functools.reduce(lambda a, b: key(a) + b, range(n))
    [cached(i % 6) for i in range(n)]
    max(*(key(i) for i in range(n)))


def made_again(n):
    for i in range(n):
        names = {}
        source = "def f%d(x):\n%s    return tag()\n" % (i % 3, "    x = x + 1\n" * (i % 4))
        exec(compile(source, "<made %d>" % (i % 2), "exec"), {"tag": tag}, names)
        names["f%d" % (i % 3)](1)
        eval("tag()", {"tag": tag})


async def worker(n):
    for i in range(n):
        tag()
        await asyncio.sleep(0)
        async for _ in agen(2):
            tag()


async def agen(n):
    for i in range(n):
        tag()
        await asyncio.sleep(0)
        yield i


async def tasks(n):
    await asyncio.gather(*(worker(n) for _ in range(4)))


def once(i):
    oracle.tag_unlocked(90000 + i)


def twice(i):
    # The same frame in the same place, at the same instruction, called by another line.
    once(i)
    once(i)


def unlocked(n):
    for i in range(n):
        twice(i)
        oracle.tag_around(lambda: None, 91000 + i)
        oracle.tag_around(lambda: twice(i), 92000 + i)
        oracle.tag_around(tag, 93000 + i)
        oracle.tag_unlocked(70000 + i)
        sorted([2, 1], key=lambda x: oracle.tag_unlocked(80000 + i) or x)


def all_of(n):
    plain(n)
    deep(n)
    sum(generator(n))
    list(delegating(n))
    through_c(n)
    exceptions(n)
    made_again(n)
    unlocked(n)


def main():
    n = int(sys.argv[1])
    all_of(n)
    threads = [threading.Thread(target=all_of, args=(n,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(tasks(n))
    sys.setrecursionlimit(5000)
    deep(900)
    all_of(n)


main()
