"""Work under a name for the kernel (proc_pid_comm(5)): titled.py SECONDS NAME."""

import ctypes
import sys

import portrait

PR_SET_NAME = 15  # linux/prctl.h


def spin(n):
    total = 0
    for i in range(n):
        total += i
    return total


ctypes.CDLL(None).prctl(PR_SET_NAME, sys.argv[2].encode(), 0, 0, 0)
portrait.publish()
while not portrait.over():
    spin(10000)
