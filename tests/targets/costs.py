"""Calls whose costs are known: each line of the loop that makes them is timed
by the thread's processor clock.

usage: costs.py SECONDS FILE mixed|recursion|system

mixed      twenty functions: loops, page faults, system calls, long C calls
recursion  twenty recursions of different depth
system     a deep chain whose leaf makes system calls; the leaf alone; the
           chain with a leaf that makes none

The sums so far lie in FILE, one 64-bit nanosecond count for each call in the
order of the calls, then how often the loop went round, in the machine's byte
order.  The last call does nothing: it is what the loop itself costs.
"""

import mmap
import os
import sys
import time

import portrait

CHAIN = 100
LEAF = "gp = getppid\n    for i in range(%d): gp()"


def mixed():
    bodies = ["s = 0\n    for i in range(%d): s += i * 3" % n
              for n in (30, 60, 120, 240, 480)]
    bodies += ["n = %d\n    while n: n -= 1" % n
               for n in (40, 80, 160, 320, 640)]
    bodies += [
        "bytearray(400000)",
        "a = area(-1, 1 << 20)\n    a.write(zeros)\n    a.close()",
        "gp = getppid\n    for i in range(40): gp()",
        "for i in range(6): stat(path)",
        "for i in range(3): close(open(path, 0))",
        "f = open('/dev/zero', 0)\n    read(f, 300000)\n    close(f)",
        "sorted(numbers)",
        "x = 0\n    for i in range(20): x += 1",
        "s = ''\n    for i in range(100): s += str(i)",
        "d = {}\n    for i in range(200): d[i] = i",
    ]
    source = "".join("def call%d():\n    %s\n" % pair
                     for pair in enumerate(bodies))
    return source, ["call%d()" % i for i in range(len(bodies))]


def recursion():
    source = "".join(
        "def call%d(n):\n    return call%d(n - 1) + 1 if n else 0\n" % (i, i)
        for i in range(20))
    return source, ["call%d(%d)" % (i, 20 + 12 * i) for i in range(20)]


def system():
    source = ""
    for name in "call", "bare":
        source += "".join("def %s%d():\n    return %s%d()\n" %
                          (name, i, name, i + 1) for i in range(CHAIN))
    for name, count in ("call%d" % CHAIN, 20), ("alone", 20), \
            ("bare%d" % CHAIN, 0):
        source += "def %s():\n    %s\n" % (name, LEAF % count)
    return source, ["call0()", "alone()", "bare0()"]


def loop_source(calls):
    """One line for each call and its time."""
    lines = ["def loop(sums, clock, kind):", "    last = clock(kind)",
             "    while True:", "        sums[%d] += 1" % len(calls)]
    line = "        %s; now = clock(kind); sums[%d] += now - last; last = now"
    lines += [line % (call, i) for i, call in enumerate(calls)]
    return "\n".join(lines) + "\n"


def main():
    source, calls = {"mixed": mixed, "recursion": recursion,
                     "system": system}[sys.argv[3]]()
    calls.append("nothing()")
    source += "def nothing():\n    pass\n"
    # the first call stands on this line of the loop, the next on the next
    first = source.count("\n") + 5
    space = {"getppid": os.getppid, "stat": os.stat, "open": os.open,
             "close": os.close, "read": os.read, "area": mmap.mmap,
             "zeros": bytes(1 << 20), "path": __file__,
             "numbers": [i * 7919 % 1009 for i in range(1009)]}
    exec(compile(source + loop_source(calls), "costs.py", "exec"), space)
    file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(file, 4096)
    sums = memoryview(mmap.mmap(file, 4096)).cast("Q")
    sys.setrecursionlimit(1000)
    portrait.publish(calls=len(calls), first=first)
    space["loop"](sums, time.clock_gettime_ns, time.CLOCK_THREAD_CPUTIME_ID)


main()
