#!/usr/bin/env python3
"""Each target of `pyconv --list` over the profiles and the disks that outputs
fail on: hostile names, no sample, empty stacks, a full disk, a name in .gz.

    pyconv_each_target.py [SEED]

TARGETS has one line for each of them; a target without one fails the test.
"""

import base64
import csv
import gzip
import json
import marshal
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import pyconv_targets as targets  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402


def text(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read()


# ---- is it well formed? ----

def collapsed(path):
    lines = text(path).split("\n")
    assert lines.pop() == ""
    assert all(re.fullmatch(r"\S.* [1-9]\d*", line) for line in lines)


def document(path):
    with open(path, encoding="utf-8") as file:
        assert isinstance(json.load(file), dict)


def trace(path):
    with open(path, encoding="utf-8") as file:
        assert json.load(file)["traceEvents"]


def pstats(path):
    with open(path, "rb") as file:
        for key, (cc, nc, tt, ct, callers) in marshal.load(file).items():
            assert list(map(type, key)) == [str, int, str]
            assert cc <= nc and tt <= ct and isinstance(callers, dict)
        assert not file.read()


def pprof(path):
    for stack, n, ns, labels in targets.read_pprof(path):
        assert isinstance(stack, list) and n >= 0 and ns >= 0 and labels


def json_lines(path):
    lines = text(path).split("\n")
    assert lines.pop() == ""
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds[0] == "meta" and kinds[-1] == "end"


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, strict=True)
    assert head[0] == "function" and all(len(r) == len(head) for r in rows)


def markdown(path):
    page = text(path)
    assert page.startswith("| profile |") and len(page) < 65536
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", page)


def picture(path):
    assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("}svg")


def page(path):
    found = re.findall(r'<script type="text/plain" id="data">([^<]*)</script>',
                       text(path))
    assert len(found) == 1 and gzip.decompress(base64.b64decode(found[0]))


def database(path):
    opened = sqlite3.connect(path)
    assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert opened.execute("SELECT count(*) FROM profile").fetchone() == (1,)
    opened.close()


def statements(path):
    """The rows of each COPY have one number of columns."""
    script = text(path)
    assert script.startswith("\\set ON_ERROR_STOP on\n")
    assert script.endswith("\nCOMMIT;\n") and "\0" not in script
    copied = re.findall(r"^COPY [^\n]* FROM stdin;\n((?:[^\n]*\n)*?)\\\.\n",
                        script, re.MULTILINE)
    assert len(copied) == script.count(" FROM stdin;\n") > 0
    for rows in copied:
        assert len({row.count("\t") for row in rows.split("\n")[:-1]}) <= 1


def profile(path):
    state, made, why = harness.decode(path)
    assert state == "finished" and made, why


# How each target is read, and whether it streams.  The tests of tests/peers
# read those that are a folder or a server.
TARGETS = {
    "collapsed": (collapsed, True),
    "speedscope": (document, True),
    "pstats": (pstats, True),
    "pprof": (pprof, True),
    "firefox": (document, True),
    "chrome": (trace, True),
    "callgrind": (targets.read_callgrind, True),
    "jsonl": (json_lines, True),
    "csv": (table, True),
    "markdown": (markdown, True),
    "svg": (picture, True),
    "html": (page, True),
    "sqlite": (database, False),
    "postgres": (statements, True),
    "bin": (profile, False),
    "parquet": ("tests/peers/test_parquet.py", False),
    "clickhouse": ("tests/peers/test_clickhouse.py", False),
}

PROFILES = (profiles.names, profiles.wild_names, profiles.no_samples,
            profiles.empty_stacks)


def listed():
    done = subprocess.run([outputs.PYCONV, "--list"], capture_output=True,
                          text=True, check=True)
    return [line.split()[0] for line in done.stdout.split("\n\n")[0].split("\n")
            if line[:1].strip()]


def check_reader(results, name, read, made):
    path = f"{made}.bin"
    done = outputs.convert(path, name, "out", "-f")
    why = done.stderr
    good = done.returncode == 0
    try:
        if good:
            read("out")
    except Exception as error:  # whatever the parser says
        good, why = False, repr(error)
    results.check(f"{name} of {made} is well formed", good, why)


# ---- disks ----

def small_disk():
    """Files of this process have at most 512 bytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def check_full(results, name, streams):
    os.mkdir(f"disk.{name}")
    out = f"disk.{name}/out"
    done = subprocess.run([outputs.PYCONV, "names.bin", "--to", name, "-q",
                           "-o", out], capture_output=True, text=True,
                          check=False, preexec_fn=small_disk)
    results.check(f"{name} on a full disk: no output, one message",
                  done.returncode == 1 and not os.listdir(f"disk.{name}")
                  and re.fullmatch(r"pyconv: error: [^\n]+\n"
                                   r"(pyconv: hint: [^\n]+\n)?", done.stderr),
                  f"status {done.returncode}, {done.stderr}")
    if streams:
        done = outputs.convert("names.bin", name, "/dev/full", "-f")
        results.check(f"{name} to a full device", done.returncode == 1
                      and "No space left" in done.stderr, done.stderr)


def check_gzip(results, name, streams):
    done = outputs.convert("names.bin", name, f"packed.{name}.gz")
    if streams:
        with open(f"packed.{name}.gz", "rb") as file:
            good = done.returncode == 0 and gzip.decompress(file.read())
    else:
        good = done.returncode == 2 and "cannot be compressed" in done.stderr \
            and not os.path.exists(f"packed.{name}.gz")
    results.check(f"{name} by a name in .gz", good, done.stderr)


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    results = harness.Results()
    results.check("each target has its line here", set(listed()) ==
                  set(TARGETS), set(listed()) ^ set(TARGETS))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for made, generated in profiles.generate(seed, PROFILES):
            status, why = harness.feed(generated, f"{made}.bin")
            results.check(f"writes {made}", status == 0, why)
        for name, (read, streams) in TARGETS.items():
            if isinstance(read, str):
                results.check(f"{name} has tests of its own",
                              os.path.exists(os.path.join(outputs.SRC, read)))
            else:
                for make in PROFILES:
                    check_reader(results, name, read, make.__name__)
                check_full(results, name, streams)
            if name != "clickhouse":  # an address is not a file's name
                check_gzip(results, name, streams)
    results.exit()


if __name__ == "__main__":
    main()
