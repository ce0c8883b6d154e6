"""The identity of a thread: its kernel id, whatever its thread state says, and its
name, as the module threading knows it."""

import os

import live
from live import expect


def functions_of(profile):
    return {name for name, in live.Database(profile).rows(
        "SELECT qualname FROM function")}


def lost_of(profile):
    return live.Database(profile).value(
        "SELECT coalesce(sum(value), 0) FROM count WHERE kind LIKE 'lost%'")


def each_forker(test):
    for forker in ("main", "thread"):
        def run(python, forker=forker):
            test(python, forker)
        for version, python in live.PYTHONS.items():
            live.tests.append(("%s by its %s on %s" % (
                live.sentence(test), "main thread" if forker == "main"
                else "second thread", version), run, (python,)))
    return test


@each_forker
def a_child_that_was_forked_in_c_is_recorded(python, forker):
    with live.Target(python, "c_fork.py", forker) as target:
        child = target.portrait["child"]
        live.succeed(live.PYREC, "-p", child, "-o", "run.bin", "-d", 1)
        profile = live.Database("run.bin")
        tids = {tid for tid, in profile.rows(
            "SELECT tid FROM thread JOIN node_self ON thread_id = thread.id")}
        expect(tids == {child}, "threads %s of process %d", tids, child)
        names = functions_of("run.bin")
        expect("child_work" in names and "parent_work" not in names,
               "functions %s", names)


@live.each_python
def children_forked_in_c_are_recorded_with_their_parent(python):
    with live.Target(python, "c_fork.py", "main") as target:
        child = target.portrait["child"]
        live.succeed(live.PYREC, "--children", "-p", target.pid, "-o",
                     "run.bin", "-d", 1.5)
        files = [name for name in os.listdir(".") if str(child) in name and
                 name.endswith(".bin")]
        expect(len(files) == 1, "files %s", os.listdir("."))
        expect("child_work" in functions_of(files[0]), "functions %s",
               functions_of(files[0]))


@live.each_python
def threads_have_the_names_that_threading_gave_them(python):
    with live.Target(python, "named.py") as target:
        live.record(target, "run.bin", seconds=1)
        stated = sorted(target.portrait["names"])
    names = sorted(name for name, in live.Database("run.bin").rows(
        "SELECT name FROM thread"))
    expect(names == stated, "%s instead of %s", names, stated)


live.run()
