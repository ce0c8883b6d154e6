#!/usr/bin/env python3
"""Answers of pyquery against counting every sample of generated profiles.

    test_questions.py [SEED [COUNT]]

COUNT databases of one to three profiles each, with recursion, several threads
and states; questions made at random from verbs and clauses, answered here by
going through the samples one after the other.
"""

import collections
import fractions
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import harness
from profiles import Maker

PYQUERY = os.path.join(os.environ["BIN"], "pyquery")
FILES = ("/srv/app/shop.py", "/srv/app/cart/shop.py",
         "/usr/lib/python3.15/json/decoder.py",
         "/x/site-packages/web/core.py")
TASK_FILE = "<task>"
CLASSES = dict(zip((*FILES, TASK_FILE),
                   ("project", "project", "stdlib", "site", "special")))
MODULES = dict(zip((*FILES, TASK_FILE),
                   ("shop", "shop", "json.decoder", "web.core", TASK_FILE)))
FUNCTIONS = [(FILES[i % 4], "f%d" % i, 10 * i + 1) for i in range(9)]
TASKS = [(TASK_FILE, "Task-%d" % i, None) for i in range(2)]
OPCODES = (None, 5, 7, 9)  # of frames, by turns
QUESTIONS = 12  # of each database

Sample = collections.namedtuple("Sample", "profile thread stack status weight"
                                " time")


