"""What CPython 3.15's own profiler makes of a recording."""

import glob
import os
import sys

import live
from live import expect

sys.path.insert(0, os.path.join(live.SOURCE, "tests", "cli"))
import pyconv_outputs as outputs  # noqa: E402
import pyconv_targets as targets  # noqa: E402

# Threads in all states, names that no format likes, stacks as deep as CPython
# reads them.
RECORDED = (("plain.py",), ("states.py",), ("names.py",),
            ("deep.py", 300))

OUTPUTS = ("--pstats", "--collapsed", "--flamegraph", "--gecko", "--heatmap",
           "--jsonl", "--diff-flamegraph=run.bin")


def bytes_at(path):
    """The bytes of a file, or of all files in a folder: a heatmap is one."""
    paths = [path]
    if os.path.isdir(path):
        paths = glob.glob(path + "/**", recursive=True)
    found = b""
    for name in filter(os.path.isfile, paths):
        with open(name, "rb") as file:
            found += file.read()
    return found


@live.once
def stock_replay_writes_each_of_its_outputs():
    if not live.STOCK:
        raise live.Skip("no CPython 3.15 as peer")
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        live.record(target, "run.bin", "--max-depth", 256, seconds=1)
    for option in OUTPUTS:
        out = "out" + option.partition("=")[0]
        live.succeed(live.STOCK, "-m", "profiling.sampling", "replay", option,
                     "-o", out, "run.bin")
        expect(b"produce" in bytes_at(out), "%s: no function of the program",
               option)


class Expected:
    """Takes the results of checks as harness.Results does; each must be good,
    and CPython must have an answer."""

    @staticmethod
    def check(name, good, why=""):
        expect(good, "%s: %s", name, why)

    @staticmethod
    def skip(name, why):
        raise AssertionError(f"{name}: {why}")


def same_as_stock(name, path):
    """collapsed and jsonl byte by byte, pstats in every number."""
    outputs.check_stock(Expected, name, path)
    targets.check_stock_jsonl(Expected, name, path)


@live.once
def outputs_of_recordings_are_those_of_stock_replay():
    if not live.STOCK:
        raise live.Skip("no CPython 3.15 as peer")
    for program, *arguments in RECORDED:
        with live.Target(live.ANY_PYTHON, program, *arguments) as target:
            live.record(target, program + ".bin", "--max-depth", 256,
                        seconds=1)
        expect(live.header_samples(program + ".bin"), "%s: no samples", program)
        same_as_stock(program, program + ".bin")


@live.once
def outputs_of_stock_recordings_are_those_of_stock_replay():
    if not live.STOCK or not live.PYTHONS["3.15"]:
        raise live.Skip("no CPython 3.15 as peer")
    with live.Target(live.PYTHONS["3.15"], "plain.py") as target:
        live.succeed(live.STOCK, "-m", "profiling.sampling", "attach", "-a",
                     "-d", 1, "--binary", "-o", "stock.bin", target.pid)
    expect(live.header_samples("stock.bin"), "no samples")
    same_as_stock("stock", "stock.bin")


live.run()
