#!/usr/bin/env python3
"""The code of docs/handlers.md: every handler runs as it is written, and all C compiles."""
import json
import os
import re
import shutil
import subprocess

from helper_cli import ROOT, equal, run

HANDLER = re.compile(r"^\*\*handlers/(\S+)\*\*\n+```\w+\n(.*?)^```", re.M | re.S)
BLOCK = re.compile(r"^```\w+\n(.*?)^```", re.M | re.S)
INCLUDES = "#include <faina.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
C_FLAGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-missing-field-initializers",
           f"-I{ROOT}/include/faina"]

# Type -> input, and how the task ends: its status and output.
TASKS = {
    "hello": ({"name": "Ann"}, "completed", {"greeting": "Hello, Ann"}),
    "squares": ({"numbers": [1, 2, 3]}, "completed", {"sum": 14}),
    "mean": ([1, 2, 6], "completed", 3),
    "double": (21, "completed", 42),
    "order": (None, "background", None),
}


def page():
    with open(f"{ROOT}/docs/handlers.md", encoding="utf-8") as file:
        return file.read()


def compile_c(folder, source, *flags):
    done = subprocess.run(["cc", "-x", "c", "-", *C_FLAGS, *flags], cwd=folder, input=source, text=True,
                          capture_output=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), source)


def write_handlers(cli, handlers):
    os.makedirs(cli.path("handlers"), exist_ok=True)
    for name, text in handlers.items():
        if name.endswith(".c"):
            compile_c(cli.folder, text, "-shared", "-fPIC", "-o", f"handlers/{name[:-2]}.so")
            continue
        cli.write(f"handlers/{name}", text)
        os.chmod(cli.path(f"handlers/{name}"), 0o644 if name.endswith(".json") else 0o755)
    shutil.copy(f"{ROOT}/examples/lines/faina_lines.py", cli.path("handlers"))
    os.chmod(cli.path("handlers/faina_lines.py"), 0o644)


def test_every_handler_runs(cli):
    text = page()
    handlers = dict(HANDLER.findall(text))
    write_handlers(cli, handlers)
    kinds = {re.sub(r"\.(json|c|py)$", "", name) for name in handlers}
    equal(kinds - {"squares.one"}, set(TASKS))
    cli("resource", "set", "mailbox", "5")
    ids = {name: cli.submit(name, *([] if given is None else [json.dumps(given)]))
           for name, (given, _, _) in TASKS.items()}
    cli("worker", "--idle-exit", "2s")
    for name, (_, status, output) in TASKS.items():
        task = cli.get(ids[name])
        equal((name, task["status"], task["output"]), (name, status, output), task)


def test_the_rest_compiles(cli):
    """Blocks that are no whole file: inside of the plugin, and inside of a function."""
    text = page()
    named = {block for _, block in HANDLER.findall(text)}
    rest = [block for block in BLOCK.findall(text) if block not in named]
    equal(len(rest), 3, rest)
    triggers, calls, subtask = rest
    plugin = dict(HANDLER.findall(text))["double.c"]
    compile_c(cli.folder, f"{INCLUDES}{triggers}\nconst void *used(void) {{ return triggers; }}\n", "-fsyntax-only")
    twice = plugin.split("static const", 1)[0]
    compile_c(cli.folder, f"{twice}\nvoid start(struct faina *engine);\nvoid start(struct faina *engine)\n"
              f"{{\nstruct faina_error err;\n{calls}\n}}\n", "-fsyntax-only")
    compile_c(cli.folder, f"{INCLUDES}enum faina_code create(struct faina_context *context);\n"
              f"enum faina_code create(struct faina_context *context)\n{{\nenum faina_code code;\n"
              f"struct faina_error err;\n{subtask}\nreturn code;\n}}\n", "-fsyntax-only")


run(globals())
