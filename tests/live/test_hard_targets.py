"""Programs that make a recorder's life hard."""

import os
import re
import subprocess

import growing
import live
from live import expect


def recorded(python, program, *arguments, options=(), seconds=2, status=0):
    with live.Target(python, program, *arguments) as target:
        live.record(target, "run.bin", *options, seconds=seconds)
        return target.portrait, live.Database("run.bin", status=status)


@live.each_python
def a_stack_of_20000_frames_keeps_both_ends_around_a_marker(python):
    stated, database = recorded(python, "deep.py", 20000)
    stacks = list(database.stacks())
    total = sum(n for _, n, _ in stacks)
    whole = 0
    for _, n, stack in stacks:
        marker = [re.fullmatch(r"<(\d+) frames omitted>", name)
                  for name in stack]
        omitted = [int(match.group(1)) for match in marker if match]
        if len(omitted) != 1:
            continue
        expect(len(stack) - 1 + omitted[0] in (stated["depth"], stated["depth"] + 1),
               "%d frames and %d omitted", len(stack) - 1, omitted[0])
        expect(stack[0] == "<module>", "%s at the bottom", stack[0])
        whole += n if stack[-1] in ("bottom", "over", "publish") else 0
    expect(whole >= 0.95 * total, "%d of %d samples are whole", whole, total)
    expect(total > 0, "no samples")


@live.each_python
def names_that_no_format_likes_are_recorded_and_shown(python):
    stated, database = recorded(python, "names.py")
    shown = {name for name, in database.rows("SELECT qualname FROM function")}
    for name in stated["names"]:
        # what no text may hold is shown as the replacement character
        wanted = "".join("\ufffd+" if c == "\0" or "\ud800" <= c <= "\udfff"
                         else re.escape(c) for c in name)
        expect(any(re.fullmatch(wanted, have, re.DOTALL) for have in shown),
               "no %r", name[:40])
    text = live.succeed(live.PYCONV, "run.bin", "--to", "collapsed", "-o",
                        "-").stdout
    for line in text.splitlines():
        expect(re.fullmatch(r".* \d+", line), "no count in %r", line[-60:])
    live.succeed(live.PYCONV, "run.bin", "--to", "pstats", "-o", "p.pstats")
    live.succeed(live.PYCONV, "run.bin", "--to", "speedscope", "-o",
                 "p.json")


@live.each_python
def a_thread_that_ends_costs_the_others_nothing(python):
    def measure():
        portrait, database = recorded(python, "churn.py",
                                      options=("-r", "2k"))
        rows = database.rows("SELECT samples, coalesce(lost, 0) FROM thread"
                             " WHERE tid = ?", portrait["stays"])
        expect(len(rows) == 1, "the thread that stays has %d rows", len(rows))
        samples, lost = rows[0]
        ticks = int(database.meta("count.ticks"))
        # ticks in which the list of threads changed during each read
        of_all = database.value("SELECT coalesce(sum(n), 0) FROM loss"
                                " WHERE thread_id IS NULL")
        print("# %d ticks, %d samples, %d and %d lost" % (
            ticks, samples, lost, of_all))
        expect(samples + lost + of_all == ticks,
               "%d samples, %d and %d lost at %d ticks", samples, lost, of_all,
               ticks)
        return {"the lost part": (lost + of_all) / ticks}

    live.expect_within(0.05, measure)


@live.each_python
def two_thousand_idle_threads_are_seen_at_each_tick(python):
    # how many ticks there are is the machine's to say, not the recorder's
    stated, database = recorded(python, "many.py", 2000, options=("-r", "100"))
    ticks = int(database.meta("count.ticks"))
    print("# %d ticks, %s missed" % (ticks, database.meta("count.missed")))
    expect(ticks > 0, "no ticks")
    seen = dict(database.rows("SELECT tid, samples FROM thread"))
    unseen = [(tid, seen.get(tid)) for tid in stated["idle"]
              if seen.get(tid) != ticks]
    expect(not unseen, "%d threads were not seen at each of %d ticks: %s",
           len(unseen), ticks, unseen[:5])


