#!/usr/bin/env python3
"""The Debian packages: they have no fault that lintian knows; installed, the service runs as its unit says, an
upgrade keeps the data, and removing them leaves only the data."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/tests/support")
from checks import check, equal, finish, skip  # pylint: disable=C0413

NEXT = "99.0.0"


def run(*words, **more):
    done = subprocess.run(words, check=False, capture_output=True, text=True, **more)
    check(f"{os.path.basename(words[0])} succeeds", done.returncode == 0,
            f"{words}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Root:
    """A root directory of its own, with its own list of packages."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "etc"):
            os.makedirs(f"{folder}/{name}")
        for name in ("status", "available"):
            with open(f"{folder}/var/lib/dpkg/{name}", "w", encoding="ascii"):
                pass

    def dpkg(self, *words):
        """The libraries that they depend on are those of this machine."""
        return run("dpkg", f"--root={self.folder}", "--force-not-root", "--force-depends",
                   "--force-script-chrootless", "--force-bad-path", *words,
                   env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})

    def faina(self, *words):
        return run(f"{self.folder}/usr/bin/faina", *words, cwd=self.folder)

    def version(self):
        return run("dpkg-query", f"--admindir={self.folder}/var/lib/dpkg", "-W", "-f", "${Version}",
                   "faina")


def unit_command(folder):
    """ExecStart of the installed unit, in this root."""
    with open(f"{folder}/lib/systemd/system/faina.service", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("ExecStart="))
    return [folder + line.split("=", 1)[1].split()[0], *line.split()[1:]]


def serve(root, address):
    env = {**os.environ, "FAINA_URL": f"sqlite:{root.folder}/var/faina.db", "FAINA_LISTEN": address,
           "FAINA_LOG": "warn"}
    process = subprocess.Popen(unit_command(root.folder), cwd=root.folder, env=env)  # pylint: disable=R1732
    until = time.monotonic() + 60
    while not os.path.exists(f"{root.folder}/var/faina.db.sock"):
        if process.poll() is not None or time.monotonic() > until:
            check("the service starts", False)
            break
        time.sleep(0.05)
    return process


def test_packages(folder):
    out = f"{folder}/packages"
    run(f"{ROOT}/tools/build-deb", "--fast", out, cwd=ROOT)
    now = sorted(glob.glob(f"{out}/*.deb"))
    equal("packages", [os.path.basename(path).split("_")[0] for path in now],
          ["faina", "libfaina-dev", "libfaina0"])
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                           *glob.glob(f"{out}/*.changes")], check=False, capture_output=True, text=True)
    equal("lintian", (done.returncode, done.stdout), (0, ""))
    run(f"{ROOT}/tools/build-deb", "--fast", "--version", NEXT, out, cwd=ROOT)
    newer = sorted(glob.glob(f"{out}/*_{NEXT}-*.deb"))

    os.mkdir(f"{folder}/root")
    root = Root(f"{folder}/root")
    root.dpkg("-i", *now)
    for path in ("lib/systemd/system/faina.socket", "usr/share/man/man1/faina.1.gz",
                 "usr/share/bash-completion/completions/faina", "usr/include/faina.h"):
        check(path, os.path.exists(f"{root.folder}/{path}"))
    server = serve(root, "unix:s")
    task = root.faina("submit", "t", "1", "--url", "sqlite:var/faina.db").strip()
    server.terminate()
    equal("the service ends", server.wait(60), 0)

    root.dpkg("-i", *newer)
    check("it is the newer version", root.version().startswith(NEXT))
    server = serve(root, "unix:s")
    got = json.loads(root.faina("get", task, "-o", "json", "--url", "sqlite:var/faina.db"))
    equal("the task is there", (got["id"], got["status"]), (task, "pending"))
    server.terminate()
    equal("the service ends", server.wait(60), 0)

    root.dpkg("--purge", "faina", "libfaina-dev", "libfaina0")
    check("the program is gone", not os.path.exists(f"{root.folder}/usr/bin/faina"))
    check("the data stays", os.path.exists(f"{root.folder}/var/faina.db"))


def main():
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(program):
            skip("packages", f"no {program}")
            finish()
    with tempfile.TemporaryDirectory(prefix="faina-deb-") as folder:
        test_packages(folder)
    finish()


if __name__ == "__main__":
    main()
