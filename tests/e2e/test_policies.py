#!/usr/bin/env python3
"""The recipes of docs/policies.md: every block of commands runs, against a server on a SQLite file."""
import os
import re
import subprocess

from helper_cli import BIN, ROOT, environment, equal, is_true, run


def recipes():
    """Pairs of a heading and its commands."""
    with open(f"{ROOT}/docs/policies.md", encoding="utf-8") as file:
        for part in file.read().split("\n## ")[1:]:
            for block in re.findall(r"```sh\n(.*?)```", part, re.S):
                yield part.split("\n")[0], block


def test_every_recipe_runs(cli):
    server = cli.start("serve", "--listen", "127.0.0.1:0", "--no-ui", "--workers", "0")
    line = server.stderr.readline()
    while "http://" not in line:
        line = server.stderr.readline()
    url = re.search(r"http://[0-9.:]+", line)[0]
    env = environment()
    env.update(URL=url, FAINA_URL=url, PATH=f"{os.path.dirname(os.path.abspath(BIN))}:{os.environ['PATH']}")
    count = 0
    for title, block in recipes():
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=env, cwd=cli.folder, text=True,
                              capture_output=True, check=False, timeout=120)
        equal(done.returncode, 0, title, block, done.stdout, done.stderr)
        count += 1
    is_true(count >= 3)
    server.terminate()
    server.wait(60)


run(globals())
