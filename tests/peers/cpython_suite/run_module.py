"""python3.15 run_module.py SHIMS MODULE [PATTERN...]: run a module of CPython's
test suite with classes of ours in the place of CPython's; one line of JSON a
test.

SHIMS are modules of this folder, joined by commas, each with install().
PATTERNs choose tests, as unittest's -k does: those whose names match one.
PYREC_TESTSUITE is the folder that holds the package test; PYREC_STOCK starts
this Python."""

import importlib
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.executable = os.environ["PYREC_STOCK"]  # for the tests to start
import test
test.__path__.insert(0, os.path.join(os.environ["PYREC_TESTSUITE"], "test"))


class Result(unittest.TestResult):
    def report(self, test, outcome, why=""):
        print(json.dumps({"name": ".".join(test.id().split(".")[-2:]),
                          "outcome": outcome, "why": why}), file=out,
              flush=True)

    def addSuccess(self, test):
        self.report(test, "ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.report(test, "failed", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.report(test, "failed", self.errors[-1][1])

    def addSkip(self, test, reason):
        self.report(test, "skipped", reason)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.report(test, "failed", str(error[1]))


out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # results go to `out` alone
for name in sys.argv[1].split(","):
    importlib.import_module(name).install()
module = importlib.import_module(sys.argv[2])
unittest.defaultTestLoader.testNamePatterns = sys.argv[3:] or None
suite = unittest.defaultTestLoader.loadTestsFromModule(module)
suite.run(Result())
