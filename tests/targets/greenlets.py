"""Greenlets, each with a stack of its own: greenlets.py SECONDS FOLDER KIND.

FOLDER is the root of Debian packages with greenlet and the C++ library that it
needs.  The target publishes all stacks that can be, from the outermost function
in; each may end anywhere, since a call may have just begun.
"""

import ctypes
import glob
import os
import sys
import time

import portrait

root = sys.argv[2]
for library in glob.glob(root + "/usr/lib/*/libstdc++.so.6"):
    ctypes.CDLL(library)
sys.path.append(root + "/usr/lib/python3/dist-packages")
import greenlet


def spin():
    x = 0
    for i in range(800):
        x += i


def work():
    while not portrait.over():
        spin()


def outer():
    work()


def alone():
    """All the time is spent in one greenlet."""
    greenlet.greenlet(outer).switch()


def turns():
    """The main greenlet and another one take turns."""
    def back():
        while True:
            main.switch()

    main = greenlet.getcurrent()
    other = greenlet.greenlet(back)
    while not portrait.over():
        spin()
        other.switch()


def short():
    spin()


def many():
    """Each greenlet lives for one call."""
    while not portrait.over():
        greenlet.greenlet(short).switch()


def hub():
    while not portrait.over():
        time.sleep(0.05)


def sleeps():
    """The greenlet that runs is asleep, as a hub that waits for events."""
    greenlet.greenlet(hub).switch()


KINDS = {
    "alone": (alone, [["outer", "work", "spin"], ["outer", "work", "over"]]),
    "turns": (turns, [["turns.<locals>.back"], ["<module>", "turns", "spin"],
                      ["<module>", "turns", "over"]]),
    "many": (many, [["short", "spin"], ["<module>", "many", "over"]]),
    "sleeps": (sleeps, [["hub", "over"]]),
}
start, stacks = KINDS[sys.argv[3]]
portrait.publish(stacks=stacks)
start()
