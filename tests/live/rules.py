"""What the stacks of tests/targets/calls.py can be, and what a recording of it
says."""

import math
import os

import live

# Each kind, and what its recordings show.
KINDS = {
    "tree": "the paths of a tree are not mixed",
    "chain": "two chains at the same addresses are not mixed",
    "pair": "two callers of leaves that look the same are told apart",
    "fib": "a recursion has no frame too many",
    "threads": "threads that run together are stated right",
    "interpreters": "interpreters with a GIL of their own are stated right",
    "signals": "a signal handler stands on what it interrupted",
    "moved": "a thread that is moved between CPUs is stated right",
    "churn": "threads that begin and end are stated right",
    "collections": "collections are stated right",
    "without_gil": "C code that lets go of the GIL is stated right",
    "with_gil": "C code that keeps the GIL is stated right",
    "faults": "page faults are stated right",
    "generators": "generators are stated right",
    "callbacks": "C code that calls Python is stated right",
    "reused": "functions at the address of freed ones bear their own names",
    "remade": "functions made while no code is freed bear their own names",
}
BLOCK_US = 50000  # longer than a thread waits for a CPU
# The kinds in which several threads run.
SEVERAL = {"threads", "interpreters", "churn", "without_gil", "with_gil"}


class Rule:
    """Roots, edges and budget as the program published them."""

    def __init__(self, stated):
        self.roots = set(stated["roots"])
        self.budget = stated["budget"]
        self.costs = {}
        for caller, line, callee, cost in stated["edges"]:
            self.costs[caller, line, callee] = cost

    def cost(self, caller, line, callee):
        """None: no such call."""
        for edge in ((caller, line, callee), (caller, None, callee),
                     (None, None, callee)):
            if edge in self.costs:
                return self.costs[edge]
        return None

    def left(self, above, name):
        """What a frame called `name` leaves of the budget of the frame above,
        (name, line, left); None: it cannot stand there."""
        if above is None:
            return self.budget if name in self.roots else None
        cost = self.cost(above[0], above[1], name)
        if cost is None or above[2] is None or cost > above[2]:
            return None
        return above[2] - cost

    def impossible(self, database):
        """How many samples have a stack that cannot be, and what each of these
        ends in."""
        count = dict(database.rows(
            "SELECT node_id, sum(n) FROM node_self GROUP BY node_id"))
        nodes = {}
        total = 0
        examples = []
        for node, parent, name, line in database.rows(
                "SELECT node.id, parent_id, qualname, line FROM node"
                " JOIN function ON function.id = function_id"
                " ORDER BY node.id"):
            nodes[node] = (name, line, self.left(nodes.get(parent), name))
            if nodes[node][2] is None and node in count:
                total += count[node]
                examples.append("%d times %s:%s under %s" % (
                    count[node], name, line, nodes.get(parent)))
        return total, examples


class Cell:
    """One recording of one kind."""

    def __init__(self, python, kind, rate, seconds, *options, preferred=False):
        with live.Target(python, "calls.py", kind, preferred=preferred,
                         seconds=seconds + live.PATIENCE) as target:
            before = processor_time(target.pid)
            live.record(target, "run.bin", "-f", "-r", rate, *options,
                        seconds=seconds)
            self.busy = (processor_time(target.pid) - before) / seconds
            self.stated = target.portrait
        self.database = live.Database("run.bin")
        self.samples, self.lost, self.unproven = self.database.rows(
            "SELECT sum(samples), coalesce(sum(lost), 0),"
            " coalesce(sum(unproven), 0) FROM thread")[0]
        self.impossible, self.examples = Rule(self.stated).impossible(
            self.database)

    def astray(self):
        """The part of the samples that was lost or is unproven."""
        return (self.lost + self.unproven) / max(1, self.samples + self.lost)

    def depth(self):
        """Mean depth and its standard error, by the differences between blocks
        of time.  A thread that waits for a CPU is sampled at one place again and
        again: that is one observation, and one row of the table of runs."""
        blocks = self.database.rows(
            "SELECT count(*), sum(depth) FROM run JOIN node ON node.id ="
            " node_id GROUP BY t0_us / ?", BLOCK_US)
        n = sum(k for k, _ in blocks)
        mean = sum(depth for _, depth in blocks) / n
        between = sum((depth - mean * k) ** 2 for k, depth in blocks)
        return mean, math.sqrt(between * len(blocks) / max(
            1, len(blocks) - 1)) / n


def expect_possible(profile):
    """No proven stack is against the rule."""
    live.expect(profile.impossible <= profile.unproven,
                "%d of %d samples cannot be, %d are unproven: %s",
                profile.impossible, profile.samples, profile.unproven,
                profile.examples[:3])


def depth_off(one, other):
    """How much deeper, and how much may be by chance: 4 standard errors, or the
    2 % that are a sampler's to err."""
    (mean, error), (truth, uncertain) = one, other
    return mean - truth, max(0.02 * truth, 4 * math.hypot(error, uncertain))


def processor_time(pid):
    """Seconds that all threads of a process ran so far."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
