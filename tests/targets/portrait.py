"""A target's description of itself, for a test to compare with.

A target imports this, describes the functions that can stand on its stacks,
publishes it as one line of JSON, and then works until it is killed or its time
is up (its first argument, seconds), so that none outlives a test by much.
"""

import gc
import json
import os
import sys
import threading
import time

gc.disable()  # no collector frames in the stacks, unless a target wants them
END = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 60)


def over():
    return time.monotonic() >= END


def function(code):
    """A function or code object: its names, and each line that can show."""
    code = getattr(code, "__code__", code)
    lines = {line for _, _, line in code.co_lines() if line}
    return {"name": code.co_qualname, "file": code.co_filename,
            "first": code.co_firstlineno, "lines": sorted(lines)}


def thread_start():
    """The functions through which the threading module starts a thread."""
    return [threading.Thread._bootstrap, threading.Thread._bootstrap_inner,
            threading.Thread.run]


def publish(**facts):
    facts["pid"] = os.getpid()
    facts["version"] = list(sys.version_info[:3])
    print(json.dumps(facts), flush=True)
