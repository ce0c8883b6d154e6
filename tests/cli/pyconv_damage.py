#!/usr/bin/env python3
"""Counts of a file with a damaged part: samples that are not there are lost,
and no more samples are proven than there are; failures beside it.

    pyconv_damage.py [SEED]
"""

import base64
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import canon  # noqa: E402
import decoder  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402

SAMPLES = {10: 400, 11: 150}
UNPROVEN, LOST = {10: 7, 11: 0}, {10: 3, 11: 2}
OF_PROCESS = 4  # lost, of no thread that is known
ALL_LOST = sum(LOST.values()) + OF_PROCESS
MISSED = 6
PROOFS = ("proven", "sleeping", "unproven", "stopped")


def recording(rnd):
    maker = profiles.Maker(rnd, names=profiles.PLAIN_NAMES[:9], frames=12)
    profile = maker.profile
    for tid, n in SAMPLES.items():
        maker.thread((tid, 0), n, depth=6, gap=(900, 1000, 1100))
        profile.counts.update({
            (tid, 0, 0): [(9, n - UNPROVEN[tid] - 20)],
            (tid, 0, 1): [(9, 20)], (tid, 0, 2): [(9, UNPROVEN[tid])],
            (tid, 0, 8): [(9, LOST[tid])]})
    profile.counts[(*canon.NO_THREAD, 9)] = [(9, OF_PROCESS)]
    profile.counts[(*canon.NO_THREAD, 17)] = [(9, MISSED)]
    return profile


def damage(path):
    """Change a byte in the data of the third segment."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    ends = [part.end for part in decoder.Decoder(bytes(data), "<").search()]
    data[ends[1] + 20] ^= 1
    with open("damaged.bin", "wb") as file:
        file.write(data)


def counts(path):
    done = outputs.convert(path, "sqlite", "out.db", "-f")
    database = sqlite3.connect("out.db")
    threads = {tid: (samples, dict(zip(PROOFS, proofs)))
               for tid, samples, *proofs in database.execute(
                   "SELECT tid, samples, proven, sleeping, unproven, stopped"
                   " FROM thread")}
    database.close()
    return done.returncode, threads


def ask(*words):
    return subprocess.run([outputs.PYQUERY, *words], capture_output=True,
                          text=True, check=False).stdout


def rows(*words):
    answer = json.loads(ask(*words, "--json"))
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]


def summary(path):
    return {row["what"]: row["value"] for row in rows(path, "summary")}


def trust(path):
    return re.search(r"^trust .*$", ask(path), re.MULTILINE)[0]


HEADING = """
const text = {count: String, percent: String, seconds: String};
console.log(eval(process.argv[1] + ";heading").trust(
  {counts: JSON.parse(process.argv[2]), samples: 1}).words);
"""


def lost_of_page(path):
    """As the script of the page's heading adds up the counters of its data."""
    outputs.convert(path, "html", "out.html", "-f")
    with open("out.html", encoding="utf-8") as file:
        data = re.search(r'id="data">([^<]*)<', file.read())[1]
    counts = re.search(rb'"counts":({[^}]*})',
                       gzip.decompress(base64.b64decode(data)))[1]
    with open(os.path.join(outputs.SRC, "converter/page/heading.js"),
              encoding="utf-8") as file:
        words = subprocess.run(
            ["node", "-e", HEADING, file.read(), counts], text=True,
            capture_output=True, check=True).stdout
    return int(re.search(r"(\d+) lost", words)[1])


def statements(path):
    """How many samples are lost, by each output that says it."""
    outputs.convert(path, "markdown", "out.md", "-f")
    with open("out.md", encoding="utf-8") as file:
        markdown = re.search(r"\| samples lost \| (\d+) \|", file.read())
    info = subprocess.run([outputs.PYCONV, "--info", path], check=False,
                          capture_output=True, text=True).stdout
    os.makedirs("folder", exist_ok=True)
    shutil.copy(path, "folder/one.bin")
    said = {
        "summary": summary(path)["lost"],
        "losses": sum(row["samples"] for row in rows(path, "losses")),
        "top": json.loads(ask(path, "top", "--json"))["quality"]["lost"],
        "archive": summary("folder")["lost"],
        "markdown": int(markdown[1]),
        "info": sum(int(n) for n in re.findall(r"\blost_\w+ +(\d+)", info)),
        "check": share_of_check(path)}
    if shutil.which("node"):
        said["page"] = lost_of_page(path)
    return said


