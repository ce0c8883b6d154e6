"""Many threads that wait and one that works: many.py SECONDS N."""

import sys
import threading

import portrait

N = int(sys.argv[2])


def idle():
    gate.acquire()


def busy():
    while not portrait.over():
        sum(range(1000))


gate = threading.Lock()
gate.acquire()
threading.stack_size(256 * 1024)
idle_threads = [threading.Thread(target=idle, daemon=True) for _ in range(N)]
for thread in idle_threads:
    thread.start()
portrait.publish(idle=sorted(t.native_id for t in idle_threads))
busy()
