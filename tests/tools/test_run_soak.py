#!/usr/bin/env python3
"""tools/run-soak has a program for every row, and docs/reliability.md has every row."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import ROOT, check, equal, finish  # noqa: E402


def load(path):
    loader = importlib.machinery.SourceFileLoader("run_soak", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_soak", loader))
    loader.exec_module(module)
    return module


soak = load(f"{ROOT}/tools/run-soak")
listed = subprocess.run([f"{ROOT}/tools/list-sources"], check=True, capture_output=True, text=True)
programs = {line.split(" ")[2] for line in listed.stdout.splitlines() if len(line.split(" ")) > 2}
with open(f"{ROOT}/docs/reliability.md", encoding="utf-8") as file:
    doc = file.read()

for row in soak.ROWS:
    word = row.command[0]
    if word.startswith("{build}/tests/"):
        check(f"{row.name}: there is {word}", word.split("/")[-1] in programs, programs)
    else:
        check(f"{row.name}: there is {word}", os.access(f"{ROOT}/{word}", os.X_OK))
    check(f"{row.name}: docs/reliability.md has it", f"| {row.fault} |" in doc, row.fault)
equal("names", len({row.name for row in soak.ROWS}), len(soak.ROWS))
done = subprocess.run([f"{ROOT}/tools/run-soak", "--list", "--minutes", "60"], check=False,
                      capture_output=True, text=True)
equal("--list", (done.returncode, len(done.stdout.splitlines())), (0, len(soak.ROWS)))
kills = next(row for row in soak.ROWS if row.name == "sqlite-kills")
equal("a share", kills.words(0.01)[0], "FA_KILLS=100")
equal("read from the output", soak.judge(kills, 100, 0, "100 kills, 2 records"), (100, 10000, "ok"))
equal("nothing done is no success", soak.judge(kills, 100, 0, "")[2], "FAILED (0)")
equal("a failure", soak.judge(kills, 100, 1, "7 kills, 2 records"), (7, 10000, "FAILED (1)"))
equal("skipped", soak.judge(kills, 100, 0, "[  SKIPPED ] x")[2], "skipped")
finish()
