"""A process that fork() made in C, without PyOS_AfterFork_Child(): the thread
states keep the ids of the parent's threads.

argv: seconds, "main" or "thread": the thread that forks.  The portrait
has the child's pid as "child"; the child works in child_work(), the parent in parent_work().
"""

import ctypes
import os
import sys
import threading
import time

import portrait

fork = ctypes.PyDLL(None).fork


def child_work():
    for _ in range(3000):
        pass


def parent_work():
    for _ in range(3000):
        pass


def main():
    parent = os.getpid()
    child = fork()
    if child == 0:
        while not portrait.over() and os.getppid() == parent:
            child_work()
        os._exit(0)
    portrait.publish(child=child)
    while not portrait.over():
        parent_work()


if sys.argv[2] == "thread":
    forker = threading.Thread(target=main, name="forker")
    forker.start()
    forker.join()
else:
    main()
