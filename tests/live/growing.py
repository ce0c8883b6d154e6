"""A profile while pyrec writes it, as the second decoder reads it.

The size of the file is not a measure: the kernel shows a segment page by page
while it is being written, and a segment may hold no sample that a test waits
for.
"""

import os
import sys

import live

sys.path.insert(0, os.path.join(live.SOURCE, "tests", "interop"))
import decoder


def opened(path):
    """None: the header is not complete."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    if len(data) < 64:
        return None
    return decoder.Decoder(data, "<" if data.startswith(b"HCAT") else ">")


def wait_for_segments(path, n):
    """Until the file has n segments whose checkpoints are whole."""
    def has_them():
        reader = opened(path)
        return reader and sum(1 for _ in reader.search()) >= n

    live.wait_until(has_them, "%s has %d segments" % (path, n))


def wait_for_name(path, name):
    """Until a whole segment has used this name."""
    seen = 0

    def has_it():
        nonlocal seen
        size = live.size(path)
        if size == seen:
            return False
        seen = size
        reader = opened(path)
        if not reader:
            return False
        reader.take_found()
        return name in reader.names.strings.values()

    live.wait_until(has_it, "%s names %r" % (path, name))
