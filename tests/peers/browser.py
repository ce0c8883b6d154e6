"""Browsers for the page of `--to html`: Chromium by playwright-core, Firefox by
puppeteer-core.  npm.py installs them."""

import json
import os

import live
import npm
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))


def node(script, *arguments):
    """The JSON that a script prints which drives a browser."""
    environment = dict(os.environ, NODE_PATH=npm.modules(*npm.BROWSERS))
    return json.loads(live.succeed("node", script, *arguments,
                                   env=environment).stdout)


def drive_all(page, *steps, script="page.js"):
    """Results of all steps, errors that the page logs, addresses it asks for."""
    with open("steps.json", "w", encoding="utf-8") as file:
        json.dump(steps, file)
    return node(os.path.join(HERE, script), os.path.abspath(page),
                "steps.json")


def drive(page, *steps, script="page.js"):
    """The results of the steps that have one, in order."""
    answer = drive_all(page, *steps, script=script)
    expect(not answer["errors"], "the page logs errors: %s", answer["errors"])
    expect(not answer["requests"], "the page asks for %s", answer["requests"])
    with_result = {"read", "rows", "value", "save", "names"}
    return [result for result, step in zip(answer["results"], steps)
            if step[0] in with_result]
