#!/usr/bin/env python3
"""The source tarball: the same bytes from two clones of one commit, and the dashboard without npm."""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import BUILD, ROOT, check, equal, finish, skip  # noqa: E402

# What tools/build-web runs besides node and npm.
PROGRAMS = "bash env dirname mkdir flock find sort sha256sum cut cat cmp cp mv rm".split()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make(folder, umask, zone):
    """The tarball of a clone in this folder."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    shutil.copytree(f"{BUILD}/web", f"{folder}/build/web", copy_function=shutil.copyfile,
                    ignore=shutil.ignore_patterns(".lock", "files"))
    shutil.copytree(f"{ROOT}/sdk/typescript/dist", f"{folder}/sdk/typescript/dist", copy_function=shutil.copyfile)
    env = {name: value for name, value in os.environ.items() if name != "BUILD"}
    done = subprocess.run(["tools/build-dist"], cwd=folder, env={**env, "TZ": zone}, check=False, capture_output=True,
                          text=True, preexec_fn=lambda: os.umask(umask))
    check("tools/build-dist", done.returncode == 0, done.stdout + done.stderr)
    return f"{folder}/{done.stdout.split()[-1]}"


def test_dist(folder):
    one = make(f"{folder}/one", 0o022, "UTC")
    two = make(f"{folder}/another", 0o077, "Asia/Tokyo")
    check("the bytes are the same", read(one) == read(two))
    with tarfile.open(one) as tarball:
        tops = {name.split("/")[0] for name in tarball.getnames()}
        tarball.extractall(folder)
    top, = tops
    equal("the folder", f"{top}.tar.gz", os.path.basename(one))
    check("the libraries are built", os.path.exists(f"{folder}/{top}/sdk/typescript/dist/index.js"))
    os.mkdir(f"{folder}/bin")
    for name in PROGRAMS:
        os.symlink(shutil.which(name), f"{folder}/bin/{name}")
    done = subprocess.run(["tools/build-web", f"{folder}/web"], cwd=f"{folder}/{top}", env={"PATH": f"{folder}/bin"},
                          check=False, capture_output=True, text=True)
    equal("the dashboard without npm", (done.returncode, done.stderr), (0, ""))
    check("it is the same", read(f"{folder}/web/pages.json") == read(f"{BUILD}/web/pages.json"))


def main():
    if not os.path.exists(f"{ROOT}/.git") or not os.path.exists(f"{BUILD}/web/stamp"):
        skip("the tarball", "no clone, or the dashboard is not built")
        finish()
    with tempfile.TemporaryDirectory(prefix="faina-dist-") as folder:
        test_dist(folder)
    finish()


if __name__ == "__main__":
    main()
