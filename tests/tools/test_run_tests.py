#!/usr/bin/env python3
"""tools/run-tests counts what test programs say, and believes no silence."""
import importlib.machinery
import importlib.util
import os
import sys

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
finish()
