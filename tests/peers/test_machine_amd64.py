"""pyrec on an emulated machine with eight CPUs: seven threads that run at once
without the GIL."""

import emulated
import live
from live import expect

ASTRAY = 0.05  # the most that may be lost or unproven
machine = emulated.Machine("amd64", 8, ["natives"])


def almost_nothing_is_astray(version):
    profile = machine.profile(version, "natives")
    profile.expect_possible()
    threads = profile.database.value(
        "SELECT count(*) FROM thread WHERE samples > 0")
    expect(threads == 7, "%d threads were sampled", threads)
    astray = profile.lost + profile.unproven
    expect(astray < ASTRAY * (profile.samples + profile.lost),
           "%d lost and %d not proven beside %d samples", profile.lost,
           profile.unproven, profile.samples)


for version in emulated.VERSIONS:
    live.tests.append(("almost no sample of seven threads on eight CPUs is "
                       "lost on " + version, almost_nothing_is_astray,
                       (version,)))
live.run()
