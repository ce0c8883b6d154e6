"""Programs whose every stack follows a rule, each hard in its own way.

usage: calls.py SECONDS KIND

A stack is possible if it begins with one of the roots and goes on by edges,
[caller, line, callee, cost]: the caller stands on that line (None: on any)
while the callee runs; a caller None is any.  The costs along a stack add up to
no more than the budget.  Each function of a chain has one caller, so that a
stack mixed from two moments shows.  Exits with status 77 where a kind cannot
be.
"""

import _thread
import gc
import hashlib
import itertools
import mmap
import os
import signal
import sys
import time

import portrait

DEPTH = 100
TREE_BASE, TREE_DEPTH = 50, 5
FIB_BASE, FIB = 80, 18
MEGABYTE = 1 << 20


class Program:
    """Source text that grows, and what its stacks can be."""

    def __init__(self):
        self.lines = []
        self.edges = []
        self.roots = {"<module>"}
        self.budget = 0
        self.space = {"over": portrait.over, "turn": [0]}
        self.beside = []  # functions that run in threads of their own
        self.main = None
        self.started = []  # lines that run before the work begins

    def define(self, name, *body, calls=(), parameter="x"):
        """A function; (part of a line, callee, cost) for each of its calls."""
        self.lines.append("def %s(%s):" % (name, parameter))
        for line in body:
            self.lines.append("    " + line)
            self.edges += [(name, len(self.lines), callee, cost)
                           for part, callee, cost in calls if part in line]

    def chain(self, name, depth=DEPTH, leaf=("return x + 1",), calls=()):
        """name0 calls name1, and so on; frames differ in size, so that
        addresses do not repeat."""
        for i in range(depth):
            callee = "%s%d" % (name, i + 1)
            self.define("%s%d" % (name, i),
                        *("v%d = x" % k for k in range(i * 7 % 4)),
                        "return %s(x) + 1" % callee,
                        calls=[("return", callee, 0)])
        self.define("%s%d" % (name, depth), *leaf, calls=calls)

    def loop(self, name, *callees):
        """What calls them for ever."""
        body = ["        %s(1)" % callee for callee in callees]
        self.define(name, "while not over():", "    for _ in range(200):",
                    *body, parameter="",
                    calls=[("not over", "over", 0)] +
                          [(" %s(1)" % callee, callee, 0)
                           for callee in callees])
        return name

    def run_main(self, *callees):
        self.main = self.loop("main_loop", *callees)
        self.edges.append(("main", None, self.main, 0))

    def run_beside(self, name, *callees):
        self.beside.append(self.loop(name, *callees))
        self.roots.add(name)

    def text(self):
        return "\n".join(self.lines) + "\n"


def tree(program):
    """Each function of a ternary tree on top of a base."""
    for depth in range(TREE_DEPTH + 1):
        for path in itertools.product("abc", repeat=depth):
            name = "node_" + "".join(path)
            children = [name + letter for letter in "abc"
                        if depth < TREE_DEPTH]
            body = ["v%s = %s(x)" % (child, child) for child in children]
            body += ["w%d = x" % i for i in range(sum(map(ord, path)) % 3)]
            program.define(name, *body, "return x + 1",
                           calls=[(" %s(x)" % child, child, 0)
                                  for child in children])
    program.chain("base", TREE_BASE, ["return node_(x)"],
                  [("node_", "node_", 0)])
    program.run_main("base0")


def chain(program):
    """Two chains that take turns at the same addresses."""
    program.chain("a")
    program.chain("b")
    program.run_main("a0", "b0")


def pair(program):
    """Two callers of two leaves with equal code."""
    for letter in "ab":
        program.define("leaf_" + letter, "return sum(range(50))")
        program.define("hot_" + letter, "return leaf_%s(x)" % letter,
                       calls=[("return", "leaf_" + letter, 0)])
    program.run_main("hot_a", "hot_b")


def fib(program):
    """Recursion, in which a frame too many or too few is a cost too many."""
    program.budget = FIB
    program.define("fib", "if x < 2:", "    return x",
                   "below = fib(x - 1)", "return below + fib(x - 2)",
                   calls=[("x - 1", "fib", 1), ("x - 2", "fib", 2)])
    program.chain("a", FIB_BASE, ["return fib(%d)" % FIB],
                  [("fib", "fib", 0)])
    program.run_main("a0")


