"""asyncio tasks: who awaits whom, and where each of them stands."""

import json
import re

import live
from live import expect


def each_task_python(test):
    for version in ("3.14", "3.15"):
        live.tests.append(("%s on %s" % (live.sentence(test), version), test,
                           (live.PYTHONS[version],)))
    return test


def all_tasks(target):
    done = live.succeed(live.PYREC, "--tasks", "--json", "-p", target.pid)
    tasks = json.loads(done.stdout)["tasks"]
    return {task["name"]: task for task in tasks}, tasks


def functions(task):
    return [frame["function"] for frame in task["frames"]]


@each_task_python
def tasks_are_shown_with_their_coroutines_and_waiters(python):
    with live.Target(python, "tasks.py") as target:
        live.wait_until(lambda: all_tasks(target)[0]["runner"]["running"],
                        "the runner runs")
        named, tasks = all_tasks(target)
        names = {task["id"]: task["name"] for task in tasks}
        stated = target.portrait

        def waiters(name):
            return sorted(names[i] for i in named[name]["awaited_by"])

        expect(functions(named["shared"]) ==
               ["Event.wait", "innermost", "middle", "waits"],
               "shared stands in %s", functions(named["shared"]))
        expect(waiters("shared") == ["first", "second \udcff"],
               "shared is awaited by %s", waiters("shared"))
        expect(waiters("first") == [], "first is awaited by %s",
               waiters("first"))
        expect(functions(named["deep"]) ==
               ["Event.wait"] + ["deep"] * (stated["depth"] + 1),
               "deep stands in %d frames", len(named["deep"]["frames"]))
        expect(stated["unnamed"] in named, "%s is not shown", stated["unnamed"])
        expect(named["runner"]["running"], "the runner does not run")
        expect(functions(named["runner"])[-1] == "spins", "the runner is in %s",
               functions(named["runner"]))
        expect(not named["deep"]["running"], "a waiting task runs")


@each_task_python
def the_task_of_an_ended_thread_belongs_to_no_thread(python):
    with live.Target(python, "tasks.py") as target:
        named, _ = all_tasks(target)
        expect(named["left over"]["tid"] == 0, "it belongs to thread %d",
               named["left over"]["tid"])
        expect(named["shared"]["tid"] == target.pid, "shared is of thread %d",
               named["shared"]["tid"])


@each_task_python
def asynchronous_generators_are_part_of_the_chain(python):
    with live.Target(python, "awaits.py") as target:
        named, _ = all_tasks(target)
    chains = {"async for": ["sleep", "agen", "consumer"],
              "nested async for": ["sleep", "agen", "outer_agen", "consumer"],
              "anext": ["sleep", "agen"],
              "aclose": ["sleep", "agen_with_cleanup"],
              "fake": []}
    for name, chain in chains.items():
        expect(functions(named[name]) == chain, "%s stands in %s", name,
               functions(named[name]))


@each_task_python
def every_task_is_listed_whatever_its_coroutine_is(python):
    with live.Target(python, "awaits.py") as target:
        done = live.succeed(live.PYREC, "--tasks", "--json", "-p", target.pid)
        stated = target.portrait["tasks"]
    answer = json.loads(done.stdout)
    names = sorted(task["name"] for task in answer["tasks"])
    expect(answer["lost"] == 0, "%d are lost", answer["lost"])
    expect(names == stated, "%d tasks of %d", len(names), len(stated))


@each_task_python
def a_running_task_has_the_state_of_its_thread(python):
    with live.Target(python, "awaits.py") as target:
        live.record(target, "sleeps.bin", "--async", "running", "-r", 100,
                    seconds=1)
    with live.Target(python, "tasks.py") as target:
        live.record(target, "works.bin", "--async", "running", "-r", 100,
                    seconds=1)
    has_gil = "SELECT sum(n) FROM run WHERE status & 1 = %d"
    sleeps, works = live.Database("sleeps.bin"), live.Database("works.bin")
    expect(sleeps.samples() and not sleeps.value(has_gil % 1),
           "a task whose thread sleeps holds the GIL: %s",
           sleeps.value(has_gil % 1))
    expect(works.value(has_gil % 1) and not works.value(has_gil % 0),
           "a task whose thread computes holds no GIL: %s",
           works.value(has_gil % 0))


