"""Two threads, a generator, a C callback, and names beyond ASCII.

Publishes its functions and every (caller, callee) that can stand on a stack.
"""

import os
import sys
import threading

import portrait

# A file name beyond ASCII, for which no file needs to exist.
SOURCE = """\
def 測る(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
"""
space = {}
exec(compile(SOURCE, os.path.join(os.path.dirname(__file__), "größe_前.py"),
             "exec"), space)
測る = space["測る"]


def produce(n):
    for i in range(n):
        yield 測る(100 + i)


def zużyj():
    total = 0
    for value in produce(20):
        total += value
    return total


def drive():
    while not portrait.over():
        zużyj()


class Worker:
    def key(self, value):
        low = value % 7
        for _ in range(40):
            low += 1
        return low

    def rounds(self):
        ready.set()
        while not portrait.over():
            sorted(range(30), key=self.key)


def main():
    worker = threading.Thread(target=Worker().rounds, name="żółw", daemon=True)
    worker.start()
    ready.wait()
    edges = [(main, drive), (drive, zużyj), (zużyj, produce), (produce, 測る),
             (Worker.rounds, Worker.key), (drive, portrait.over),
             (Worker.rounds, portrait.over), (main, portrait.publish)]
    start = portrait.thread_start()
    edges += list(zip(start, start[1:] + [Worker.rounds]))
    functions = {f.__code__ for edge in edges for f in edge}
    module = sys._getframe(1).f_code
    portrait.publish(
        main_thread=threading.get_native_id(),
        worker_thread=worker.native_id,
        functions=[portrait.function(f) for f in functions | {module}],
        edges=[[a.__qualname__, b.__qualname__] for a, b in edges] +
              [["<module>", "main"]],
        seen=["<module>", "main", "drive", "zużyj", "produce", "測る",
              "Worker.rounds", "Worker.key", *(f.__qualname__ for f in start)])
    drive()


ready = threading.Event()
main()