def threads(program):
    """Three that run."""
    for letter in "abc":
        program.chain(letter)
    program.run_beside("b_loop", "b0")
    program.run_beside("c_loop", "c0")
    program.run_main("a0")


def interpreters(program):
    """Two of them, each with a GIL of its own."""
    try:
        import _interpreters  # 3.13
    except ImportError:
        sys.exit(77)
    inner = Program()
    inner.lines = ["import time", "def over():",
                   "    return time.monotonic() >= %r" % portrait.END]
    inner.chain("b")
    inner.loop("b_loop", "b0")
    program.edges += inner.edges + [("<module>", None, "b_loop", 0)]
    other = _interpreters.create()
    _interpreters.exec(other, inner.text())
    program.space.update(run=_interpreters.exec, other=other)
    program.define("outer", "run(other, 'b_loop()')", parameter="")
    program.beside.append("outer")
    program.roots.add("outer")
    program.chain("a")
    program.run_main("a0")


def signals(program):
    """Handlers, by a timer of its own and by another process."""
    program.chain("s", 20)
    program.define("hook", "s0(1)", parameter="number, frame",
                   calls=[("s0", "s0", 0)])
    program.edges.append((None, None, "hook", 0))
    program.chain("a")
    program.run_main("a0")

    def start():
        signal.signal(signal.SIGALRM, program.space["hook"])
        signal.signal(signal.SIGUSR1, program.space["hook"])
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        in_another_process(send_signal)
    program.started.append(start)


def send_signal(pid, _):
    os.kill(pid, signal.SIGUSR1)
    time.sleep(50e-6)


