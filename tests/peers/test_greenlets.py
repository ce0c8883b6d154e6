"""Greenlets on the interpreters for which Debian packs them: a sample shows the
greenlet that its thread runs, and nothing of the others."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

# The line of the portrait is read before the function that wrote it returns.
PUBLISHES = ["<module>", "publish"]
ROOT = os.environ.get("PYREC_GREENLET")


def is_part(stack, whole):
    return stack == whole[:len(stack)]


def shows_what_runs(python, kind):
    if not python or not ROOT:
        raise live.Skip("no such Python or greenlet here")
    # preferred: the shortest greenlet has one moment in a hundred
    with live.Target(python, "greenlets.py", ROOT, kind,
                     preferred=True) as target:
        live.record(target, "run.bin", seconds=2)
        possible = target.portrait["stacks"]
    database = live.Database("run.bin")
    count = 0
    for _, n, stack in database.stacks():
        expect(any(is_part(stack, whole)
                   for whole in [*possible, PUBLISHES]), "%d samples of %s", n,
               stack)
        count += n
    lost = database.value("SELECT coalesce(sum(lost), 0) FROM thread")
    print("# %d samples, %d lost" % (count, lost))
    expect(lost * 20 < count, "%d lost beside %d samples", lost, count)
    shown = {tuple(stack) for _, _, stack in database.stacks()}
    for whole in possible:
        deepest = tuple(whole[:-1] if whole[-1] == "over" else whole)
        expect(any(stack[:len(deepest)] == deepest for stack in shown),
               "%s is not among %s", deepest, shown)


for version in "3.14", "3.15":
    for kind in "alone", "turns", "many", "sleeps":
        live.tests.append(("greenlets of the kind %s show what runs on %s" %
                           (kind, version), shows_what_runs,
                           (live.PYTHONS[version], kind)))
live.run()
