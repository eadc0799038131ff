"""The program of an earlier commit, built from the history of this checkout."""
import fcntl
import os
import re
import shutil
import subprocess

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
MIGRATIONS = "src/store/db/postgres/migrations"
MIGRATIONS_BEFORE = "src/sql/postgres/migrations"  # where they were, in earlier commits
VERSION = "0.0.9" # what it says of itself: a number of its own, as a release would have


class NoHistory(Exception):
    """The earlier sources can't be had; the argument tells why."""


def git(*args):
    done = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", *args],
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise NoHistory(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def commit_before(migration):
    """The last commit without this migration."""
    if not shutil.which("git") or not os.path.exists(f"{ROOT}/.git"):
        raise NoHistory("this is no git checkout")
    paths = [f"{folder}/{migration}" for folder in (MIGRATIONS, MIGRATIONS_BEFORE)]
    added = git("log", "--first-parent", "-m", "--diff-filter=A", "--no-renames", "--format=%H", "--",
                *paths)
    if not added.strip():
        raise NoHistory(f"no commit adds {migration}")
    commit = added.decode().split()[-1]
    if not git("log", "-1", "--format=%P", commit).strip():
        raise NoHistory("the history is cut off (a shallow clone?)")
    return git("rev-parse", f"{commit}^1").decode().strip()


def unpack(commit, folder):
    tar = git("archive", commit)
    subprocess.run(["tar", "-x", "-C", folder], input=tar, check=True)
    header = os.path.join(folder, "include/faina/faina.h")
    with open(header, encoding="utf-8") as file:
        text = file.read()
    with open(header, "w", encoding="utf-8") as file:
        file.write(re.sub(r'(#define FAINA_VERSION ")[^"]*', rf"\g<1>{VERSION}", text))


def build(commit):
    """The path of the commit's program; what was built before is used again."""
    top = os.path.join(BUILD, "old")
    folder = os.path.join(top, commit[:12])
    program = os.path.join(folder, "build/faina")
    os.makedirs(top, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(program):
            return program
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        unpack(commit, folder)
        for command in (["meson", "setup", "-Doptimization=0", "-Ddebug=false", "-Dwerror=false",
                         "build"], ["ninja", "-C", "build", "faina"]):
            done = subprocess.run(command, cwd=folder, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert done.returncode == 0, f"{commit} does not build:\n{done.stdout[-4000:]}"
        return program