def moved(program):
    """Another process moves it from CPU to CPU all the time."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit(77)
    program.chain("a")
    program.run_main("a0")
    program.started.append(lambda: in_another_process(
        lambda pid, turn: os.sched_setaffinity(pid, {cpus[turn % len(cpus)]})))


def in_another_process(work):
    pid = os.getpid()
    if os.fork() != 0:
        return
    try:
        for turn in itertools.count():
            work(pid, turn)
            if portrait.over():
                break
    finally:
        os._exit(0)


def churn(program):
    """Threads that begin and end all the time."""
    done = _thread.allocate_lock()
    done.acquire()
    program.space.update(start=_thread.start_new_thread, done=done)
    program.chain("t", 30)
    program.define("once", "t0(1)", "done.release()", parameter="",
                   calls=[("t0", "t0", 0)])
    program.roots.add("once")
    program.chain("a", leaf=["turn[0] += 1", "if turn[0] % 5 == 0:",
                             "    start(once, ())", "    done.acquire()",
                             "return x"])
    program.run_main("a0")


def collections(program):
    """Collections of two hundred thousand objects."""
    program.space.update(collect=gc.collect,
                         keep=[[[] for _ in range(3)] for _ in range(60000)])
    program.chain("a", leaf=["turn[0] += 1", "if turn[0] % 200 == 0:",
                             "    collect()", "return x"],
                  calls=[("collect", "<GC>", 0)])
    program.run_main("a0")


def without_gil(program):
    """C code that lets go of the GIL, beside a thread that takes it."""
    program.space.update(digest=hashlib.sha256, data=bytes(3 * MEGABYTE))
    program.chain("a", leaf=["digest(data)", "return x"])
    program.chain("b")
    program.run_beside("b_loop", "b0")
    program.run_main("a0")


def natives(program):
    """Seven threads in C code that lets go of the GIL."""
    program.space.update(digest=hashlib.sha256, data=bytes(3 * MEGABYTE))
    for i in range(7):
        program.chain("c%d_" % i, leaf=["digest(data)", "return x"])
        if i:
            program.run_beside("c%d_loop" % i, "c%d_0" % i)
    program.run_main("c0_0")


def with_gil(program):
    """C code that keeps the GIL, beside a thread that waits for it."""
    program.space["data"] = [i * 7919 % 10007 for i in range(3000)]
    program.chain("a", leaf=["sorted(data)", "return x"])
    program.chain("b")
    program.run_beside("b_loop", "b0")
    program.run_main("a0")


def faults(program):
    """Page faults."""
    program.space.update(memory=mmap.mmap, data=bytes(MEGABYTE))
    program.chain("a", leaf=["area = memory(-1, len(data))",
                             "area.write(data)", "area.close()", "return x"])
    program.run_main("a0")


def generators(program):
    program.define("items", "for i in range(5):", "    yield x")
    program.chain("a", leaf=["return sum(items(x))"],
                  calls=[("items", "items", 0)])
    program.run_main("a0")


def callbacks(program):
    """C code that calls Python, again and again."""
    program.define("items", "for i in range(20):", "    yield x")
    program.define("same", "return x")
    program.chain("a", 20, ["before = sum(map(same, range(20)))",
                            "between = sum(items(x))",
                            "return before + between + "
                            "sum(map(same, range(20)))"],
                  [("map(same", "same", 0), ("items", "items", 0)])
    program.run_main("a0")


def reused(program):
    """Functions of one shape, made, run and freed in turn: the code, the names
    and the line tables of one lie where those of the last one lay."""
    shape = "".join("def g@%02d(x):\n    return g@%02d(x) + 1\n" % (i, i + 1)
                    for i in range(20))
    shape += "def g@20(x):\n    return x + 1\n"
    program.space["shape"] = shape
    program.define("make", "space = {}",
                   "exec(shape.replace('@', letter), space)", "return space",
                   parameter="letter", calls=[("exec", "<module>", 0)])
    body, calls = [], [("not over", "over", 0), ("make(", "make", 0)]
    for letter in "abcdef":
        first = "g%s00" % letter
        body += ["    space = make('%s')" % letter,
                 "    %s = space['%s']" % (first, first),
                 "    for _ in range(500):", "        %s(1)" % first,
                 "    del %s" % first, "    space.clear()"]
        calls.append((" %s(1)" % first, first, 0))
        program.edges += [("g%s%02d" % (letter, i), None,
                           "g%s%02d" % (letter, i + 1), 0) for i in range(20)]
    program.define("main_loop", "while not over():", *body, parameter="",
                   calls=calls)
    program.main = "main_loop"
    program.edges.append(("main", None, "main_loop", 0))


def remade(program):
    """One function after the other, made of one code object where the last one
    lay; no code is freed between a call and the last moment without one."""
    program.define("template", "for _ in range(20):", "    x += 1", "return x")
    program.define("idle", "for _ in range(20):", "    x += 1", "return x")
    program.space["FunctionType"] = type(remade)
    program.define(
        "remake", "code = template.__code__.replace(co_name=name,"
        " co_qualname=name)", "return FunctionType(code, {})",
        parameter="name")
    body, calls = [], [("not over", "over", 0), ("idle(", "idle", 0),
                       ("remake(", "remake", 0)]
    for letter in "abcdef":
        name = "made_" + letter
        body += ["    %s = remake('%s')" % (name, name),
                 "    for _ in range(300):", "        %s(1)" % name,
                 "    %s = None" % name,
                 "    for _ in range(300):", "        idle(1)"]
        calls.append((" %s(1)" % name, name, 0))
    program.define("main_loop", "while not over():", *body, parameter="",
                   calls=calls)
    program.main = "main_loop"
    program.edges.append(("main", None, "main_loop", 0))


KINDS = {make.__name__: make for make in (
    tree, chain, pair, fib, threads, interpreters, signals, moved, churn,
    collections, without_gil, natives, with_gil, faults, generators, callbacks,
    reused, remade)}


def main():
    program = Program()
    KINDS[sys.argv[2]](program)
    exec(compile(program.text(), "calls.py", "exec"), program.space)
    for start in program.started:
        start()
    for name in program.beside:
        _thread.start_new_thread(program.space[name], ())
    edges = [("<module>", None, "main", 0), ("main", None, "publish", 0)]
    portrait.publish(edges=edges + program.edges, roots=sorted(program.roots),
                  budget=program.budget)
    program.space[program.main]()


main()
