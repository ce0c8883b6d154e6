#!/usr/bin/env python3
"""Every writer with every reader, over generated profiles, sample by sample.

    test_matrix.py [SEED]

Writers: the library with checkpoints, with many small ones, and plain;
CPython 3.15 with zstd and plain.  Readers: the library, the second decoder,
CPython 3.15.  W4, W5, W6, R1, R3, R12, R13, R14, R15, F5, F6, F8; ranges of
time R10, F4; decoding threads R11.
"""

import os
import random
import sys
import tempfile

import harness
import profiles

NOTES = ("meta", "rates", "counts", "gc", "tasks", "marks")
STOCK_DEPTH = 256  # CPython 3.15.2 Modules/_remote_debugging/binary_io.h

OURS = {"ours": (1, 0, 0), "ours-segments": (1, 0, 3000),
        "ours-archive": (1, 19, 0), "ours-plain": (0, 0, 0)}
STOCK = {"stock-zstd": 1, "stock-plain": 0}


def depth(profile):
    return max((len(stack) for thread in profile.threads.values()
                for stack, _ in thread.runs), default=0)


def stock_can_write(profile):
    try:
        for name in profile.strings:
            name.decode()
    except UnicodeDecodeError:
        return False
    return depth(profile) <= STOCK_DEPTH


class Matrix:
    def __init__(self, results, folder, made):
        self.results, self.folder, self.made = results, folder, made
        self.files = {}  # (writer, name) -> path

    def path(self, writer, name):
        return os.path.join(self.folder, f"{writer}-{name}.bin")

    def write(self):
        for name, profile in self.made:
            for writer, options in OURS.items():
                path = self.path(writer, name)
                status, why = harness.feed(profile, path, *options)
                if self.results.check(f"{writer} writes {name}", status == 0,
                                      why):
                    self.files[writer, name] = path
        if harness.STOCK:
            self.write_stock()

    def write_stock(self):
        jobs = {(writer, name): harness.stock_write_job(
                    profile.plain_keys(), self.path(writer, name), compression)
                for name, profile in self.made if stock_can_write(profile)
                for writer, compression in STOCK.items()}
        for key, result in zip(jobs, harness.stock(list(jobs.values()))):
            if self.results.check(f"{key[0]} writes {key[1]}", not result,
                                  result):
                self.files[key] = jobs[key]["path"]

    def read(self):
        made = dict(self.made)
        for (writer, name), path in self.files.items():
            notes = writer in OURS and writer != "ours-plain"
            self.read_ours(f"{writer} -> library: {name}",
                           f"{writer} -> decoder: {name}",
                           made[name] if notes else made[name].plain_keys(),
                           path, notes)
        if harness.STOCK:
            self.read_stock(made)

    def read_ours(self, by_library, by_decoder, made, path, notes):
        state, library, why = harness.dump(path)
        self.compare(by_library, state, library, why, made, notes)
        state, second, why = harness.decode(path)
        self.compare(by_decoder, state, second, why, made, notes)
        if library and second:
            self.results.check(
                by_library + " as decoder, line by line",
                same_lines(library, second), "the JSON lines differ")

    def compare(self, name, state, got, why, made, notes):
        if not self.results.check(name + " is finished",
                                  state == "finished" and got, why):
            return
        want = made.observed(first_line=notes)
        have = got.observed(first_line=notes)
        self.results.check(name, have == want,
                           harness.first_difference(have, want))
        self.results.check(name + ": start and statistics",
                           (got.start, got.stats) == (made.start, made.stats),
                           (got.start, got.stats))
        if notes:
            wrong = [n for n in NOTES if getattr(got, n) != getattr(made, n)]
            names = {k: (t.main, t.name) for k, t in got.threads.items()}
            wrong += [k for k, t in made.threads.items()
                      if names.get(k) != (t.main, t.name)]
            wrong += [i for i, process in made.processes.items()
                      if got.processes.get(i) != process]
            self.results.check(name + ": notes", not wrong,
                               [(n, getattr(got, n, n)) for n in wrong
                                if isinstance(n, str)] or wrong)

    def read_stock(self, made):
        jobs = [{"op": "read", "path": path} for path in self.files.values()]
        results = harness.stock(jobs)
        for (writer, name), result in zip(self.files, results):
            title = f"{writer} -> stock: {name}"
            profile = made[name]
            if depth(profile) > STOCK_DEPTH:
                self.results.check(
                    title + " is refused for its depth",
                    "exceeds capacity" in result.get("error", ""), result)
                continue
            if not self.results.check(title + " is read",
                                      "error" not in result, result):
                continue
            want = harness.as_stock(profile.plain_keys().observed())
            have = harness.stock_observed(result)
            self.results.check(title, have == want,
                               harness.first_difference(have, want))


def same_lines(library, second):
    return library.json() == second.json()


def between(observed, begin, end):
    """The samples that a full read emits in [begin, end)."""
    cut = {key: [s for s in samples if begin <= s[0] < end]
           for key, samples in observed.items()}
    return {key: samples for key, samples in cut.items() if samples}


def check_ranges(results, matrix, rnd):
    """R10, R11: a read of a range of time emits the samples that a full read
    emits in it, with any number of threads."""
    for (writer, name), path in matrix.files.items():
        whole = harness.dump(path)[1].observed()
        times = sorted(s[0] for mine in whole.values() for s in mine) or [0]
        wrong = []
        for jobs in (1, 3):
            begin, end = sorted(rnd.choice(times) + rnd.randrange(2)
                                for _ in range(2))
            state, part, why = harness.dump(path, begin, end, jobs)
            if state != "finished" or not part or \
                    part.observed() != between(whole, begin, end):
                wrong.append((begin, end, jobs, state, why))
        results.check(f"ranges of {writer}'s {name}", not wrong, wrong)


def check_words(results, folder, seed):
    """Each header word that CPython writes, through all three readers."""
    wrong, paths, starts = [], [], []
    for number, profile in enumerate(profiles.words(seed)):
        path = os.path.join(folder, f"word-{number}.bin")
        status, why = harness.feed(profile, path)
        library, second = harness.dump(path)[1], harness.decode(path)[1]
        if status or not library or not second or \
                not library.start == second.start == profile.start:
            wrong.append((profile.start, why))
        paths.append(path)
        starts.append(profile.start)
    results.check(f"{len(paths)} header words survive library and decoder",
                  not wrong, wrong[:3])
    if not harness.STOCK:
        return
    read = harness.stock([{"op": "read", "path": path} for path in paths])
    wrong = [(start, result) for start, result in zip(starts, read)
             if not word_is(start, result)]
    results.check(f"stock reads {len(paths)} header words as they are meant",
                  not wrong, wrong[:3])


def word_is(start, result):
    info = result.get("info", {})
    mode = None if start["mode"] == 255 else start["mode"]
    capture = start["capture"]
    features = capture >> 4 if capture & 8 else None
    return (info.get("mode", "none"), info.get("capture_features", "none")
            ) == (mode, features)


def main(seed):
    print(f"# seed {seed}")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(results, folder, profiles.generate(
            seed, (*profiles.ALL, profiles.processes)))
        matrix.write()
        matrix.read()
        check_ranges(results, matrix, random.Random(f"{seed} ranges"))
        check_words(results, folder, seed)
        if not harness.STOCK:
            results.skip("CPython 3.15 as writer and reader",
                         "PYREC_STOCK names no interpreter")
    results.exit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1
         else random.SystemRandom().randrange(1 << 32))