def counts(profile):
    """The counters of a profile, summed over its threads."""
    info = live.succeed(live.PYCONV, "--info", profile).stdout
    return {name: int(value) for name, value in
            re.findall(r"(?m)^(\w+) +(\d+)$", info)}


@each_task_python
def a_deep_stack_of_tasks_keeps_both_ends_and_says_what_is_left_out(python):
    limit = 50
    with live.Target(python, "tasks.py") as target:
        depth = target.portrait["depth"]
        live.record(target, "run.bin", "--async", "all", "-r", 50,
                    "--max-depth", limit, seconds=1)
    profile = live.Database("run.bin")
    stacks = [(n, stack) for _, n, stack in profile.stacks() if "deep" in stack]
    deep = [stack for _, stack in stacks]
    # deep() calls, Event.wait and the marker of the task
    omitted = depth + 3 - (limit - 1)
    marker = "<%d frames omitted>" % omitted
    expect(deep and all(len(stack) == limit and marker in stack and
                        stack[0] == "deep" and stack[-1] == "Event.wait"
                        for stack in deep), "%s: %s", marker, deep)
    counted = counts("run.bin")["skipped_frames"]
    expect(counted == omitted * sum(n for n, _ in stacks), "%d counted of %s",
           counted, stacks)


@each_task_python
def recorded_tasks_are_linear_stacks(python):
    with live.Target(python, "tasks.py") as target:
        live.record(target, "run.bin", "--async", "all", "-r", 100, seconds=1)
    stacks = {tuple(stack): n
              for _, n, stack in live.Database("run.bin").stacks()}
    chain = ("joins", "shared (2 parents)", "waits", "middle", "innermost",
             "Event.wait")
    found = [stack for stack in stacks if stack[1:] == chain]
    expect(len(found) == 1 and found[0][0] in ("first", "second \udcff"),
           "%s", sorted(stacks))
    expect(("left over", "unfinished") in stacks, "%s", sorted(stacks))


@each_task_python
def the_running_task_is_recorded_with_the_functions_it_calls(python):
    with live.Target(python, "tasks.py") as target:
        live.record(target, "run.bin", "--async", "running", "-r", 100,
                    seconds=1)
    stacks = list(live.Database("run.bin").stacks())
    expect(stacks, "no samples")
    for _, _, stack in stacks:
        runner = stack[stack.index("runner"):]
        expect(runner[:3] == ["runner", "spins", "spin"], "%s", stack)


@each_task_python
def a_thread_that_runs_no_task_is_left_out_and_counted(python):
    with live.Target(python, "many.py", 1) as target:
        done = live.call(live.PYREC, "-p", target.pid, "-o", "run.bin", "-q",
                         "--async", "running", "-r", 100, "-d", 2)
        expect(done.returncode == 1 and "that the options choose" in
               done.stderr, "status %d: %s", done.returncode, done.stderr)
    with live.Target(python, "tasks.py") as target:
        live.record(target, "run.bin", "--async", "running", "-r", 100,
                    seconds=1)
    count = counts("run.bin")
    samples = live.Database("run.bin").samples()
    # each tick has a sample of the one thread, or its task does not run; a
    # task that was lost may be another one
    known = samples + count.get("skipped_async", 0)
    expect(known <= count["ticks"] <= known + count.get("lost_torn", 0),
           "%d samples, %s", samples, count)


@live.once
def a_python_that_cannot_show_tasks_says_so():
    python = live.PYTHONS["3.13"] or live.PYTHONS["3.11"]
    if not python:
        raise live.Skip("no Python before 3.14 here")
    with live.Target(python, "sleeper.py") as target:
        done = live.call(live.PYREC, "--tasks", "-p", target.pid)
        expect(done.returncode == 8, "status %d", done.returncode)
        expect("3.14 is the first" in done.stderr, "%s", done.stderr)


live.run()
