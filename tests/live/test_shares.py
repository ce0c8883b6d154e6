"""Shares of the time against the program's own clock."""

import bisect
import struct

import live
import shares

ON_CPU = 2
SAMPLES = 40000
RATE = 5000
# A round is quiet if its thread had a processor for this part of it; at this
# rate the sampler takes a seventh.
QUIET = 0.7
# A recording has some 300; on a busy machine few of them are quiet.
ENOUGH_ROUNDS = 60


class Rounds:
    """What tests/targets/shares.py wrote about its rounds."""

    def __init__(self, path, functions):
        with open(path, "rb") as file:
            n, = struct.unpack("Q", file.read(8))
            row = struct.Struct("%dQ" % (2 + functions))
            self.rows = list(row.iter_unpack(file.read(n * row.size)))
        self.begins = [row[0] for row in self.rows]

    def at(self, ns):
        """The number of a round; None: it is not in the file."""
        i = bisect.bisect_right(self.begins, ns) - 1
        return i if i >= 0 and ns <= self.rows[i][1] else None

    def times(self, i):
        """Processor time of each function; None: the round was not quiet."""
        begin, end, *times = self.rows[i]
        return times if sum(times) >= QUIET * (end - begin) else None


def seen(names, rounds):
    """{round: [samples of each function]}; those of the loop that calls and
    reads the clock fall to all alike, as its time does."""
    database = live.Database("run.bin")
    start_us = database.value("SELECT start_us FROM profile")
    found = {}
    for name, t0_us, n in database.rows(
            "SELECT qualname, t0_us, n FROM run JOIN node ON node.id = node_id"
            " JOIN function ON function.id = function_id WHERE status & ?",
            ON_CPU):
        counts = found.setdefault(rounds.at(1000 * (start_us + t0_us)),
                                  [0] * len(names))
        for i, each in enumerate(names):
            counts[i] += n if name == each else n / len(names) * (
                name == "loop")
    found.pop(None, None)
    return found


def deviations(python):
    """{function: standard errors by which it has too many samples}, by the
    rounds in which the program did not wait for a processor."""
    with live.Target(python, "shares.py", "rounds",
                     preferred=True) as target:
        names = target.portrait["names"]
        live.record(target, "run.bin", "-f", "-r", RATE,
                    seconds=SAMPLES // RATE)
        rounds = Rounds("rounds", len(names))
    counted = seen(names, rounds)
    # the first and the last one were recorded in part
    whole = sorted(counted)[1:-1]
    quiet = [i for i in whole if rounds.times(i)]
    print("# %d of %d rounds are quiet" % (len(quiet), len(whole)))
    if len(quiet) < ENOUGH_ROUNDS:
        raise live.Skip("the machine is busy, %d of %d rounds were quiet" %
                        (len(quiet), len(whole)))
    off = {}
    for i, name in enumerate(names):
        blocks = [(counted[k][i], sum(counted[k]),
                   rounds.times(k)[i] / sum(rounds.times(k))) for k in quiet]
        off[name] = shares.deviation(blocks)
        print("# %s: %d samples, %+.1f standard errors" % (
            name, sum(block[0] for block in blocks), off[name]))
    return off


@live.each_python
def self_time_shares_are_those_of_the_programs_own_clock(python):
    # 48 shares at most, each beyond one side with p < 1e-4: 1e-6 a run
    live.expect_within(shares.STANDARD_ERRORS, lambda: deviations(python))


# ---- threads one after another ----

BRIEF_S = 8
BRIEF_US = 1000  # the interval


def begins_and_ends(path):
    """[(begin of a round, begin of its thread's work, end)] in ns, whole
    rounds."""
    with open(path, "rb") as file:
        n, = struct.unpack("Q", file.read(8))
        return list(struct.iter_unpack("3Q", file.read(24 * n)))


def in_rounds(rounds, condition):
    """{round: samples} of the runs that meet the condition."""
    database = live.Database("run.bin")
    start_us = database.value("SELECT start_us FROM profile")
    begins = [begin for begin, _, _ in rounds]
    found = {}
    for t0_us, n in database.rows(
            "SELECT run.t0_us, n FROM run JOIN thread ON thread.id = thread_id"
            " LEFT JOIN node ON node.id = node_id"
            " LEFT JOIN function ON function.id = function_id"
            " WHERE " + condition):
        i = bisect.bisect_right(begins, 1000 * (start_us + t0_us)) - 1
        found[i] = found.get(i, 0) + n
    return found


def brief_deviation(python):
    """{"work": standard errors by which threads have too many samples}, by the
    rounds in which no tick was missed."""
    with live.Target(python, "in_turn.py", "rounds", preferred=True) as target:
        live.record(target, "run.bin", "-f", seconds=BRIEF_S)
        rounds = begins_and_ends("rounds")
    works = in_rounds(rounds, "qualname = 'work'")
    ticks = in_rounds(rounds, "is_main")
    blocks = []
    for i in sorted(ticks)[1:-1]:
        if not 0 <= i < len(rounds) - 1:
            continue
        begin, work, end = rounds[i]
        length = rounds[i + 1][0] - begin
        if abs(ticks[i] - length / 1000 / BRIEF_US) < 1.5:
            blocks.append((works.get(i, 0), ticks[i], (end - work) / length))
    print("# %d of %d rounds are quiet" % (len(blocks), len(ticks)))
    if len(blocks) < ENOUGH_ROUNDS:
        raise live.Skip("the machine is busy, %d of %d rounds were quiet" %
                        (len(blocks), len(ticks)))
    off = shares.deviation(blocks)
    print("# %d samples of work, %+.1f standard errors" % (
        sum(own for own, _, _ in blocks), off))
    return {"work": off}


@live.each_python
def brief_threads_have_the_share_of_their_own_clock(python):
    live.expect_within(shares.STANDARD_ERRORS, lambda: brief_deviation(python))


live.run()
