"""Make a large profile as a web server's might be: large_profile.py FILE N
[STACKS].

Runs under CPython 3.15, whose writer makes the file.  Eight threads, depth 30
to 60, tops that change while most samples repeat the last; always the same
for the same arguments.  Without STACKS almost every change leads to a new
stack; with STACKS there are at most so many, and a change leads to one that a
walk through the program had nearby.
"""

import random
import sys

import _remote_debugging as stock

SEED = 7
FUNCTIONS = 5000
FILES = 250
THREADS = 8
INTERVAL = 1000

chance = random.Random(SEED)
functions = [("/srv/app/package%d/module%d.py" % (i % 7, i % FILES),
              "handle_%d" % i, 10 + i * 37 % 1900) for i in range(FUNCTIONS)]
callees = [[chance.randrange(FUNCTIONS)
            for _ in range(chance.choice((2, 3, 4, 6, 12)))]
           for _ in range(FUNCTIONS)]
frames = {}


def frame(function, offset):
    key = function, offset
    if key not in frames:
        file, name, first = functions[function]
        line = first + offset
        frames[key] = stock.FrameInfo(
            (file, stock.LocationInfo((line, line, 4, 40)), name, None))
    return frames[key]


class Thread:
    def __init__(self, number):
        self.tid = 4000 + number
        self.stack = [(number, 1)]
        self.idle = 0
        self.frames = None
        while len(self.stack) < 30:
            self.push()

    def push(self):
        choices = callees[self.stack[-1][0]]
        pick = min(int(chance.expovariate(0.7)), len(choices) - 1)
        self.stack.append((choices[pick], chance.randrange(12)))

    def step(self):
        if self.idle:
            self.idle -= 1
            return
        kind = chance.random()
        if kind < 0.03:
            self.idle = chance.randint(5, 60)
        elif kind > 0.60:
            self.move()
        elif kind > 0.35:
            function, offset = self.stack[-1]
            self.stack[-1] = function, (offset + 1) % 12
            self.frames = None

    def move(self):
        """Return from a few calls and make about as many."""
        up = min(int(chance.expovariate(0.35)) + 1, len(self.stack) - 12)
        del self.stack[len(self.stack) - up:]
        self.stack[-1] = self.stack[-1][0], chance.randrange(12)
        for _ in range(max(1, 30 - len(self.stack), min(
                60 - len(self.stack), up + chance.randint(-1, 1)))):
            self.push()
        self.frames = None

    def info(self, status):
        if self.frames is None:
            self.frames = [frame(*at) for at in reversed(self.stack)]
        return stock.ThreadInfo((self.tid, status, self.frames))


class Visitor:
    """A thread that comes back to the stacks of a pool."""

    def __init__(self, number, pool):
        self.tid = 4000 + number
        self.pool = pool
        self.at = chance.randrange(len(pool))
        self.idle = 0
        self.infos = {}

    def step(self):
        if self.idle:
            self.idle -= 1
        elif chance.random() < 0.03:
            self.idle = chance.randint(5, 60)
        else:
            self.at = (self.at + chance.choice((-2, -1, 1, 1, 3))) % len(
                self.pool)

    def info(self, status):
        key = self.at, status
        if key not in self.infos:
            self.infos[key] = stock.ThreadInfo(
                (self.tid, status, self.pool[self.at]))
        return self.infos[key]


def make_pool(stacks):
    walker, pool, seen = Thread(0), [], set()
    while len(pool) < stacks:
        walker.step()
        key = tuple(walker.stack)
        if key not in seen:
            seen.add(key)
            pool.append([frame(*at) for at in reversed(walker.stack)])
    return pool


def main():
    time_us = 1000000000
    writer = stock.BinaryWriter(sys.argv[1], INTERVAL, time_us, compression=1,
                                mode=0, capture_features=1)
    if len(sys.argv) > 3:
        pool = make_pool(int(sys.argv[3]))
        threads = [Visitor(i, pool) for i in range(THREADS)]
    else:
        threads = [Thread(i) for i in range(THREADS)]
    current = 0
    ticks = int(sys.argv[2]) // THREADS
    running = stock.THREAD_STATUS_ON_CPU | stock.THREAD_STATUS_HAS_GIL
    for _ in range(ticks):
        if chance.random() < 0.3:
            current = chance.randrange(THREADS)
        infos = []
        for i, thread in enumerate(threads):
            if i == current or chance.random() < 0.35:
                thread.step()
            infos.append(thread.info(running if i == current else 0))
        time_us += INTERVAL + int(chance.gauss(0, 15))
        writer.write_sample([stock.InterpreterInfo((0, infos))], time_us)
    writer.set_stats(ticks * INTERVAL / 1e6, 1e6 / INTERVAL, 0.0, 0.0)
    writer.finalize()


main()
