"""Collections of garbage as CPython 3.15 lists them."""

import json
import subprocess
import time

import growing
import live
from live import expect

PYTHON = live.PYTHONS["3.15"]


def full_collections(text):
    events = [json.loads(line) for line in text.splitlines()]
    return [event for event in events if event.get("generation") == 2]


@live.once
def the_last_collections_are_printed():
    if not PYTHON:
        raise live.Skip("no Python 3.15 here")
    with live.Target(PYTHON, "collector.py") as target:
        done = live.succeed(live.PYREC, "--gc", "--json", "-p", target.pid)
        full = full_collections(done.stdout)
        expect(len(full) == 3, "%d in the ring of three", len(full))
        for event in full:
            expect(event["interpreter"] == 0, "%s", event)
            expect(event["start_us"] <= event["stop_us"], "%s", event)
        counts = [event["collections"] for event in full]
        expect(counts == list(range(counts[0], counts[0] + 3)), "%s", counts)
        expect(full[-1]["collected"] > full[0]["collected"], "%s", full)


@live.once
def new_collections_are_printed_as_they_come():
    if not PYTHON:
        raise live.Skip("no Python 3.15 here")
    with live.Target(PYTHON, "collector.py") as target:
        watcher = subprocess.Popen(
            [live.PYREC, "--gc=0.05", "--json", "-p", str(target.pid)],
            stdout=subprocess.PIPE, text=True)
        last = 0
        while last < target.portrait["times"] + 1:  # and the one that follows
            (event,) = full_collections(watcher.stdout.readline()) or (None,)
            last = event["collections"] if event else last
        target.process.stdin.write(b"go on\n")
        target.process.stdin.flush()
        (event,) = full_collections(watcher.stdout.readline())
        expect(event["collections"] == last + 1, "%s after %d", event, last)
        target.end()
        rest = watcher.stdout.read()
        watcher.stdout.close()
        expect(watcher.wait() == 0, "status %d", watcher.returncode)
        expect(rest == "", "%s after its end", rest)


@live.once
def collections_that_were_overwritten_are_counted():
    if not PYTHON:
        raise live.Skip("no Python 3.15 here")
    more = 50
    with live.Target(PYTHON, "collector.py") as target:
        watcher = subprocess.Popen(
            [live.PYREC, "--gc=0.1", "--json", "-p", str(target.pid)],
            stdout=subprocess.PIPE, text=True)
        stated = []
        lost = 0
        while not stated or stated[-1] < target.portrait["times"] + 1:
            stated += [event["collections"] for event in
                     full_collections(watcher.stdout.readline())]
        target.process.stdin.write(b"go on\n" * more)
        target.process.stdin.flush()
        while stated[-1] < target.portrait["times"] + 1 + more or \
                stated[-1] - stated[0] + 1 > len(stated) + lost:
            line = watcher.stdout.readline()
            lost = json.loads(line).get("lost", lost)
            stated += [event["collections"] for event in full_collections(line)]
        target.end()
        watcher.stdout.close()
        expect(watcher.wait() == 0, "status %d", watcher.returncode)
    expect(lost > 0 and len(stated) + lost == stated[-1] - stated[0] + 1,
           "%d lost of %s", lost, stated)


def written_collections(path):
    """How many full ones a growing file has."""
    reader = growing.opened(path)
    if not reader:
        return 0
    reader.decode()
    return sum(generation == 2 for _, _, generation, *_ in reader.profile.gc)


@live.once
def recorded_collections_are_in_the_file():
    if not PYTHON:
        raise live.Skip("no Python 3.15 here")
    begun = time.monotonic()
    with live.Target(PYTHON, "collector.py") as target:
        recorder = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin", "-q",
             "--gc-events"])
        live.wait_until(lambda: live.size("run.bin"), "the recording began")
        target.process.stdin.write(b"go on\n" * 3)  # the ring has three
        target.process.stdin.flush()
        live.wait_until(lambda: written_collections("run.bin") >= 3,
                        "they are in the file")
        recorder.terminate()
        expect(recorder.wait() == 0, "status %d", recorder.returncode)
    longest_us = (time.monotonic() - begun) * 1e6
    rows = live.Database("run.bin").rows(
        "SELECT t0_us, t1_us, detail FROM event WHERE kind = 'gc'"
        " ORDER BY t0_us")
    full = [json.loads(detail)["collections"] for _, _, detail in rows
            if json.loads(detail)["generation"] == 2]
    # the collection just before the first word may be among them
    expect(len(full) >= 3 and
           full == list(range(full[0], full[0] + len(full))), "%s", rows)
    expect(all(0 <= begin <= end <= longest_us for begin, end, _ in rows),
           "%s", rows)


@live.once
def a_python_that_keeps_no_collections_says_so():
    python = live.PYTHONS["3.14"] or live.PYTHONS["3.11"]
    if not python:
        raise live.Skip("no Python before 3.15 here")
    with live.Target(python, "sleeper.py") as target:
        done = live.call(live.PYREC, "--gc", "-p", target.pid)
        expect(done.returncode == 8, "status %d", done.returncode)
        expect("3.15 is the first" in done.stderr, "%s", done.stderr)


@live.each_python
def the_profile_says_whether_frames_of_the_collector_are_recorded(python):
    with live.Target(python, "sleeper.py") as target:
        live.record(target, "run.bin", seconds=1)
        shown = target.portrait["version"][1] >= 15
    info = live.succeed(live.PYCONV, "--info", "run.bin").stdout
    words = [line.split()[1:] for line in info.splitlines()
             if line.startswith("capture ")][0]
    expect(("gc" in words) == shown, "capture %s", words)


live.run()
