"""Work under a name for the kernel (proc_pid_comm(5)):
titled.py SECONDS NAME [REST], with REST seconds of sleep after each bit of work.
"""

import ctypes
import sys
import time

import portrait

PR_SET_NAME = 15  # linux/prctl.h


def spin(n):
    total = 0
    for i in range(n):
        total += i
    return total


REST = float(sys.argv[3]) if len(sys.argv) > 3 else 0
ctypes.CDLL(None).prctl(PR_SET_NAME, sys.argv[2].encode(), 0, 0, 0)
portrait.publish()
while not portrait.over():
    spin(10000)
    if REST:
        time.sleep(REST)
