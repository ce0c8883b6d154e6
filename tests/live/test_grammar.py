"""Recordings of programs whose every stack follows a rule: no proven stack that
the rule forbids, almost none lost, and the truth about the depth."""

import functools
import os
import sys

import live
import rules
from live import expect

RATE = 10000
# The most that may be lost or unproven at 1 kHz: of one thread that runs, and
# of several.
ASTRAY = {"tree": 0.005, "threads": 0.02, "interpreters": 0.02}
# The program's part of a processor, below which others had too much of it.
QUIET = 0.75


@functools.lru_cache(maxsize=None)
def recorded(python, kind, rate=RATE, seconds=1, *options):
    """One recording for all tests."""
    return rules.Cell(python, kind, rate, seconds, *options)


def follows_the_rule(kind):
    def test(python):
        cell = recorded(python, kind)
        print("# %d samples, %d lost, %d not proven, %.0f %% of a processor" %
              (cell.samples, cell.lost, cell.unproven, 100 * cell.busy))
        rules.expect_possible(cell)
        expect(cell.samples > 50, "only %d samples in 1 s", cell.samples)
    test.__name__ = rules.KINDS[kind].replace(" ", "_")
    return test


for kind in rules.KINDS:
    live.each_python(follows_the_rule(kind))


def depth_is_that_of_a_stopped_target(python, kind):
    def measure():
        ours = rules.Cell(python, kind, RATE, 1).depth()
        truth = rules.Cell(python, kind, 5000, 1, "--blocking").depth()
        off, limit = rules.depth_off(ours, truth)
        print("# %.2f +- %.2f, stopped %.2f +- %.2f" % (ours + truth))
        return {"the depth": off / limit}

    # 20 blocks of time: 4 standard errors to one side have p < 4e-4, and of 12
    # tests one fails by chance in 250,000 runs
    live.expect_within(1, measure)


@live.each_python
def the_mean_depth_of_a_tree_is_that_of_a_stopped_target(python):
    depth_is_that_of_a_stopped_target(python, "tree")


@live.each_python
def the_mean_depth_of_a_chain_is_that_of_a_stopped_target(python):
    depth_is_that_of_a_stopped_target(python, "chain")


def almost_nothing_is_astray(python, kind):
    def measure():
        cell = rules.Cell(python, kind, 1000, 2, preferred=True)
        print("# %d samples, %d lost, %d unproven, %.0f %% of a processor" %
              (cell.samples, cell.lost, cell.unproven, 100 * cell.busy))
        if cell.busy < QUIET:
            raise live.Skip("the machine is busy, the program ran %.0f %% of "
                            "the time" % (100 * cell.busy))
        return {"lost or unproven": cell.astray() / ASTRAY[kind]}

    live.expect_within(1, measure)


@live.each_python
def almost_no_sample_of_one_thread_is_lost(python):
    almost_nothing_is_astray(python, "tree")


@live.each_python
def almost_no_sample_of_three_threads_is_lost(python):
    almost_nothing_is_astray(python, "threads")


@live.each_python
def almost_no_sample_of_two_interpreters_is_lost(python):
    almost_nothing_is_astray(python, "interpreters")


@live.each_python
def without_rseq_a_thread_is_proven_by_the_count_of_its_runs(python):
    os.environ["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
    try:
        cell = rules.Cell(python, "chain", 1000, 2)
    finally:
        del os.environ["GLIBC_TUNABLES"]
    policy = cell.database.value(
        "SELECT value FROM meta WHERE key = 'recorder.policy'")
    expect("without rseq" in policy, "the target has an rseq: %s", policy)
    rules.expect_possible(cell)
    expect(cell.samples - cell.unproven > 50, "only %d proven samples",
           cell.samples - cell.unproven)


# Runs a program in which getrusage() fails: a seccomp filter that compares the
# number of the system call (linux/filter.h, linux/seccomp.h).
FILTERED = """\
#!%s
import ctypes, os, resource, struct, sys
GETRUSAGE = 98 if os.uname().machine == "x86_64" else 165
program = b"".join(struct.pack("HBBI", *words) for words in [
    (0x20, 0, 0, 0), (0x15, 0, 1, GETRUSAGE), (0x06, 0, 0, 0x00050001),
    (0x06, 0, 0, 0x7fff0000)])
text = ctypes.create_string_buffer(program)
filter = struct.pack("H6xP", 4, ctypes.addressof(text))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter, 0, 0):
    sys.exit("no seccomp filter is permitted")
try:
    resource.getrusage(resource.RUSAGE_SELF)
    sys.exit("the filter lets getrusage() pass")
except PermissionError:
    pass
os.execv("%s", sys.argv)
"""


@live.each_python
def without_counts_of_its_own_switches_pyrec_proves_nothing_by_them(python):
    pyrec = live.PYREC
    with open("filtered", "w") as file:
        file.write(FILTERED % (sys.executable, os.path.abspath(pyrec)))
    os.chmod("filtered", 0o700)
    live.PYREC = os.path.abspath("filtered")
    try:
        cell = rules.Cell(python, "chain", 1000, 2)
    finally:
        live.PYREC = pyrec
    print("# %d samples, %d lost, %d not proven" % (cell.samples, cell.lost,
                                                    cell.unproven))
    rules.expect_possible(cell)
    # the proof "quiet" needs none
    expect(cell.samples - cell.unproven > 50, "only %d proven samples",
           cell.samples - cell.unproven)


live.run()
