"""A browser for the page of `--to html`: Chromium by playwright-core, which npm
installs once into $PYREC_CACHE."""

import json
import os

import live
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("PYREC_CACHE") or
                     os.path.expanduser("~/.cache/pyrec"), "npm-page")
PACKAGES = ["playwright-core@1.65.1"]


def node(script, *arguments):
    """What a script that drives a browser prints, which is JSON."""
    if not os.path.isdir(os.path.join(CACHE, "node_modules", "playwright-core")):
        live.succeed("npm", "install", "--no-audit", "--no-fund", "--silent",
                     "--ignore-scripts", "--prefix", CACHE, *PACKAGES)
    environment = dict(os.environ,
                       NODE_PATH=os.path.join(CACHE, "node_modules"))
    return json.loads(live.succeed("node", script, *arguments,
                                   env=environment).stdout)


def drive_all(page, *steps):
    """Results of all steps, errors that the page logs, addresses it asks for."""
    with open("steps.json", "w", encoding="utf-8") as file:
        json.dump(steps, file)
    return node(os.path.join(HERE, "page.js"), os.path.abspath(page),
                "steps.json")


def drive(page, *steps):
    """The results of the steps that have one, in order."""
    answer = drive_all(page, *steps)
    expect(not answer["errors"], "the page logs errors: %s", answer["errors"])
    expect(not answer["requests"], "the page asks for %s", answer["requests"])
    with_result = {"read", "rows", "value", "save"}
    return [result for result, step in zip(answer["results"], steps)
            if step[0] in with_result]
