"""Generated profiles, from a seed, on which readers and writers must agree."""

import random

from canon import NO_THREAD, PROCESS, Process, Profile, Thread

MODES = (0, 1, 2, 3, 4, 255)
CAPTURES = (0, *(0x008 | bits << 4 for bits in range(32)))

PLAIN_NAMES = (b"", b"main", b"a\0b", b"two\nlines", b"a;b.py:semi",
               b"<lambda>",
               "h\u00e9l\u00e8ne.py".encode(), "\u86c7\U0001f40d".encode(),
               b"~", b"x" * 70000)
# lone surrogates as CPython keeps them, and bytes that are not UTF-8 at all
WILD_NAMES = (b"\xed\xb3\xa9.py", b"\xed\xa0\x80", b"\xff\xfe\x00", b"\xc3")


class Maker:
    """One profile; all choices from one generator."""

    def __init__(self, rnd, names=PLAIN_NAMES, frames=60, start=None,
                 mode=0, capture=0x48):
        self.rnd = rnd
        self.profile = Profile()
        self.profile.start = {
            "start_us": rnd.randrange(1 << 40) if start is None else start,
            "interval_us": rnd.choice((100, 1000, 10000)),
            "python": [3, 15, 2], "mode": mode, "capture": capture}
        self.profile.strings = list(names)
        self.profile.frames = [self.frame() for _ in range(frames)]
        self.profile.stats = (1.5, 1000.0, 0.25, 2.0, 3)

    def frame(self):
        rnd = self.rnd
        file, func = (rnd.randrange(len(self.profile.strings))
                      for _ in range(2))
        opcode = rnd.choice((255, 255, 0, 100, 254))
        if rnd.random() < 0.1:
            return (file, func, -1, -1, -1, -1, 0, opcode)
        line = rnd.choice((1, 7, 300, 40000))
        column = rnd.choice((-1, 0, 4, 200))
        # CPython's writer takes an end of -1 for the start
        end = -1 if column == -1 else max(column + rnd.randrange(-4, 90), 0)
        return (file, func, line, line + rnd.randrange(-1, 4), column, end,
                rnd.choice((0, line)), opcode)

    def stack(self, old, depth):
        """Mostly like the old one; at most `depth` frames."""
        rnd = self.rnd
        if old and rnd.random() < 0.5:
            return old
        keep = rnd.randrange(len(old) + 1)
        new = rnd.randrange(max(depth - keep, 0) + 1)
        ids = tuple(rnd.randrange(len(self.profile.frames))
                    for _ in range(new))
        return ids + old[len(old) - keep:]

    def thread(self, key, samples, depth=30, statuses=(4, 5, 36, 37),
               start=0, gap=None):
        rnd = self.rnd
        thread = self.profile.threads[key] = Thread()
        time, stack = start + rnd.randrange(1000), ()
        for _ in range(samples):
            stack = self.stack(stack, depth)
            thread.add(stack, [(time, rnd.choice(statuses))])
            time += rnd.choice(gap or (0, 1, 999, 1000, 1001, 150000))


def names(rnd):
    maker = Maker(rnd)
    maker.thread((1234, 0), 300)
    return maker.profile


def wild_names(rnd):
    maker = Maker(rnd, PLAIN_NAMES + WILD_NAMES)
    maker.thread((1234, 0), 300)
    return maker.profile


def no_samples(rnd):
    return Maker(rnd, names=(), frames=0).profile


def empty_stacks(rnd):
    maker = Maker(rnd)
    maker.thread((1, 0), 200, depth=2)
    maker.thread((2, 0), 50, depth=0)
    return maker.profile


def deep(rnd):
    """As deep as CPython 3.15.2 goes."""
    maker = Maker(rnd)
    maker.thread((1, 0), 40, depth=256)
    # returns from many calls at once: few frames stay and none is new
    thread = maker.profile.threads[2, 0] = Thread()
    stack = tuple(i % len(maker.profile.frames) for i in range(250))
    for time, kept in enumerate((250, 10, 1, 0)):
        thread.add(stack[250 - kept:], [(time, 4)])
    return maker.profile


def deeper(rnd):
    maker = Maker(rnd)
    maker.thread((1, 0), 40, depth=6000)
    return maker.profile


