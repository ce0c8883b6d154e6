"""Recordings of programs whose every stack follows a rule: no stack that the
rule forbids, and the truth about the depth."""

import functools
import os

import live
from live import expect

# With other work on the machine a few more samples are lost than when idle.
LOST = 0.02


@functools.lru_cache(maxsize=None)
def recorded(python, kind):
    """One recording for all tests: what the program told, and the database."""
    profile = os.path.abspath("run.bin")
    with live.Target(python, "grammar.py", kind) as target:
        live.record(target, profile, seconds=4)
        return target.portrait, live.Database(profile)


# where the program stands when it has just told what it is
TELLING = ["<module>", "main", "tell"]


def tree_allows(stack, told):
    """start, base0 ... base49, node, node_a, node_ab, ..."""
    base = ["base%d" % i for i in range(told["base"])]
    below = ["<module>", "main", "start"] + base
    if len(stack) <= len(below):
        return stack == below[:len(stack)]
    top = stack[len(below):]
    if top == ["over"]:
        return stack[:len(below)] == below
    letters = top[-1].partition("_")[2]
    path = ["node"] + ["node_" + letters[:i + 1] for i in range(len(letters))]
    return stack[:len(below)] == below and top == path


def chain_allows(stack, told):
    below = ["<module>", "main", "start"]
    if len(stack) <= len(below):
        return stack == below[:len(stack)]
    top = stack[len(below):]
    letter = top[0][0]
    return stack[:len(below)] == below and (
        top == ["over"] or
        top == ["%s%d" % (letter, i) for i in range(len(top))])


def no_stack_breaks_the_rule(python, kind, allows):
    told, database = recorded(python, kind)
    total = 0
    for _, n, stack in database.stacks():
        expect(stack == TELLING or allows(stack, told), "never there: %s", stack)
        total += n
    expect(total > 1500, "only %d samples in 4 s", total)


@live.each_python
def no_stack_is_mixed_from_two_paths_of_a_tree(python):
    no_stack_breaks_the_rule(python, "tree", tree_allows)


@live.each_python
def no_stack_is_mixed_from_two_chains_at_the_same_addresses(python):
    no_stack_breaks_the_rule(python, "chain", chain_allows)


@live.each_python
def the_mean_depth_of_a_chain_is_half_of_it(python):
    told, database = recorded(python, "chain")
    total = weight = 0
    for _, n, stack in database.stacks():
        if stack and stack[-1][0] in "ab" and stack[-1] != "over":
            total += n
            weight += n * int(stack[-1][1:])
    # Frames cost what their locals cost: the mean lies near the middle.
    mean = weight / total / (told["chain"] - 1)
    expect(0.4 < mean < 0.6, "mean place in the chain is %.3f", mean)


@live.each_python
def almost_no_sample_is_lost(python):
    _, database = recorded(python, "tree")
    lost = database.value("SELECT coalesce(sum(lost), 0) FROM thread")
    samples = database.samples()
    expect(lost <= LOST * (samples + lost), "%d lost of %d", lost,
           samples + lost)


live.run()
