"""Two sub-interpreters beside the main one, each in a thread of its own, and a
third, the newest, that no thread uses.

Exits with status 77 where this Python has no module to make one.
"""

import sys
import threading

import portrait

try:
    import _interpreters  # 3.13
except ImportError:
    sys.exit(77)

SOURCE = """\
import time
def in_sub():
    while time.monotonic() < %r:
        pass
in_sub()
"""


def start_sub():
    sub = _interpreters.create()
    started.release()
    _interpreters.exec(sub, SOURCE % portrait.END)


def in_main():
    while not portrait.over():
        pass


started = threading.Semaphore(0)
for _ in range(2):
    threading.Thread(target=start_sub, daemon=True).start()
for _ in range(2):
    started.acquire()
_interpreters.create()
portrait.publish(interpreters=3)
in_main()
