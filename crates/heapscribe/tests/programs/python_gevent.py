"""Gevent: a hub that switches between greenlets, with the standard library's waits replaced."""
import sys

from gevent import monkey

monkey.patch_all()

import queue
import socket
import threading
import time

import gevent
import gevent.pool

from python_tagged import tag


def deep(n):
    tag()
    if n:
        deep(n - 1)
    else:
        time.sleep(0)
    tag()


def worker(n, tasks):
    for i in range(n):
        deep(i % 6)
        tasks.put(i)
        tag()


def serve(listening, n):
    for _ in range(n):
        connection, _ = listening.accept()
        with connection:
            tag()
            connection.sendall(connection.recv(10).upper())
            tag()


def request(address):
    tag()
    with socket.create_connection(address) as connection:
        connection.sendall(b"hello")
        tag()
        assert connection.recv(10) == b"HELLO"
    tag()


def main(n):
    tasks = queue.Queue()
    greenlets = [gevent.spawn(worker, n, tasks) for _ in range(4)]
    gevent.spawn_later(0.001, tag)
    gevent.joinall(greenlets, raise_error=True)
    for _ in range(4 * n):
        tasks.get()
        tag()
    listening = socket.create_server(("127.0.0.1", 0))
    server = gevent.spawn(serve, listening, n)
    gevent.pool.Pool(3).map(request, [listening.getsockname()] * n)
    server.get()
    threads = [threading.Thread(target=deep, args=(4,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gevent.get_hub().threadpool.apply(deep, (3,))


main(int(sys.argv[1]))
