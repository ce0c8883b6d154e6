"""A parent with a forked child, a spawned Python, and one that is not a Python."""

import os
import subprocess
import sys

import portrait


def in_child():
    while not portrait.over():
        pass


def in_parent():
    while not portrait.over():
        pass


if len(sys.argv) > 2:
    os.write(int(sys.argv[2]), b"s")
    in_child()
    sys.exit(0)
# Each child says so when it has come to its work.
ready, say = os.pipe()
os.set_inheritable(say, True)
forked = os.fork()
if forked == 0:
    os.write(say, b"f")
    in_child()
    os._exit(0)
with open("/proc/self/cmdline", "rb") as file:
    command = file.read().split(b"\0")[:-1]
spawned = subprocess.Popen(command + [b"%d" % say], close_fds=False)
other = subprocess.Popen(["sleep", "600"])
for _ in range(2):
    os.read(ready, 1)
portrait.publish(forked=forked, spawned=spawned.pid, other=other.pid)
in_parent()
other.kill()