def frame(i):
    """(function, file, line, opcode): two lines of each function."""
    file, name, first = (FUNCTIONS + TASKS)[i // 2]
    return (name, file, first + 3 * (i % 2), OPCODES[i % len(OPCODES)]) \
        if first else (name, file, None, None)


def make(rnd, number):
    maker = Maker(rnd, names=[name.encode() for f in FUNCTIONS + TASKS
                              for name in f[:2]], frames=0, start=1000)
    profile = maker.profile
    profile.start["interval_us"] = 1000
    profile.meta = {b"pid": b"%d" % (100 + number),
                    b"host": b"box%d" % number,
                    b"label.part": b"%d" % (number % 2)}
    for i in range(2 * len(FUNCTIONS + TASKS)):
        _, _, line, opcode = frame(i)
        file = i - i % 2
        if line is None:
            profile.frames.append((file, file + 1, -1, -1, -1, -1, 0, 255))
        else:
            profile.frames.append((file, file + 1, line, line, -1, -1,
                                   line - 3 * (i % 2), opcode or 255))
    for tid in range(1, rnd.randrange(2, 5)):
        maker.thread((tid, 0), rnd.randrange(1, 60), depth=8,
                     statuses=(0, 1, 2, 3, 8, 16, 32, 35),
                     gap=(1000, 1000, 999, 1001, 3000))
        profile.threads[tid, 0].name = b"t%d" % (tid % 3)
    return profile


def samples_of(number, profile):
    for key, thread in profile.threads.items():
        flat = [(stack, *s) for stack, run in thread.runs for s in run]
        ends = [f[1] for f in flat[1:]] + [flat[-1][1] + 1000 if flat else 0]
        for (stack, time, status), end in zip(flat, ends):
            frames = tuple(frame(i) for i in reversed(stack))
            yield Sample(number, (number, key[0], thread.name.decode()),
                         frames, status, min(end - time, 2000), time)


# ---- questions: (words, keep(sample), shown(frame)) ----

def clause(rnd):
    f = rnd.choice(FUNCTIONS)[1]
    part = rnd.randrange(2)
    tid = rnd.randrange(1, 4)
    depth = rnd.randrange(5)
    kind = rnd.choice(("stdlib", "site", "project"))
    return rnd.choice((
        ("focus %s" % f, lambda s: any(x[0] == f for x in s.stack), None),
        ("ignore %s" % f, lambda s: all(x[0] != f for x in s.stack), None),
        ("hide %s" % f, None, lambda x: x[0] != f),
        ("without %s" % kind, None, lambda x: CLASSES[x[1]] != kind),
        ("only project", None, lambda x: CLASSES[x[1]] == "project"),
        ("where gil", lambda s: s.status & 1, None),
        ("where cpu and exception", lambda s: s.status & 18 == 18, None),
        ("where idle", lambda s: s.status & 3 == 0, None),
        ("where waiting", lambda s: s.status & 8, None),
        ("where tid = %d" % tid, lambda s: s.thread[1] == tid, None),
        ("where function = %s" % f,
         lambda s: bool(s.stack) and s.stack[-1][0] == f, None),
        ("where function != %s" % f,
         lambda s: not (bool(s.stack) and s.stack[-1][0] == f), None),
        ("where depth > %d" % depth, lambda s: len(s.stack) > depth, None),
        ("where pid = 101", lambda s: s.profile == 1, None),
        ("where label part = %d" % part, lambda s: s.profile % 2 == part,
         None),
        ("where file = shop.py",
         lambda s: bool(s.stack) and s.stack[-1][1].endswith("shop.py"), None),
        ("thread t1", lambda s: s.thread[2] == "t1", None),
    ))


def question(rnd):
    words, keeps, shows = [], [], []
    for _ in range(rnd.randrange(3)):
        text, keep, shown = clause(rnd)
        word = text.split()[0]
        if word in ("where", "thread") and any(
                w.startswith(word) for w in words):
            continue
        words.append(text)
        if keep:
            keeps.append(keep)
        if shown:
            shows.append(shown)
    return (words, lambda s: all(k(s) for k in keeps),
            lambda x: all(s(x) for s in shows))


# ---- counting ----

class Count:
    def __init__(self):
        # samples, microseconds; of those that ran
        self.self = [0, 0, 0, 0]
        self.total = [0, 0, 0, 0]


def count(samples, keys_of):
    """keys_of(sample) -> keys of its frames, outermost first."""
    out = collections.defaultdict(Count)
    for s in samples:
        ran = int(s.status & 3 != 0)
        amount = (1, s.weight, ran, ran * s.weight)
        keys = keys_of(s)
        for key in set(keys):
            c = out[key].total
            c[:] = [a + b for a, b in zip(c, amount)]
        if keys:
            c = out[keys[-1]].self
            c[:] = [a + b for a, b in zip(c, amount)]
    return out


def ask(database, words):
    done = subprocess.run([PYQUERY, database, *" ".join(words).split(),
                           "as", "json"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return None, done.stderr
    answer = json.loads(done.stdout)
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]], answer


def same_amounts(row, c, all_n):
    return (row["self_samples"] == c.self[0] and
            row["total_samples"] == c.total[0] and
            round(row["self_s"] * 1e6) == c.self[1] and
            round(row["total_s"] * 1e6) == c.total[1] and
            abs(row["self_pct"] - 100 * c.self[0] / all_n) < 0.006)


def same_ran(row, c, all_n):
    return all(round(row[side + "_ran_s"] * 1e6) == amounts[3] and
               abs(row[side + "_ran_pct"] - 100 * amounts[2] / all_n) < 0.006
               for side, amounts in (("self", c.self), ("total", c.total)))


# verb: the key of a frame, the columns that hold it, the keys that have a row
UNITS = {
    "top 1000": (lambda x: (x[0], x[1]), ("function", "file"),
                 lambda k: k[1] != TASK_FILE),
    "lines 1000": (lambda x: (x[0], x[1], x[2]), ("function", "file", "line"),
                   lambda k: k[1] != TASK_FILE),
    "files 1000": (lambda x: (x[1],), ("file",), None),
    "modules 1000": (lambda x: (MODULES[x[1]],), ("module",), None),
    "top 1000 per class": (lambda x: (CLASSES[x[1]],), ("class",), None),
}


def check_units(database, rnd, samples, words, keep, shown):
    verb = rnd.choice(sorted(UNITS))
    key, columns, has_row = UNITS[verb]
    chosen = [s for s in samples if keep(s)]
    want = count(chosen, lambda s: [key(x) for x in s.stack if shown(x)])
    rows, why = ask(database, [verb, *words])
    if rows is None:
        return why
    got = {tuple(r[c] for c in columns): r for r in rows}
    if len(got) != len(rows) or got.keys() != {
            k for k in want if not has_row or has_row(k)}:
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, row in got.items():
        if not same_amounts(row, want[k], len(chosen)) or \
                not same_ran(row, want[k], len(chosen)):
            return "%r: %r, not %r %r" % (k, row, want[k].self, want[k].total)
    return None


def check_parts(database, rnd, samples, words, keep, shown):
    part, of, column = rnd.choice((
        ("per label part", lambda s: str(s.profile % 2), "label"),
        ("per process", lambda s: 100 + s.profile, "pid")))
    chosen = [s for s in samples if keep(s)]
    rows, why = ask(database, ["top 1000", part, *words])
    if rows is None:
        return why
    want = {}
    for p in {of(s) for s in chosen}:
        mine = [s for s in chosen if of(s) == p]
        for k, c in count(mine, lambda s: [x[:2] for x in s.stack
                                           if shown(x)]).items():
            want[(p, *k)] = c, mine
    want = {k: v for k, v in want.items() if k[2] != TASK_FILE}
    got = {(r[column], r["function"], r["file"]): r for r in rows}
    if got.keys() != want.keys():
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, (c, mine) in want.items():
        if not same_amounts(got[k], c, len(mine)):
            return "%r: %r, not %r %r" % (k, got[k], c.self, c.total)
    return None


def check_edges(database, rnd, samples, words, keep, shown):
    verb, side = rnd.choice((("callers", 1), ("callees", 0)))
    f = rnd.choice(FUNCTIONS)[1]
    chosen = [s for s in samples if keep(s)]

    def edges(s):
        names = ["(root)"] + [x[0] for x in s.stack if shown(x)]
        return [e if e[side] == f else None for e in zip(names, names[1:])]

    want = count(chosen, edges)
    want.pop(None, None)
    rows, why = ask(database, [verb, "1000 of", f, *words])
    if rows is None:
        return why
    got = {(r["caller"], r["callee"]): r for r in rows}
    if got.keys() != want.keys():
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, c in want.items():
        if not same_amounts(got[k], c, len(chosen)):
            return "%r: %r, not %r %r" % (k, got[k], c.self, c.total)
    return None


def check_stacks(database, rnd, samples, words, keep, shown):
    chosen = [s for s in samples if keep(s)]
    want = collections.Counter(
        " > ".join(x[0] for x in s.stack if shown(x)) for s in chosen)
    del want[""]
    rows, why = ask(database, ["stacks 1000000", *words])
    if rows is None:
        return why
    got = {r["stack"]: r["samples"] for r in rows}
    return None if got == want else "%r" % (set(got.items()) ^
                                            set(want.items()),)


def check_paths(database, rnd, samples, words, keep, shown):
    f = rnd.choice(FUNCTIONS)[1]
    want = collections.Counter()
    for s in samples:
        names = [x[0] for x in s.stack if shown(x)]
        if keep(s) and f in names:
            want[" > ".join(names[:names.index(f) + 1])] += 1
    rows, why = ask(database, ["paths 1000000 to", f, *words])
    if rows is None:
        return why
    got = {r["stack"]: r["samples"] for r in rows}
    return None if got == want else "%r" % (set(got.items()) ^
                                            set(want.items()),)


def tree_rows(rows):
    path, out = [], {}
    for r in rows:
        del path[r["depth"]:]
        path.append(r["function"])
        out[tuple(path)] = r["self_samples"], r["total_samples"]
    return out


def check_trees(database, rnd, samples, words, keep, shown):
    chosen = [[x[0] for x in s.stack if shown(x)] for s in samples if keep(s)]
    inverted = rnd.random() < 0.5
    want = collections.defaultdict(lambda: [0, 0])
    for names in chosen:
        path = tuple(reversed(names)) if inverted else tuple(names)
        for n in range(1, len(path) + 1):
            want[path[:n]][1] += 1
        if path:
            want[path][0] += 1
    verb = "bottomup depth 1000" if inverted else "tree"
    share = rnd.choice((0, 0.1, 1, 5, 40))  # percent
    want = {k: v for k, v in want.items() if 100 * v[1] >= share * len(chosen)}
    rows, why = ask(database, [verb, "above %s%%" % share, *words])
    if rows is None:
        return why
    got = tree_rows(rows)
    return None if got == {k: tuple(v) for k, v in want.items()} else \
        "%r" % (set(got.items()) ^ {(k, tuple(v)) for k, v in want.items()},)


def without_views(words):
    return [w for w in words if not w.startswith(("hide", "only", "without"))]


def check_threads(database, rnd, samples, words, keep, shown):
    words = without_views(words)
    want = collections.Counter(s.thread for s in samples if keep(s))
    ran = collections.Counter(s.thread for s in samples
                              if keep(s) and s.status & 3)
    rows, why = ask(database, ["threads", *words])
    if rows is None:
        return why
    got = {(r["pid"] - 100, r["tid"], r["thread"]): r for r in rows}
    good = got.keys() == want.keys() and all(
        got[t]["samples"] == n and
        abs(got[t]["ran_pct"] - 100 * ran[t] / n) < 0.006
        for t, n in want.items())
    return None if good else "%r, not %r" % (got, want)


def check_tasks(database, rnd, samples, words, keep, shown):
    chosen = [s for s in samples if keep(s)]
    want = count(chosen, lambda s: [x[0] for x in s.stack
                                    if x[1] == TASK_FILE])
    rows, why = ask(database, ["tasks 1000", *without_views(words)])
    if rows is None:
        return why
    got = {r["task"]: r for r in rows}
    if got.keys() != want.keys():
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, row in got.items():
        if not same_amounts(row, want[k], len(chosen)):
            return "%r: %r, not %r %r" % (k, row, want[k].self, want[k].total)
    return None


def check_opcodes(database, rnd, samples, words, keep, shown):
    """By their amounts; which version has which name is another test's."""
    chosen = [s for s in samples if keep(s)]
    want = count(chosen, lambda s: [x[3] for x in s.stack])
    want.pop(None, None)
    rows, why = ask(database, ["opcodes 1000", *without_views(words)])
    if rows is None:
        return why
    got = sorted((r["self_samples"], r["total_samples"],
                  round(r["total_s"] * 1e6)) for r in rows)
    good = sorted((c.self[0], c.total[0], c.total[1]) for c in want.values())
    return None if got == good else "%r, not %r" % (got, good)


# ---- time ----

def runs_of(samples):
    """Consecutive samples of a thread with one stack and state."""
    for _, of_thread in itertools.groupby(samples, lambda s: s.thread):
        for _, run in itertools.groupby(of_thread,
                                        lambda s: (s.stack, s.status)):
            yield list(run)


def in_buckets(samples, width):
    """(bucket, sample with its weight there): a run's samples are evenly
    spaced, and share its weight evenly."""
    for run in runs_of(samples):
        n, first, last = len(run), run[0].time, run[-1].time
        weight = sum(s.weight for s in run)
        step = fractions.Fraction(last - first, n - 1) if n > 1 else 0
        for i, s in enumerate(run):
            mine = weight * (i + 1) // n - weight * i // n
            yield (first + i * step) // width, s._replace(weight=mine)


def ran_of(bucket):
    return sum(s.status & 3 != 0 for s in bucket)


def by_bucket(samples, keep, width):
    buckets = collections.defaultdict(list)
    for number, s in in_buckets(samples, width):
        if keep(s):
            buckets[number].append(s)
    return buckets


def check_timeline(database, rnd, samples, words, keep, shown):
    width = rnd.choice((1000, 3000, 10000))
    buckets = by_bucket(samples, keep, width)
    rows, why = ask(database, ["timeline per %dus" % width,
                               *without_views(words)])
    if rows is None:
        return why
    got = {round(r["time_s"] * 1e6) // width:
           (r["samples"], round((r["seconds"] or 0) * 1e6),
            round((r["ran_s"] or 0) * 1e6)) for r in rows}
    want = {b: (0, 0, 0) for b in range(min(buckets), max(buckets) + 1)} \
        if buckets else {}
    for b, bucket in buckets.items():
        want[b] = (len(bucket), sum(s.weight for s in bucket),
                   sum(s.weight for s in bucket if s.status & 3))
    return None if got == want else "%r" % (set(got.items()) ^
                                            set(want.items()),)


def check_hottest(database, rnd, samples, words, keep, shown):
    width = rnd.choice((3000, 10000))
    buckets = by_bucket(samples, keep, width)
    order = sorted(buckets, key=lambda b: (-ran_of(buckets[b]), b))[:5]
    rows, why = ask(database, ["hottest 5 per %dus" % width, *words])
    if rows is None:
        return why
    got = [(round(r["time_s"] * 1e6) // width, r["samples"],
            round((r["function_s"] or 0) * 1e6), r["function_pct"])
           for r in rows]
    want = []
    for b in order:
        of = count(buckets[b], lambda s: [x[:2] for x in s.stack if shown(x)])
        best = [c.self for k, c in of.items()
                if k[1] != TASK_FILE and c.self[0]]
        best = max(best, key=lambda c: (c[2], c[0]), default=[0] * 4)
        times = {c.self[3] for k, c in of.items() if k[1] != TASK_FILE and
                 (c.self[2], c.self[0]) == (best[2], best[0])} or {0}
        want.append((b, len(buckets[b]), times,
                     100 * best[2] / len(buckets[b])))
    good = len(got) == len(want) and all(
        g[:2] == w[:2] and g[2] in w[2] and abs((g[3] or 0) - w[3]) < 0.006
        for g, w in zip(got, want))
    return None if good else "%r, not %r" % (got, want)


def check_per_time(database, rnd, samples, words, keep, shown):
    width = rnd.choice((3000, 10000))
    buckets = by_bucket(samples, keep, width)
    rows, why = ask(database, ["top 1000 per %dus" % width, *words])
    if rows is None:
        return why
    want = {}
    for b, bucket in buckets.items():
        for k, c in count(bucket, lambda s: [x[:2] for x in s.stack
                                             if shown(x)]).items():
            if k[1] != TASK_FILE:
                want[(b, *k)] = c, bucket
    got = {(round(r["time_s"] * 1e6) // width, r["function"], r["file"]): r
           for r in rows}
    if got.keys() != want.keys():
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, (c, bucket) in want.items():
        if not same_amounts(got[k], c, len(bucket)):
            return "%r: %r, not %r %r" % (k, got[k], c.self, c.total)
    return None


def check_range(database, rnd, samples, words, keep, shown):
    """A range of time is a bucket of its own."""
    begin = 1000 * rnd.randrange(20)
    width = 1000 * rnd.randrange(1, 40)
    moved = [s._replace(time=s.time - begin) for s in samples]
    chosen = by_bucket(moved, keep, width).get(0, [])
    want = count(chosen, lambda s: [x[:2] for x in s.stack if shown(x)])
    want = {k: c for k, c in want.items() if k[1] != TASK_FILE}
    rows, why = ask(database, ["top 1000 between %dus and %dus" %
                               (begin, begin + width), *words])
    if rows is None:
        return why
    got = {(r["function"], r["file"]): r for r in rows}
    if got.keys() != want.keys():
        return "other rows: %r" % (set(got) ^ set(want),)
    for k, row in got.items():
        if not same_amounts(row, want[k], len(chosen)):
            return "%r: %r, not %r %r" % (k, row, want[k].self, want[k].total)
    return None


CHECKS = (check_units, check_units, check_parts, check_edges, check_stacks,
          check_paths, check_trees, check_threads, check_tasks, check_opcodes,
          check_timeline, check_hottest, check_per_time, check_range)


def check_database(rnd, folder, number):
    paths, samples = [], []
    for i in range(rnd.choice((1, 1, 2, 3))):
        profile = make(rnd, i)
        path = os.path.join(folder, "%d-%d.bin" % (number, i))
        status, why = harness.feed(profile, path)
        assert status == 0, why
        paths.append(path)
        samples += samples_of(i, profile)
    database = os.path.join(folder, "%d.db" % number)
    subprocess.run([os.path.join(os.environ["BIN"], "pyconv"), *paths, "--to",
                    "sqlite", "-q", "-f", "-o", database], check=True)
    names = {x[0] for s in samples for x in s.stack}
    for _ in range(QUESTIONS):
        words, keep, shown = question(rnd)
        check = rnd.choice(CHECKS)
        why = check(database, rnd, samples, words, keep, shown)
        # a name that no stack of this profile has is refused
        if why and "is called" in why and any(
                "'%s'" % f[1] in why for f in FUNCTIONS if f[1] not in names):
            continue
        if why and "label" in why and "is called" in why:
            continue
        if why:
            return "%s %s: %s" % (check.__name__, " ".join(words), why)
    return None


def main(seed, number):
    print("# seed %d" % seed)
    rnd = random.Random(seed)
    folder = tempfile.mkdtemp()
    failed = 0
    for i in range(number):
        why = check_database(rnd, folder, i)
        if why:
            failed += 1
            print("not ok database %d of seed %d\n%s" % (i, seed, why))
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
    shutil.rmtree(folder)
    print("%s %d questions of %d databases are answered as counted" %
          ("not ok" if failed else "ok", QUESTIONS * number, number))
    return 1 if failed else 0


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(given[0] if given else random.randrange(1 << 32),
                  given[1] if len(given) > 1 else 200))
