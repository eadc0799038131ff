"""A role and a database of a test's own, with whatever settings it wants; both go with it."""
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import FAINA  # noqa: E402  pylint: disable=wrong-import-position

ADMIN = os.environ.get("FA_POSTGRES_ADMIN_URL")
PATIENCE = 60


def run(command, text=None, **how):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                          timeout=PATIENCE, **how)


def start(command, text):
    """Goes on at once; what it prints is in `stdout`."""
    process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(text)
    process.stdin.close()
    return process


def environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("FAINA_", "DB_", "API_PG_", "PG"))}


class Place:
    """`with Place("ENCODING 'LATIN1' TEMPLATE template0") as place:`"""

    def __init__(self, how=""):
        self.name = f"place_{secrets.token_hex(4)}"
        self.how = how
        self.folder = None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="faina-place-")
        os.chmod(self.folder.name, 0o755)
        self.admin(f"CREATE ROLE {self.name} LOGIN PASSWORD 'secret'")
        self.admin(f"CREATE DATABASE {self.name} OWNER {self.name} {self.how}")
        return self

    def __exit__(self, *_):
        # FORCE is refused while an autovacuum worker is connected, which ends by itself.
        until = time.monotonic() + 30
        while run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", ADMIN],
                  f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)").returncode != 0:
            assert time.monotonic() < until, f"can't drop {self.name}"
            time.sleep(0.05)
        self.admin(f"DROP ROLE IF EXISTS {self.name}")
        self.folder.cleanup()

    @staticmethod
    def admin(text, database=None):
        url = ADMIN if database is None else ADMIN.rsplit("/", 1)[0] + "/" + database
        done = run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url], text)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def url(self, role=None, password="secret", port=None):
        base = re.sub(r"//[^@]*@", f"//{role or self.name}:{password}@", ADMIN.rsplit("/", 1)[0])
        if port:
            base = re.sub(r":\d+$", f":{port}", base)
        return f"{base}/{self.name}"

    def port(self):
        return int(ADMIN.rsplit("/", 1)[0].rsplit(":", 1)[1])

    def set(self, setting):
        """For the role, from its next connection on."""
        self.admin(f"ALTER ROLE {self.name} SET {setting}")

    def psql(self, text, role=None, password="secret"):
        """What it prints, and what it complains about. The role's own limits of time, which may be
        shorter than a busy machine needs, don't count."""
        limits = {"PGOPTIONS": "-c statement_timeout=0 -c lock_timeout=0"}
        done = run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url(role, password)], text,
                   env=os.environ | limits)
        return (done.stdout + done.stderr).strip()

    def faina(self, *args, url=None, **more):
        """(exit code, output, complaints)"""
        done = run([FAINA, *args, "--url", url or self.url()], cwd=self.folder.name,
                   env={**environment(), **more})
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def handlers(self):
        """A folder with one for the type x."""
        folder = os.path.join(self.folder.name, "handlers")
        if not os.path.isdir(folder):
            os.mkdir(folder)
            with open(f"{folder}/x", "w", encoding="ascii") as file:
                file.write("#!/bin/sh\necho 1\n")
            os.chmod(f"{folder}/x", 0o755)
        return folder
