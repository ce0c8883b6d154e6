"""Exact costs: the system calls of a tick, and the counters that count them."""

import re

import live
from live import expect

RATE = 500
START = 100  # reads that find the interpreter, its threads and its first stack


def counters(path):
    database = live.Database(path)
    return {key[len("stats."):]: int(value) for key, value in database.rows(
        "SELECT key, value FROM meta WHERE key LIKE 'stats.%'")
            if value.isdigit()}


@live.each_python
def a_tick_of_a_sleeping_thread_reads_memory_twice(python):
    with live.Target(python, "sleeper.py", preferred=True) as target:
        live.record(target, "run.bin", "-r", RATE, seconds=2)
    ticks = int(live.Database("run.bin").meta("count.ticks"))
    reads = counters("run.bin")["memory_reads"]
    expect(ticks > START, "%d ticks", ticks)
    expect(reads <= 2 * ticks + START, "%d reads at %d ticks", reads, ticks)


@live.once
def stats_prints_the_counters_of_the_file():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        said = live.record(target, "run.bin", "--stats", seconds=1).stderr
    printed = {name: int(value) for name, value in re.findall(
        r"^  (\w+) +(\d+)$", said, re.M)}
    expect(printed == counters("run.bin"), "%s", said)
    expect(printed["total_samples"] == live.header_samples("run.bin"), "%s",
           said)


live.run()
