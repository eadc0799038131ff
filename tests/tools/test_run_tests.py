#!/usr/bin/env python3
"""tools/run-tests counts what test programs say, and believes no silence."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import ROOT, equal, finish  # noqa: E402

loader = importlib.machinery.SourceFileLoader("run_tests", f"{ROOT}/tools/run-tests")
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)

GOOD = "[==========] Running 3 test(s).\n[  PASSED  ] 3 test(s).\n"
MIXED = ("[==========] Running 3 test(s).\n[  PASSED  ] 1 test(s).\n"
         "[  SKIPPED ] 1 test(s), listed below:\n[  FAILED  ] 1 test(s), listed below:\n")
NAMED = ("[==========] states: Running 2 test(s).\n[==========] states: 2 test(s) run.\n"
         "[  PASSED  ] 2 test(s).\n")
CRASHED = "[==========] Running 3 test(s).\n[ RUN      ] test_a\n"
LATER = CRASHED + "[       OK ] test_a\n[ RUN      ] test_b\n"

for name, output, code, timed_out, wanted in (
        ("cmocka, all well", GOOD, 0, False, (3, 0, 0)),
        ("cmocka, one of each", MIXED, 1, False, (1, 1, 1)),
        ("cmocka, two groups", GOOD + NAMED, 0, False, (5, 0, 0)),
        ("cmocka, a crash", CRASHED, -11, False, (0, 1, 0)),
        ("cmocka, a crash in the second", LATER, -11, False, (1, 1, 0)),
        ("cmocka, gone without a word", CRASHED, 0, False, (0, 1, 0)),
        ("cmocka, a leak found at exit", GOOD, 99, False, (3, 1, 0)),
        ("a time-out", CRASHED, -9, True, (0, 1, 0)),
        ("a closing line", "x\n4 passed, 0 failed, 2 skipped\n", 0, False, (4, 0, 2)),
        ("a closing line with failures", "4 passed, 2 failed, 0 skipped\n", 1, False, (4, 2, 0)),
        ("a closing line that doesn't fit", "4 passed, 0 failed, 0 skipped\n", 1, False, (4, 1, 0)),
        ("TAP", "1..3\nok 1\nnot ok 2\nok 3 # SKIP no fish\n", 1, False, (1, 1, 1)),
        ("TAP, ended early", "1..3\nok 1\n", 0, False, (1, 1, 0)),
        ("silence, 0", "", 0, False, (1, 0, 0)),
        ("silence, 77", "", 77, False, (0, 0, 1)),
        ("silence, 3", "", 3, False, (0, 1, 0))):
    result = run_tests.count(output, code, timed_out)
    equal(name, (result.passed, result.failed, result.skipped), wanted)


def results_of(count, script):
    """Of `count` programs with this script, which run in a folder that they share."""
    with tempfile.TemporaryDirectory() as folder:
        tests = []
        for i in range(count):
            path = os.path.join(folder, f"test_{i}.sh")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\ncd {folder}\n{script.replace('NAME', str(i))}\n")
            os.chmod(path, 0o755)
            tests.append(run_tests.Test("tools", f"x/{i}", "plain", [path], 30, False))
        with contextlib.redirect_stdout(io.StringIO()):
            total, failures, repeated = run_tests.run_all(tests)
        return (total.passed, total.failed), sorted(failures), sorted(repeated)


# Fails when it runs for the first time.
LATE = "if ! [ -e ran.NAME ]; then touch ran.NAME; %s; exit 1; fi"
equal("a failure that doesn't repeat", results_of(2, LATE % ":"),
      ((2, 0), [], ["x/0 [plain]", "x/1 [plain]"]))
equal("a failure that repeats", results_of(2, "exit 1"),
      ((0, 2), ["x/0 [plain]", "x/1 [plain]"], []))
equal("too many failures", results_of(run_tests.REPEATS_MAX + 1, LATE % ":")[0],
      (0, run_tests.REPEATS_MAX + 1))
equal("a finding of a sanitizer", results_of(2, LATE % "echo WARNING: ThreadSanitizer: data race")[0],
      (0, 2))
equal("a finding after a failed test", results_of(
    2, LATE % "echo '[  FAILED  ] test_a'; echo WARNING: ThreadSanitizer: data race")[0], (2, 0))
finish()