def share_of_check(path):
    """The rule says the share of lost samples among those due."""
    why, = (row["why"] for row in rows(
        path, "check", path, "--min-runs=1", "--min-samples=1", "--max",
        "lost < 100%") if row["rule"].startswith("lost"))
    samples = summary(path)["samples"]
    share = float(why.rstrip("%")) / 100
    return round(share * samples / (1 - share))


def check_whole(results):
    status, threads = counts("run.bin")
    results.check("a good file keeps its counts", status == 0 and threads == {
        tid: (n, {"proven": n - UNPROVEN[tid] - 20, "sleeping": 20,
                  "unproven": UNPROVEN[tid], "stopped": None})
        for tid, n in SAMPLES.items()}, threads)
    said = statements("run.bin")
    results.check("each output says how many samples are lost",
                  set(said.values()) == {ALL_LOST}, said)
    results.check("the summary says how many ticks are missed",
                  summary("run.bin")["missed"] == MISSED, summary("run.bin"))


def check_damaged(results):
    _, kept, why = harness.decode("damaged.bin")
    left = {key[0]: sum(len(run) for _, run in thread.runs)
            for key, thread in kept.threads.items()}
    absent = sum(SAMPLES.values()) - sum(left.values())
    results.check("the damaged part has samples of both threads", all(
        0 < left[tid] < n for tid, n in SAMPLES.items()), why)
    status, threads = counts("damaged.bin")
    results.check("a thread has as many proofs as samples", status == 3 and all(
        samples == left[tid] == sum(n or 0 for n in proofs.values())
        for tid, (samples, proofs) in threads.items()), threads)
    results.check("samples that are unproven remain", all(
        proofs["unproven"] == UNPROVEN[tid]
        for tid, (_, proofs) in threads.items()), threads)
    basis = json.loads(ask("damaged.bin", "top", "--json"))["quality"]
    proven = sum(left.values()) - sum(UNPROVEN.values())
    results.check("an answer counts the lost samples", (
        basis["proven"], basis["unproven"], basis["lost"]) == (
            proven, sum(UNPROVEN.values()), absent + ALL_LOST), basis)
    share = 100 * proven / sum(left.values())
    results.check("the overview has the share of proven ones",
                  f"{share:.1f} % of the samples are proven" in
                  trust("damaged.bin"), trust("damaged.bin"))
    said = statements("damaged.bin")
    results.check("and each output says how many with those in its file",
                  set(said.values()) == {absent + ALL_LOST}, said)


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def check_failure(results):
    """A failure after a damaged or cut input keeps its status, and the output
    stays as it was."""
    with open("stub.bin", "wb") as file:
        file.write(content("run.bin")[:100])
    with open("empty.bin", "wb"):
        pass
    outputs.convert("run.bin", "sqlite", "good.db")
    for first in ("damaged.bin", "stub.bin"):
        for second, status, *options in (
                ("nofile.bin", 1), ("empty.bin", 1),
                ("run.bin", 4, "--between", "1h..2h"),
                ("run.bin", 4, "--focus", "nothing_is_called_so")):
            for output in (["-fo", "good.db"], ["--into", "good.db"],
                           ["-o", "new.db"]):
                before = content(output[1])
                done = subprocess.run(
                    [outputs.PYCONV, first, second, *options, *output],
                    capture_output=True, text=True, check=False)
                results.check(
                    f"{first} {second} {options} {output}: status {status}, "
                    "and the output is as before",
                    done.returncode == status and
                    content(output[1]) == before,
                    (done.returncode, done.stderr))
    for name in ("run.bin", "damaged.bin"):
        for target in ("sqlite", "csv", "bin"):
            done = outputs.convert(name, target, "new", "--between", "1h..2h")
            results.check(
                f"{name} to {target}: no sample lies in the range",
                done.returncode == 4 and "lies in the range" in done.stderr
                and not os.path.exists("new"), (done.returncode, done.stderr))
    os.mkdir("unread")
    for name in ("empty.bin", "stub.bin"):
        os.rename(name, "unread/" + {"stub.bin": "a.bin"}.get(name, name))
    done = outputs.convert("unread", "sqlite", "unread.db")
    results.check("a cut and an empty file leave no database",
                  done.returncode == 1 and not os.path.exists("unread.db"),
                  (done.returncode, done.stderr))


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status, why = harness.feed(recording(random.Random(f"{seed} counts")),
                                   "run.bin", segment=1500)
        results.check("writes the profile", status == 0, why)
        damage("run.bin")
        check_whole(results)
        check_damaged(results)
        check_failure(results)
    results.exit()


if __name__ == "__main__":
    main()
