"""The page of `--to html`: its size, how long pyconv makes it, and how long a
browser takes to the first picture, a brush and a search.

The profiles are made once and kept in $PYREC_CACHE.
"""

import os
import shutil
import sys
import time

import measure
from measure import live

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))
import browser

CACHE = os.environ.get("PYREC_CACHE") or os.path.expanduser("~/.cache/pyrec")
ROUNDS = min(3, measure.ROUNDS)

# name, arguments of large_profile.py, most of: bytes, seconds to make it,
# milliseconds to the first picture, of a brush and of a search
PROFILES = (
    ("100 thousand samples", ("100000",), 500e3, None, None, None),
    ("10 million samples, 50 thousand stacks", ("10000000", "50000"), 8e6, 1,
     1000, 100),
    ("10 million samples, 4.3 million stacks", ("10000000",), 12e6, 4, 2000,
     200),
)


def made(arguments):
    """The profile of these arguments, from the cache."""
    path = os.path.join(CACHE, "large-%s.bin" % "-".join(arguments))
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        live.succeed(live.STOCK, os.path.join(HERE, "large_profile.py"),
                     "made.bin", *arguments)
        shutil.move("made.bin", path)
    return path


def seconds_to_make(profile):
    begin = time.monotonic()
    live.succeed(live.PYCONV, profile, "--to", "html", "-f", "-o", "page.html")
    return time.monotonic() - begin


def times_in_browser():
    times = browser.node(os.path.join(HERE, "page.js"),
                         os.path.abspath("page.html"), str(ROUNDS))
    measure.wait_for_orphans()
    return times


def measure_page(name, arguments, most_bytes, most_s, first_ms, act_ms):
    profile = made(arguments)
    watch = measure.Watch()
    least = min(seconds_to_make(profile) for _ in range(ROUNDS))
    if most_s:
        measure.at_most(name + ": pyconv --to html", least, most_s, "s", watch)
    measure.at_most(name + ": the page", os.path.getsize("page.html"),
                    most_bytes, "bytes")
    if not first_ms:
        return
    watch = measure.Watch()
    times = times_in_browser()
    for what, key, most in (("first picture", "first", first_ms),
                            ("brush", "brush", act_ms),
                            ("search", "search", act_ms)):
        measure.at_most("%s: %s" % (name, what), times[key], most, "ms", watch)


def main():
    measure.need_stock()
    if not shutil.which("chromium") or not shutil.which("node"):
        print("ok the page in a browser # SKIP needs chromium and node")
        sys.exit(0)
    measure.adopt_orphans()
    for row in PROFILES:
        measure_page(*row)


main()
