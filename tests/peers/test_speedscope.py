"""speedscope's own schema and its own viewer, in a browser, take our files."""

import base64
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
import npm
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
           "--disable-quic", "--no-first-run", "--disable-sync",
           "--disable-background-networking", "--disable-component-update",
           "--window-size=1200,700", "--virtual-time-budget=8000"]


def converted(program):
    """A recording of a target, as speedscope's JSON."""
    with live.Target(live.ANY_PYTHON, program) as target:
        live.record(target, "run.bin", "-f")
    live.succeed(live.PYCONV, "run.bin", "--to", "speedscope", "-f", "-o",
                 "run.speedscope.json")
    return "run.speedscope.json"


def release():
    """The folder of speedscope itself."""
    return os.path.join(npm.modules(*npm.READERS), "speedscope", "dist",
                        "release")


def valid(path):
    live.succeed("node", os.path.join(HERE, "schema.js"),
                 os.path.join(release(), "file-format-schema.json"), path,
                 env=dict(os.environ, NODE_PATH=npm.modules(*npm.READERS)))


@live.once
def an_ordinary_profile_fits_the_schema():
    valid(converted("plain.py"))


@live.once
def a_profile_with_names_that_no_format_likes_fits_the_schema():
    valid(converted("names.py"))


@live.once
def a_profile_without_samples_fits_the_schema():
    empty = os.path.join(live.SOURCE, "spec", "vectors", "good-empty.bin")
    live.succeed(live.PYCONV, empty, "--to", "speedscope", "-f", "-o",
                 "run.speedscope.json")
    valid("run.speedscope.json")


@live.once
def the_viewer_shows_the_profile():
    viewer = release()
    path = converted("plain.py")
    with open(path, "rb") as file:
        content = file.read()
    # The viewer's own way to load a file without a server: a script that
    # hands it over.
    with open("profile.js", "w") as file:
        file.write('speedscope.loadFileFromBase64("%s", "%s")'
                   % (path, base64.b64encode(content).decode()))
    address = "file://%s/index.html#localProfilePath=%s" % (
        viewer, os.path.abspath("profile.js"))
    page = live.succeed(*BROWSER, "--user-data-dir=" + os.path.abspath("home"),
                        "--dump-dom", address).stdout
    stated = json.loads(content)
    shown = stated["profiles"][stated.get("activeProfileIndex", 0)]["name"]
    expect("<title>" in page and "speedscope</title>" in page, "no page")
    expect(shown in page, "no %s in the page", shown)
    live.succeed(*BROWSER, "--user-data-dir=" + os.path.abspath("home"),
                 "--screenshot=" + os.path.abspath("page.png"), address)
    shutil.copy("page.png", os.path.join(os.environ["BIN"], "log",
                                         "speedscope.png"))


live.run()
