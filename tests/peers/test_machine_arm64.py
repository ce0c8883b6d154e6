"""pyrec on an emulated arm64 machine: no stack that the rule forbids."""

import emulated
import live
from live import expect

KINDS = ["tree", "threads", "generators"]
machine = emulated.Machine("arm64", 4, KINDS)


def follows_its_rule(version, kind):
    profile = machine.profile(version, kind)
    profile.expect_possible()
    # on arm64 the proof "quiet" alone is used
    policy = profile.database.meta("recorder.policy")
    expect("without rseq" in policy, "policy %s", policy)


for version in emulated.VERSIONS:
    for kind in KINDS:
        live.tests.append(("%s on arm64 follows its rule on %s" %
                           (kind, version), follows_its_rule, (version, kind)))
live.run()
