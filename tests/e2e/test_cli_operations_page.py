#!/usr/bin/env python3
"""docs/operations.md: its commands run, and print what the page shows, but for ids, times and widths.

  tests/e2e/test_cli_operations_page.py print     prints the page with the output of this run
"""
import getpass
import os
import re
import subprocess
import sys

from helper_cli import BIN, ROOT, environment, equal, is_true, run

PAGE = f"{ROOT}/docs/operations.md"
ID_PARTS = re.compile(r"\b[0-9a-f]{10}\b(?!-)|" # an id in a table
                      r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
SHELL = r'''
faina() { command faina "$1" -o table "${@:2}"; }
'''
MARK = "-- end of block --"


def blocks(text):
    """(commands, output or None) of the page."""
    return re.findall(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.S)


def plain(text):
    """Without what differs between two runs."""
    text = ID_PARTS.sub("ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d+Z?", "TIME", text)
    text = re.sub(r"\b(now|\d+ (s|min|h) ago)(?= |$)", "AGE", text, flags=re.M)
    text = re.sub(r"[▁▂▃▄▅▆▇█](?:[▁▂▃▄▅▆▇█ ]*[▁▂▃▄▅▆▇█])?", "BARS", text)
    text = re.sub(r"in [0-9.]+ (m?s)\b", "in TIME", text)
    text = re.sub(r"--cursor \w+", "--cursor C", text)
    text = re.sub(rf"\b(root|{getpass.getuser()})\b", "USER", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def play(cli, text, on_block):
    """Runs the blocks one after the other in one shell. The ids of the page become those of this run."""
    os.mkdir(cli.path("handlers"))
    server = cli.start("serve", "--listen", "127.0.0.1:0", "--no-ui", "--workers", "4")
    line = server.stderr.readline()
    while "http://" not in line:
        line = server.stderr.readline()
    address = re.search(r"http://([0-9.:]+)", line)[1]
    env = environment(PATH=f"{os.path.dirname(os.path.abspath(BIN))}:{os.environ['PATH']}", COLUMNS="80")
    shell = subprocess.Popen(["bash", "-euo", "pipefail"], env=env, cwd=cli.folder, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shell.stdin.write(SHELL)
    ids = {}
    try:
        for commands, output in blocks(text):
            for old, new in ids.items():
                commands = commands.replace(old, new)
            shell.stdin.write(commands.replace("localhost:7070", address) + f"\necho '{MARK}'\n")
            shell.stdin.flush()
            got = ""
            while not got.endswith(MARK + "\n"):
                line = shell.stdout.readline()
                is_true(line, "the shell has ended in", commands, got)
                got += line
            got = got[:-len(MARK) - 1]
            on_block(commands, output, got)
            ids.update(zip(ID_PARTS.findall(output), ID_PARTS.findall(got)))
        shell.stdin.close()
        equal(shell.wait(60), 0)
    finally:
        shell.kill()
        shell.wait()
        server.terminate()
        server.communicate(timeout=60)
    return ids


def test_the_story_is_true(cli):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    seen = []

    def on_block(commands, output, got):
        seen.append(commands)
        equal(plain(got), plain(output), commands, got)

    play(cli, text, on_block)
    is_true(len(seen) > 8, seen)


def print_page(cli):
    """For a change of what the commands print."""
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"(```text\n.*?```)", file.read(), flags=re.S)
    outputs = []
    ids = play(cli, "".join(parts), lambda commands, output, got: outputs.append(got) if output else None)
    for part in parts:
        for old, new in ids.items():
            part = part.replace(old, new)
        sys.stdout.write(f"```text\n{outputs.pop(0)}```" if part.startswith("```text") else part)


if sys.argv[1:] == ["print"]:
    import tempfile

    from helper_cli import Cli
    with tempfile.TemporaryDirectory() as folder:
        print_page(Cli(folder))
    sys.exit(0)
run(globals())