def threads(rnd):
    maker = Maker(rnd)
    for tid in range(1000):
        maker.thread((1 << 40 | tid * 8192, 0), 3, depth=8)
    return maker.profile


def statuses(rnd):
    """A status that changes with every sample, on one stack and on many."""
    maker = Maker(rnd)
    maker.thread((1, 0), 400, depth=0, statuses=range(64))
    maker.thread((2, 0), 400, statuses=range(256))
    return maker.profile


def interpreters(rnd):
    """One thread in several interpreters."""
    maker = Maker(rnd)
    for interp in (0, 1, 7, 0xFFFFFFFE):
        maker.thread((1234, interp), 60)
    return maker.profile


def long_time(rnd):
    maker = Maker(rnd)
    maker.thread((1, 0), 60, gap=(0, 1, 1 << 14, 1 << 28, 1 << 40))
    return maker.profile


def notes(rnd):
    """All that only files with checkpoints hold."""
    maker = Maker(rnd)
    for tid in (1, 2, 3):
        maker.thread((tid, 0), 80)
    profile = maker.profile
    profile.threads[1, 0].main, profile.threads[1, 0].name = 1, b"MainThread"
    profile.threads[2, 0].name = "p\u00f6ol\0".encode()
    profile.meta = {b"wall_us": b"1700000000000000", b"host": b"b\xc3\xb6x",
                    b"label.empty": b"", b"command": b"a\0b"}
    profile.counts = {(1, 0, 0): [(9, 70)], (1, 0, 8): [(9, 3)],
                      (*NO_THREAD, 16): [(9, 300)], (2, 0, 8): [(9, 0)],
                      (3, 0, 99): [(9, 1 << 40)]}
    profile.gc = [(0, 0, 2, 5, 9, 1, 20, 3, 40, 4096, 4000),
                  (0, 1, 0, 1 << 33, 1 << 34, 2, 0, 0, 1, 1 << 50, 7)]
    profile.tasks = [(0x7F00, 4, (1, 0), b"Task-1", ()),
                     (0x7F10, 5, NO_THREAD, b"", (0x7F00, 0x7F20))]
    profile.marks = [(0, 0, 11, 16, b""), (0, 3, 12, 12, b"here\n"),
                     (0, 99, 0, 1 << 40, b"later")]
    return profile


def processes(rnd):
    """Several processes whose threads have the same numbers."""
    maker = Maker(rnd)
    for process in range(3):
        for tid in (1, 2):
            maker.thread((tid, 0, process) if process else (tid, 0), 40)
    profile = maker.profile
    for index in range(3):
        profile.processes[index] = Process(
            1, index, 1700000000000000 + index, index and 1800000000000000,
            (3, 15, index), b"python3 x.py", b"box", b"scope%d" % index,
            [(b"label.part", b"%d" % index)][:index])
    profile.rates = [(0, 0, 1000), (2, 0, 500), (2, 90000, 2000)]
    profile.counts = {(1, 0, 32): [(9, 70)], (1, 0, 2, 32): [(9, 71)],
                      (1, PROCESS, 42): [(9, 5)]}
    profile.gc = [(2, 0, 2, 5, 9, 1, 20, 3, 40, 4096, 4000)]
    profile.tasks = [(0x7F00, 4, (1, 0, 1), b"Task-1", ()),
                     (0x7F00, 5, (2, PROCESS), b"", (0x7F00,))]
    profile.marks = [(1, 0, 11, 16, b"")]
    return profile


ALL = (names, wild_names, no_samples, empty_stacks, deep, deeper, threads,
       statuses, interpreters, long_time, notes)


def generate(seed, makers=ALL):
    """[(name, profile)], the same for the same seed; ALL are of one process
    each."""
    return [(make.__name__, make(random.Random(f"{seed} {make.__name__}")))
            for make in makers]


def words(seed):
    """A small profile for each header word that CPython 3.15 writes."""
    rnd = random.Random(f"{seed} words")
    for mode in MODES:
        for capture in CAPTURES:
            maker = Maker(rnd, mode=mode, capture=capture, frames=3)
            maker.thread((1, 0), 3)
            yield maker.profile
