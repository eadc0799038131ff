#!/usr/bin/env python3
"""Spans of tasks on NATS: the tests of server/test_otlp.py that need no more than this engine has."""
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.environ["FA_SOURCE_ROOT"], "tests/server"))
sys.dont_write_bytecode = True
from helper_server import run_one  # pylint: disable=C0413
import test_otlp  # pylint: disable=C0413

TESTS = (test_otlp.test_spans_of_a_task, test_otlp.test_a_lost_lease_and_a_cancel,
         test_otlp.test_sampling)


def main():
    url = os.environ.get("FA_NATS_URL")
    if not url:
        print("no NATS server here: run it through tools/test-nats")
        sys.exit(77)
    results = []
    for test in TESTS:
        joint = "&" if "?" in url else "?"
        results.append(run_one(test, f"{url}{joint}bucket=spans-{uuid.uuid4().hex}", test.__name__))
    print(", ".join(f"{results.count(word)} {word}" for word in ("passed", "failed", "skipped")))
    sys.exit(1 if "failed" in results else 0)


main()
