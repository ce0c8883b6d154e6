"""A parent with a forked child, a spawned Python, and one that is no Python."""

import os
import subprocess
import sys

import portrait

NAP = "import time; time.sleep(%f)"


def in_child():
    while not portrait.over():
        pass


def in_parent():
    while not portrait.over():
        pass


if len(sys.argv) > 2:
    in_child()
    sys.exit(0)
forked = os.fork()
if forked == 0:
    in_child()
    os._exit(0)
with open("/proc/self/cmdline", "rb") as file:
    command = file.read().split(b"\0")[:-1]
spawned = subprocess.Popen(command + [b"child"])
other = subprocess.Popen(["sleep", "600"])
portrait.tell(forked=forked, spawned=spawned.pid, other=other.pid)
in_parent()
other.kill()