@live.each_python
def sub_interpreters_are_told_apart(python):
    stated, database = recorded(python, "interpreters.py")
    seen = database.rows(
        "SELECT interp, count(DISTINCT tid) FROM thread WHERE samples > 0"
        " GROUP BY interp")
    expect(len(seen) == stated["interpreters"], "interpreters %s", seen)
    functions = {name for name, in
                 database.rows("SELECT qualname FROM function")}
    expect({"in_main", "in_sub"} <= functions, "functions %s", functions)


@live.each_python
def an_exec_is_noticed_marked_and_recorded_on(python):
    with live.Target(python, "exec.py") as target:
        recorder = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin"],
            stderr=subprocess.PIPE, text=True)
        growing.wait_for_name("run.bin", b"before")
        target.process.stdin.write(b"now\n")
        target.process.stdin.flush()
        again = target.read_portrait("exec.py")
        expect(again["again"] and again["pid"] == target.pid, "not itself")
        growing.wait_for_name("run.bin", b"after")
        recorder.terminate()
        _, stderr = recorder.communicate(timeout=live.PATIENCE)
    expect(recorder.returncode == 0, "status %d: %s", recorder.returncode,
           stderr)
    database = live.Database("run.bin")
    functions = {name for name, in
                 database.rows("SELECT qualname FROM function")}
    expect({"before", "after"} <= functions, "functions %s", functions)
    marks = database.value("SELECT count(*) FROM event WHERE kind = 'exec'")
    expect(marks == 1, "%d marks", marks)


@live.each_python
def a_line_table_of_any_size_gives_the_right_line(python):
    stated, database = recorded(python, "line_table.py", 40000)
    lines = {line for line, in database.rows(
        "SELECT DISTINCT line FROM frame JOIN function"
        " ON function.id = frame.function_id WHERE qualname = 'large'")}
    expect(lines and lines <= set(stated["lines"]), "lines %s of %s",
           sorted(lines)[:10], stated["lines"])


@live.each_python
def a_program_that_imports_all_the_time_loses_no_sample(python):
    def measure():
        _, database = recorded(python, "imports.py")
        samples, lost, unproven = database.rows(
            "SELECT sum(samples), coalesce(sum(lost), 0),"
            " coalesce(sum(unproven), 0) FROM thread")[0]
        print("# %d samples, %d lost, %d unproven" % (samples, lost, unproven))
        # an attempt that failed may leave a name in the file, but no sample
        seen = {name for _, _, stack in database.stacks() for name in stack}
        expect("<unknown>" not in seen, "a function without a name")
        return {"the lost or unproven part": (lost + unproven) / samples}

    # 5 to 20 % were lost where a known address hid another object; a thread
    # that changes its CPU may cost some
    live.expect_within(0.02, measure)


def stay_on_one_cpu():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def reads_a_sample(python, kind):
    """The target does not move between CPUs: to follow it costs reads, too."""
    with live.Target(python, "frees.py", kind,
                     preexec_fn=stay_on_one_cpu) as target:
        live.record(target, "run.bin", "-f")
    database = live.Database("run.bin")
    expect(database.samples() > 20, "%d samples", database.samples())
    # without the reads of attaching; some others come with the time, not with
    # a sample, so that a busy machine adds to the quotient
    reads = int(database.meta("stats.batched_read_attempts"))
    return reads / database.samples()


@live.each_python
def code_objects_that_are_freed_elsewhere_cost_no_reads(python):
    keeps, frees = [], []
    while len(keeps) < 6 and (not keeps or min(frees) > 1.3 * min(keeps)):
        keeps.append(reads_a_sample(python, "keeps"))
        frees.append(reads_a_sample(python, "frees"))
    print("# reads a sample:", *("%.2f" % n for n in keeps + frees))
    expect(min(frees) <= 1.3 * min(keeps), "%s reads a sample instead of %s",
           frees, keeps)


@live.each_python
def a_second_recorder_sees_the_same(python):
    with live.Target(python, "plain.py") as target:
        for i in range(2):
            live.record(target, "run%d.bin" % i, seconds=1)
    for i in range(2):
        seen = {name for name, in live.Database("run%d.bin" % i).rows(
            "SELECT qualname FROM function")}
        expect(seen >= set(target.portrait["seen"]), "not seen: %s",
               set(target.portrait["seen"]) - seen)


live.run()
