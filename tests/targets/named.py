"""Threads with names that the kernel cannot hold, and one that is renamed."""

import threading
import time

import portrait

NAMES = ["request-worker-number-1", "request-worker-number-2", "a線程線程線程線程",
         "😀😀😀😀😀", "sp ace)( 3", "semi;colon\nline", "x" * 300]


def nap():
    while not portrait.over():
        time.sleep(0.05)


threads = [threading.Thread(target=nap, name=name, daemon=True)
           for name in NAMES]
for thread in threads:
    thread.start()
portrait.publish(names=["MainThread"] + NAMES)
nap()
