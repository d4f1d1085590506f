"""Frames that are left and entered again: generators, coroutines, tasks, and what runs them from elsewhere."""
import asyncio
import contextlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import oracle
from python_tagged import tag


def echo(depth):
    """Is sent values, thrown exceptions, and closed, through others that delegate to it."""
    if depth:
        result = yield from echo(depth - 1)
        tag()
        return result
    try:
        while True:
            try:
                tag()
                received = yield 1
                tag()
                if received is None:
                    return 7
            except ValueError:
                tag()
    finally:
        tag()


def sent_thrown_and_closed(n):
    for i in range(n):
        generator = echo(i % 5)
        next(generator)
        generator.send(i + 1)
        generator.throw(ValueError)
        if i % 2:
            generator.close()
        elif i % 3:
            with contextlib.suppress(StopIteration):
                generator.send(None)
        else:
            del generator


def started_here(generators):
    for generator in generators:
        next(generator)
        tag()


def resumed_elsewhere(generators, depth):
    if depth:
        return resumed_elsewhere(generators, depth - 1)
    for generator in generators:
        generator.send(2)
        tag()


def moved(n):
    """The same frame has another caller each time, also one of another thread."""
    generators = [echo(i % 4) for i in range(n)]
    started_here(generators)
    resumed_elsewhere(generators, 3)
    thread = threading.Thread(target=resumed_elsewhere, args=(generators, 5))
    thread.start()
    thread.join()
    resumed_elsewhere(generators, 1)


@contextlib.contextmanager
def managed():
    tag()
    try:
        yield tag()
    finally:
        tag()


async def deep(n):
    tag()
    if n:
        await deep(n - 1)
    else:
        await asyncio.sleep(0)
    tag()
    return n


async def numbers(n):
    try:
        for i in range(n):
            tag()
            await asyncio.sleep(0)
            yield i
    finally:
        tag()
        await asyncio.sleep(0)
        tag()


class Room:
    async def __aenter__(self):
        tag()
        await asyncio.sleep(0)
        tag()

    async def __aexit__(self, *exception):
        await asyncio.sleep(0)
        tag()


async def worker(n, queue):
    async with Room():
        async for i in numbers(n):
            await deep(i % 6)
            queue.put_nowait(i)
    with managed():
        [tag() async for _ in numbers(2)]
    async for _ in numbers(5):
        break


async def cancelled():
    try:
        tag()
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        tag()
        raise


def in_thread(n):
    tag()
    oracle.tag_unlocked(70000 + n % 1000)
    return sum(1 for _ in map(lambda _: tag(), range(3)))


async def main(n):
    loop, queue = asyncio.get_running_loop(), asyncio.Queue()
    doomed = asyncio.ensure_future(cancelled())
    workers = [asyncio.ensure_future(worker(n, queue)) for _ in range(3)]
    with ThreadPoolExecutor(2) as pool:
        futures = [loop.run_in_executor(pool, in_thread, i) for i in range(n)]
        loop.call_soon(tag)
        loop.call_later(0.001, tag)
        await asyncio.gather(*workers, *futures)
    doomed.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await doomed
    while not queue.empty():
        await queue.get()
        tag()
    if sys.version_info >= (3, 11):
        async with asyncio.TaskGroup() as group:
            for i in range(n):
                group.create_task(deep(i % 9))
    if sys.version_info >= (3, 12):
        loop.set_task_factory(asyncio.eager_task_factory)
        await asyncio.gather(*(asyncio.create_task(deep(i % 4)) for i in range(n)))


rounds = int(sys.argv[1])
sent_thrown_and_closed(rounds)
moved(rounds)
asyncio.run(main(rounds))
