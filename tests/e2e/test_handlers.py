#!/usr/bin/env python3
"""Handlers as the manual and the examples show them, run by `faina worker`."""
import json
import os
import re
import shutil
import subprocess

from helper_cli import ROOT, Skip, contains, environment, equal, is_true, run

WORK = ("worker", "--idle-exit", "1s", "--concurrency", "4")


def build_plugin(source, target):
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", target, source,
                    f"-I{ROOT}/include/faina"], check=True, env=environment())


def examples(cli):
    """The examples as a handlers folder."""
    os.mkdir(cli.path("handlers"), 0o755)
    folder = f"{ROOT}/examples/handlers"
    for name in os.listdir(folder):
        if name.endswith(".c"):
            build_plugin(f"{folder}/{name}", cli.path(f"handlers/{name[:-2]}.so"))
        else:
            shutil.copy(f"{folder}/{name}", cli.path("handlers"))
            os.chmod(cli.path(f"handlers/{name}"), 0o644 if name.endswith(".json") else 0o755)


def manual(cli):
    """The handlers that docs/handlers.md shows."""
    os.mkdir(cli.path("handlers"), 0o755)
    with open(f"{ROOT}/docs/handlers.md", encoding="utf-8") as file:
        text = file.read()
    shown = re.findall(r"^\*\*handlers/([\w.]+)\*\*\n\n```\w+\n(.*?)^```", text, re.M | re.S)
    for name, body in shown:
        path = cli.write(f"handlers/{name}", body)
        os.chmod(path, 0o644 if name.endswith((".json", ".c")) else 0o755)
        if name.endswith(".c"):
            build_plugin(path, path[:-2] + ".so")
    return [name for name, _ in shown]


def lines_module(cli, name):
    """A module of examples/lines beside the handlers."""
    shutil.copy(f"{ROOT}/examples/lines/{name}", cli.path("handlers"))
    os.chmod(cli.path(f"handlers/{name}"), 0o644)


def result(cli, task):
    return json.loads(cli("result", task).out)


def check_lines(cli):
    """A type `mixed` whose input is a number, or what to do."""
    numbers = [cli.submit("mixed", str(number)) for number in range(20)]
    bad = cli.submit("mixed", '"bad"', "--max-attempts", "1")
    worse = cli.submit("mixed", '"worse"', "--max-attempts", "1")
    cli(*WORK)
    equal([result(cli, task) for task in numbers], [number * 2 for number in range(20)])
    equal(cli.get(bad)["error"]["message"], "no such host")
    equal(cli.get(bad)["error"]["kind"], "dns")
    equal(cli.get(worse)["status"], "dead_letter")
    contains(cli("logs", numbers[0]).out, "a printed line")


def test_lines_in_python(cli):
    os.mkdir(cli.path("handlers"), 0o755)
    lines_module(cli, "faina_lines.py")
    path = cli.write("handlers/mixed.py", """#!/usr/bin/env python3
import faina_lines
def mixed(task):
    print("a printed line")
    if task["input"] == "bad":
        raise faina_lines.Failed("no such host", kind="dns")
    task.send(progress=50, state="half")
    return task["input"] * 2 if task["input"] != "worse" else task["nothing"]
faina_lines.run(mixed, threads=4)
""")
    os.chmod(path, 0o755)
    cli.write("handlers/mixed.json", '{"mode":"lines","concurrency":4}')
    os.chmod(cli.path("handlers/mixed.json"), 0o644)
    check_lines(cli)


def test_lines_in_node(cli):
    if not shutil.which("node"):
        raise Skip("no node here")
    os.mkdir(cli.path("handlers"), 0o755)
    lines_module(cli, "faina_lines.mjs")
    path = cli.write("handlers/mixed.mjs", """#!/usr/bin/env node
import { Failed, run } from "./faina_lines.mjs";
run(async (task) => {
  console.log("a printed line");
  if (task.input === "bad") throw new Failed("no such host", { kind: "dns" });
  if (task.input === "worse") return task.nothing.at(0);
  task.send({ progress: 50, state: "half" });
  return task.input * 2;
});
""")
    os.chmod(path, 0o755)
    cli.write("handlers/mixed.json", '{"mode":"lines","concurrency":4}')
    os.chmod(cli.path("handlers/mixed.json"), 0o644)
    check_lines(cli)


def test_the_examples(cli):
    examples(cli)
    hello = cli.submit("hello", '{"name":"Ann"}')
    nobody = cli.submit("hello", "{}")
    squares = cli.submit("squares", '{"numbers":[1,2,3,4]}')
    mixed = cli.submit("squares", '{"numbers":[1,"two",3]}')
    words = cli.submit("words.count", '{"pages":["one two","three"]}')
    cli(*WORK)
    equal(result(cli, hello), {"greeting": "Hello, Ann"})
    equal(cli.get(nobody)["status"], "failed")
    contains(cli.get(nobody)["error"]["message"], "code 65: the input has no name")
    equal(result(cli, squares), {"sum": 30})
    equal(result(cli, mixed), {"sum": 10})
    equal(result(cli, words), {"words": 3, "pages": 2})
    log = [e for e in cli("events", hello).json()["items"] if e["event"] == "attempt"]
    contains(log[0]["detail"]["log"], f"attempt 1 of task {hello}")


def test_the_manual(cli):
    names = manual(cli)
    equal(names, ["hello", "squares", "squares.one", "order", "hello.json", "mean.py", "mean.json",
                  "double.c"])
    lines_module(cli, "faina_lines.py")
    mean = cli.submit("mean", "[1,2,3]")
    hello = cli.submit("hello", '{"name":"Ann"}')
    squares = cli.submit("squares", '{"numbers":[3,4]}')
    order = cli.submit("order", "{}")
    double = cli.submit("double", "21")
    out = cli(*WORK).err
    is_true("is not used" not in out, out)
    equal(cli("result", hello).out, '{"greeting":"Hello, Ann"}\n')
    equal(result(cli, squares), {"sum": 25})
    equal(result(cli, double), 42)
    equal(result(cli, mean), 2)
    got = cli.get(order)
    equal((got["status"], got["state"]), ("background", "the warehouse packs it"))
    cli("complete", order, '"packed"')
    equal(result(cli, order), "packed")


def test_the_manual_lists_all_settings_of_the_program(cli):
    with open(f"{ROOT}/docs/handlers.md", encoding="utf-8") as file:
        text = file.read()
    flags = set(re.findall(r"(--[a-z-]+)", cli("worker", "--help").out.split("Examples:")[0]))
    for flag in set(re.findall(r"^\| `(--[a-z-]+)", text, re.M)):
        is_true(flag in flags, flag)
    with open(f"{ROOT}/src/worker/type_settings.c", encoding="utf-8") as file:
        known = set(re.findall(r'^    \{"(\w+)", read_\w+, (?:offsetof|0)', file.read(), re.M))
    told = set(re.findall(r"^\| `(\w+)` \|", text.split("### Settings")[1].split("##")[0], re.M))
    is_true(told <= known | {"limits"}, told, known)


run(globals())
