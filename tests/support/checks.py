"""checks.py - shared by the Python tests: named checks and the closing line."""
import os
import sys

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FA_BUILD") or os.path.join(ROOT, os.environ.get("BUILD", "build"))
FAINA = os.environ.get("FAINA_BIN") or os.path.join(BUILD, "faina")

_counts = {"passed": 0, "failed": 0, "skipped": 0}


def check(name, is_fine, seen=""):
    """One check; `seen` is printed when it fails."""
    _counts["passed" if is_fine else "failed"] += 1
    if not is_fine:
        print(f"FAIL: {name}\n{seen}".rstrip())


def equal(name, got, wanted):
    check(name, got == wanted, f"  got    {got!r}\n  wanted {wanted!r}")


def skip(name, why):
    _counts["skipped"] += 1
    print(f"skipped: {name}: {why}")


def finish():
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**_counts))
    sys.exit(1 if _counts["failed"] else 0)
