"""The dump: every thread is there, and says why it has no stack."""

import json

import live
from live import expect


def dump(target, *options):
    done = live.succeed(live.PYREC, "--dump", "--json", "-p", target.pid,
                        *options)
    threads = json.loads(done.stdout)["threads"]
    return {thread["name"]: thread for thread in threads}


def states(python):
    target = live.Target(python, "states.py")
    live.wait_until(lambda: all(
        thread["frames"] for thread in dump(target).values()),
        "all threads are at work")
    return target


@live.each_python
def a_thread_that_an_option_leaves_out_says_so(python):
    with states(python) as target:
        for option, value, kept in (("--mode", "exception", {"handler"}),
                                    ("--threads", "main", {"MainThread"})):
            threads = dump(target, option, value)
            expect(set(threads) == {"MainThread", "busy", "idle", "handler"},
                   "%s: threads %s", value, sorted(threads))
            for name, thread in threads.items():
                expect(thread["sampled"] == (name in kept), "%s %s: %s", value,
                       name, thread)
                expect(thread.get("left_out_by") ==
                       (None if name in kept else option[2:]), "%s", thread)
                expect(thread["main_thread"] == (name == "MainThread"), "%s",
                       thread)
        text = live.succeed(live.PYREC, "--dump", "-p", target.pid,
                            "--threads", "main").stdout
        expect(text.count("(left out by --threads)") == 3, "%s", text)


@live.each_python
def opcodes_are_shown_by_name(python):
    opmap = json.loads(live.succeed(
        python, "-c", "import json, opcode; print(json.dumps({**{name: n for "
        "n, name in enumerate(opcode.opname)}, **getattr(opcode, "
        "'_specialized_opmap', {})}))").stdout)
    with states(python) as target:
        threads = dump(target, "--opcodes")
        text = live.succeed(live.PYREC, "--dump", "-p", target.pid,
                            "--opcodes").stdout
    for thread in threads.values():
        for frame in thread["frames"]:
            name, number = frame["opcode_name"], frame["opcode"]
            expect(opmap.get(name, number) == number, "%s is not %d", name,
                   number)
    named = [frame["opcode_name"] for thread in threads.values()
             for frame in thread["frames"] if frame["opcode_name"] in opmap]
    expect(named, "no opcode that the module opcode knows: %s", threads)
    expect(threads["idle"]["frames"][0]["opcode_name"] in text, "%s", text)


@live.once
def a_thread_without_a_task_is_left_out_by_async():
    python = live.PYTHONS["3.15"] or live.PYTHONS["3.14"]
    if not python:
        raise live.Skip("no Python from 3.14 on here")
    with live.Target(python, "awaits.py") as target:
        threads = dump(target, "--async", "running")
        expect(threads["MainThread"]["frames"], "%s", threads)
        expect(threads["MainThread"]["main_thread"], "%s", threads)
        expect(threads["idle"]["left_out_by"] == "async", "%s", threads)


live.run()
