"""What the interop tests share: the tools by name, and results as TAP."""

import json
import os
import subprocess
import sys

import canon
import decoder

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "../../spec/vectors")
BIN = os.environ.get("BIN", os.path.join(HERE, "../../build"))
STOCK = os.environ.get("PYREC_STOCK")
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")


class Results:
    """TAP lines; the exit status is 1 if one is not ok."""

    def __init__(self):
        self.failed = 0

    def check(self, name, good, why=""):
        print(f"{'ok' if good else 'not ok'} {name}", flush=True)
        if not good:
            self.failed += 1
            print("# " + str(why)[:2000].replace("\n", "\n# "), flush=True)
        return good

    def skip(self, name, why):
        print(f"ok {name} # SKIP {why}", flush=True)

    def exit(self):
        sys.exit(1 if self.failed else 0)


def tool(name):
    return os.path.join(BIN, "interop", name)


def dump(path, *options):
    """(state, Profile or None, words on stderr) by the library's reader; the
    profile is None when nothing was emitted."""
    done = subprocess.run([tool("dump"), path, *map(str, options)],
                          capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if not lines or not lines[-1].startswith("end "):
        return f"status {done.returncode}", None, done.stderr
    state, samples = lines.pop().split()[1:]
    state = {"OK": "finished"}.get(state, state.lower())
    if not lines:
        return state, None, done.stderr
    profile = canon.from_sink_text(lines)
    profile.state = state
    assert profile.samples() == int(samples), "the replay counts otherwise"
    return state, profile, done.stderr


def feed(profile, path, compression=1, level=0, segment=0, checkpoint=0,
         end="finish"):
    """Write a profile by the library's writer."""
    lines = list(canon.to_sink_text(profile))
    if end == "abort":
        lines.append("abort")
    done = subprocess.run(
        [tool("feed"), path, *map(str, (compression, level, segment,
                                        checkpoint))],
        input="\n".join(lines) + "\n", text=True, capture_output=True,
        check=False)
    return done.returncode, done.stderr


def decode(path):
    """(state, Profile or None, why) by the second decoder."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        profile = decoder.decode(data)
    except decoder.Fault as fault:
        return type(fault).__name__.lower(), None, str(fault)
    return profile.state, profile, ""


def stock(jobs):
    """Let CPython 3.15 do the jobs; one result each."""
    done = subprocess.run([STOCK, os.path.join(HERE, "stock.py")],
                          input=json.dumps(jobs), text=True,
                          capture_output=True, check=False, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def stock_write_job(profile, path, compression):
    """All samples of all threads in the order of time."""
    samples = sorted(
        ((time, number, n, key, status, stack)
         for number, (key, thread) in enumerate(profile.threads.items())
         for n, (stack, pairs) in enumerate(thread.runs)
         for time, status in pairs), key=lambda s: s[:3])
    return {"op": "write", "path": path, "compression": compression,
            "start": profile.start, "stats": profile.stats,
            "strings": [canon.text(s) for s in profile.strings],
            "frames": profile.frames,
            "samples": [[*key, time, status, stack] for time, _, _, key,
                        status, stack in samples]}


def shown(data):
    """A name as CPython's reader gives it."""
    return data.decode(errors="replace")


def as_stock(observed):
    """Profile.observed() with names as CPython shows them."""
    stacks = {}
    out = {}
    for key, samples in observed.items():
        mine = out[key] = []
        for time, status, stack in samples:
            if stack not in stacks:
                stacks[stack] = tuple((shown(f[0]), shown(f[1]), *f[2:])
                                      for f in stack)
            mine.append((time, status, stacks[stack]))
    return out


def stock_observed(result):
    """The same from a result of stock's reader."""
    places = [tuple(place) for place in result["places"]]
    out = {}
    for tid, interp, time, status, stack in result["samples"]:
        out.setdefault((tid, interp), []).append(
            (time, status, tuple(places[i] for i in stack)))
    return out


def first_difference(a, b):
    """Words on where two observed() differ."""
    for key in sorted(a.keys() | b.keys()):
        one, two = a.get(key, []), b.get(key, [])
        for i, (x, y) in enumerate(zip(one, two)):
            if x != y:
                return f"thread {key} sample {i}: {x}\n{y}"
        if len(one) != len(two):
            return f"thread {key}: {len(one)} samples, {len(two)}"
    return "no difference"
