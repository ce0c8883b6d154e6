#!/usr/bin/env python3
"""The history of benchmarks, asked by pyquery itself: history.py JSON...

Each JSON is a run of `make bench` (table.py).  A row is a function, and each
round of a run is a profile in which the function has the row's ratio to the
peer as its time: 1 s stands for the peer's cost.  Builds are commits.  Needs
build/interop/feed.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "interop"))
import canon  # noqa: E402
import harness  # noqa: E402

INTERVAL_US = 1000


def profile_of(run, rows, turn):
    """One round: {row: ratio}; `turn` keeps the rounds of a run apart."""
    begin = datetime.datetime.fromisoformat(run["time"])
    profile = canon.Profile()
    profile.start = {"start_us": 1 + turn, "interval_us": INTERVAL_US,
                     "python": [3, 15, 0], "mode": 0, "capture": 0}
    wall_us = int(begin.timestamp()) * 1000000 + turn
    profile.meta = {b"label.commit": run["commit"].encode(),
                    b"wall_us": b"%d" % wall_us}
    profile.strings = [b"bench", *(name.encode() for name in rows)]
    profile.frames = [(0, 1 + i, -1, -1, -1, -1, 0, 255)
                      for i in range(len(rows))]
    thread, time = profile.thread(1, 0), 0
    for i, ratio in enumerate(rows.values()):
        n = max(round(1e6 * ratio / INTERVAL_US), 1)
        thread.add((i,), [(time + k * INTERVAL_US, 3) for k in range(n)])
        time += n * INTERVAL_US
    return profile


def rounds(run):
    """{row: ratio} of each round that every row has; rows of a machine with
    other work are left out."""
    rows = {row["what"]: row["ratios"] for row in run["rows"]
            if row.get("ratios") and row["others"] <= 0.05}
    for turn in range(min(map(len, rows.values()), default=0)):
        yield {what: ratios[turn] for what, ratios in rows.items()}


def main():
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(sys.argv[1:]):
            with open(path, encoding="utf-8") as file:
                run = json.load(file)
            for turn, rows in enumerate(rounds(run)):
                status, why = harness.feed(
                    profile_of(run, rows, turn), os.path.join(
                        folder, "%d-%d.bin" % (number, turn)))
                assert status == 0, why
        sys.exit(subprocess.run(
            [os.path.join(os.environ["BIN"], "pyquery"), folder,
             "history 100 per label commit scale seconds"],
            env=dict(os.environ, XDG_CACHE_HOME=folder),
            check=False).returncode)


main()
