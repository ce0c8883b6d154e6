"""PstatsCollector and CollapsedStackCollector of CPython 3.15's
profiling.sampling on pyconv: libpyrec's writer writes the samples, and the
collector's answers come from pyconv's output."""

import collections
import marshal
import os
import subprocess
import tempfile
import types

import profiling.sampling.pstats_collector as pstats_collector
import profiling.sampling.stack_collector as stack_collector

from writer import BinaryWriter

PYCONV = os.path.join(os.environ["BIN"], "pyconv")
MARKER = ("__sampled__",)


def with_tid(info):
    """A mock may leave out the id of the thread; a file cannot."""
    return types.SimpleNamespace(
        thread_id=info.thread_id or 0, status=info.status,
        frame_info=info.frame_info)


class Collector:
    target = None  # of pyconv

    def __init__(self, sample_interval_usec):
        self.sample_interval_usec = sample_interval_usec
        self.samples = []

    def collect(self, interpreters):
        self.samples.append([types.SimpleNamespace(
            interpreter_id=info.interpreter_id,
            threads=list(map(with_tid, info.threads)))
            for info in interpreters])

    def write(self, path):
        interval = max(1, self.sample_interval_usec)
        with BinaryWriter(path, interval, 0, compression=1) as writer:
            for number, sample in enumerate(self.samples):
                writer.write_sample(sample, number * interval)

    def export(self, filename):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.bin")
            self.write(path)
            subprocess.run([PYCONV, "-q", path, "--to", self.target, "--style",
                            "stock", "--force", "-o", filename], check=True)
        return True

    def output(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "output")
            self.export(path)
            with open(path, "rb") as file:
                return file.read()


class PstatsCollector(Collector):
    target = "pstats"

    def __init__(self, sample_interval_usec):
        super().__init__(sample_interval_usec)
        self.stats = {}

    def create_stats(self):
        self.stats = marshal.loads(self.output())
        del self.stats[MARKER]

    @property
    def result(self):
        self.create_stats()
        return {place: {"direct_calls": row[0], "cumulative_calls": row[1]}
                for place, row in self.stats.items()}


def place_of(text):
    """FILE:FUNCTION:LINE, or the name of a synthetic frame alone."""
    if text.count(":") < 2:
        return "~", 0, text
    file, function, line = text.split(":")
    return file, int(line), function


class CollapsedStackCollector(Collector):
    target = "collapsed"

    @property
    def stack_counter(self):
        counter = collections.Counter()
        for line in self.output().decode().splitlines():
            stack, count = line.rsplit(" ", 1)
            thread, *places = stack.split(";")
            path = tuple(map(place_of, places))
            counter[path, int(thread.removeprefix("tid:"))] += int(count)
        return counter


def install():
    pstats_collector.PstatsCollector = PstatsCollector
    stack_collector.CollapsedStackCollector = CollapsedStackCollector
