"""What CPython 3.15's own profiler makes of a recording."""

import glob
import os

import live
from live import expect

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


live.run()
