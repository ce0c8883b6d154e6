"""The sampler of CPython 3.15's profiling.sampling on pyrec: pyrec records, and
CPython's own reader replays the file into the collector of the test."""

import os
import subprocess
import tempfile

import _remote_debugging as rd
import profiling.sampling.sample as sample
from profiling.sampling.binary_reader import BinaryReader

from unwinder import MODES, NO_PROCESS, PYREC, RemoteUnwinder


class SampleProfiler:
    def __init__(self, pid, sample_interval_usec, all_threads, *, mode=0,
                 native=False, gc=True, opcodes=False,
                 skip_non_matching_threads=True, collect_stats=False,
                 blocking=False):
        try:
            self.unwinder = RemoteUnwinder(pid, all_threads=all_threads,
                                           mode=mode)
        except RuntimeError as error:
            raise SystemExit(str(error)) from error
        self.pid = pid
        self.sample_interval_usec = sample_interval_usec
        self.mode = mode
        self.realtime_stats = False
        rate = max(1, round(1e6 / sample_interval_usec))
        self.options = ["-r", str(rate), "--mode", MODES[mode]]
        self.threads = "all" if all_threads else "main"
        self.options += ["--native"] * bool(native)
        self.options += ["--no-gc"] * (not gc)
        self.options += ["--opcodes"] * bool(opcodes)
        self.options += ["--blocking"] * bool(blocking)
        self.options += ["--keep-idle"] * (not skip_non_matching_threads)

    def sample(self, collector, duration_sec=None, *, async_aware=False):
        options = ["--threads", "all" if async_aware else self.threads]
        options += ["-d", str(duration_sec)] * bool(duration_sec)
        options += ["--async", async_aware] * bool(async_aware)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.bin")
            done = subprocess.run([PYREC, "-p", str(self.pid), "-o", path,
                                   *self.options, *options],
                                  capture_output=True, text=True)
            if done.returncode == NO_PROCESS and not os.path.exists(path):
                print("Captured 0 samples in 0.00 seconds")
                return
            if done.returncode:
                raise SystemExit(done.stderr)
            self.replay(path, collector)

    def replay(self, path, collector):
        with BinaryReader(path) as reader:
            n = reader.replay_samples(collector)
            info = reader.get_info()
        print("Captured %d samples in %.2f seconds" % (n, info["duration_sec"]))
        print("Sample rate: %.2f samples/sec" % info["sample_rate"])
        print("Error rate: %.2f" % (info["error_rate"] or 0))
        if hasattr(collector, "set_stats"):
            collector.set_stats(self.sample_interval_usec, info["duration_sec"],
                                info["sample_rate"], info["error_rate"],
                                info["missed_samples"], mode=self.mode)


def install():
    sample.SampleProfiler = SampleProfiler
    rd.get_child_pids = get_child_pids


def get_child_pids(pid, recursive=True):
    """From /proc: pyrec's --children prints no list of pids."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1]
                                         .split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    found, todo = [], [pid]
    for parent in todo:
        children = [child for child in parents if parents[child] == parent]
        found += children
        todo += children if recursive else []
    return found
