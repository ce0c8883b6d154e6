"""Recordings of a program that describes itself: all names, files and lines
are its own, and every output of the file has the same samples."""

import collections
import functools
import json
import os

import live
from live import expect


SECONDS = 2


@functools.lru_cache(maxsize=None)
def recorded(python):
    """One recording for all tests: portrait, file, database."""
    profile = os.path.abspath("run.bin")
    with live.Target(python, "plain.py") as target:
        live.record(target, profile, seconds=SECONDS)
        return target.portrait, profile, live.Database(profile)


@live.each_python
def functions_files_and_lines_are_the_programs_own(python):
    stated, _, database = recorded(python)
    known = {(f["file"], f["name"], f["first"]): set(f["lines"])
             for f in stated["functions"]}
    seen = set()
    for file, name, first, line in database.rows(
            "SELECT path, qualname, first_line, line FROM frame"
            " JOIN function ON function.id = frame.function_id"
            " JOIN file ON file.id = function.file_id"):
        expect((file, name, first) in known,
               "the program has no %s in %s at line %s", name, file, first)
        expect(line in known[file, name, first],
               "%s has no line %s", name, line)
        seen.add(name)
    expect(seen >= set(stated["seen"]), "not seen: %s",
           set(stated["seen"]) - seen)


@live.each_python
def every_caller_of_a_function_is_one_the_program_has(python):
    stated, _, database = recorded(python)
    edges = set(map(tuple, stated["edges"]))
    threads = dict(database.rows("SELECT id, tid FROM thread"))
    root = {stated["main_thread"]: "<module>",
            stated["worker_thread"]: "Thread._bootstrap"}
    expect(set(threads.values()) == set(root), "threads %s", threads)
    for thread, _, stack in database.stacks():
        if not stack:
            continue
        expect(stack[0] == root[threads[thread]], "%s at the bottom of %s",
               stack[0], threads[thread])
        for edge in zip(stack, stack[1:]):
            expect(edge in edges, "%s never calls %s", *edge)


@live.each_python
def the_main_thread_is_known_as_such(python):
    stated, _, database = recorded(python)
    mains = database.rows(
        "SELECT tid FROM thread WHERE is_main = 1")
    expect(mains == [(stated["main_thread"],)], "main threads: %s", mains)


@live.each_python
def all_outputs_count_the_same_samples(python):
    _, profile, database = recorded(python)
    samples = live.header_samples(profile)
    expect(samples > 0, "no samples")
    for table in ("run", "node_self"):
        expect(database.value("SELECT sum(n) FROM " + table) == samples,
               "%s counts other samples than the header", table)
    threads = database.value("SELECT sum(samples) FROM thread")
    expect(threads == samples, "thread counts %d of %d", threads, samples)
    collapsed = live.succeed(live.PYCONV, profile, "--to", "collapsed",
                             "-o", "-").stdout
    counted = sum(int(line.rsplit(" ", 1)[1])
                  for line in collapsed.splitlines())
    expect(counted == samples, "collapsed counts %d of %d", counted, samples)


@live.each_python
def each_tick_has_a_sample_of_each_thread(python):
    _, _, database = recorded(python)
    ticks, missed = (int(database.meta("count." + name) or 0)
                     for name in ("ticks", "missed"))
    # how many of 1,000 a second were missed is the machine's to say
    expect(ticks and ticks + missed >= 0.99 * 1000 * SECONDS,
           "%d ticks and %d missed", ticks, missed)
    for tid, samples, lost in database.rows(
            "SELECT tid, samples, coalesce(lost, 0) FROM thread"):
        expect(samples + lost == ticks, "thread %d: %d samples and %d lost at "
               "%d ticks", tid, samples, lost, ticks)


@live.each_python
def stock_replay_makes_the_same_collapsed_stacks(python):
    if not live.STOCK:
        raise live.Skip("no CPython 3.15 as peer")
    _, profile, database = recorded(python)
    live.succeed(live.STOCK, "-m", "profiling.sampling", "replay",
                 "--collapsed", "-o", "stock.txt", profile)
    live.succeed(live.PYCONV, profile, "--to", "collapsed", "--style",
                 "stock", "-o", "ours.txt")
    with open("stock.txt", "rb") as stock, open("ours.txt", "rb") as ours:
        expect(stock.read() == ours.read(), "stock.txt and ours.txt differ")


@live.each_python
def the_query_program_ranks_functions_as_the_stacks_do(python):
    _, profile, database = recorded(python)
    own = collections.Counter()
    for _, n, stack in database.stacks():
        own[stack[-1]] += n
    answer = json.loads(live.succeed(live.PYQUERY, "--json", profile,
                                     "top 1000 by self").stdout)
    ranked = [dict(zip(answer["columns"], row)) for row in answer["rows"]]
    found = collections.Counter()
    for row in ranked:
        found[row["function"]] += row["self_samples"]
    expect(+found == own, "%s is not %s", found, own)
    counts = [row["self_samples"] for row in ranked]
    expect(counts == sorted(counts, reverse=True), "%s", ranked)


live.run()
