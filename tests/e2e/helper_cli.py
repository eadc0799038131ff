"""What the end-to-end tests share: the program in a folder of its own, plain or on a terminal.

A test is a function test_*(cli) in a file that ends with `run(globals())`. Each gets a fresh folder.
The program is $FAINA_BIN, else build/faina.
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FA_BUILD") or os.path.join(ROOT, "build")
BIN = os.environ.get("FAINA_BIN") or os.path.join(BUILD, "faina")
# A sanitizer's program is slower, and so is a busy machine.
PATIENCE = 60
NOBODY = 65534
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Skip(Exception):
    """The test can't be run here; the argument is the reason."""


class Result:
    def __init__(self, code, out, err=""):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def plain(self):
        """The text of a terminal without its escape sequences."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.out)

    def __repr__(self):
        return f"exit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


def environment(**extra):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("FAINA_", "DB_", "API_PG_"))}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        env.pop(name, None)
    env.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    env.update(extra)
    return env


class Cli:
    """The program in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.user = None # the user that runs it; None: the user of the tests

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w" if isinstance(text, str) else "wb") as file:
            file.write(text)
        return self.path(name)

    def __call__(self, *args, stdin="", env=None, code=0):
        """Runs it without a terminal. The exit code must be `code` (None: any)."""
        done = subprocess.run([BIN, *args], cwd=self.folder, input=stdin, text=True,
                              capture_output=True, env=environment(**(env or {})),
                              timeout=PATIENCE, check=False, user=self.user)
        result = Result(done.returncode, done.stdout, done.stderr)
        if code is not None:
            assert result.code == code, f"faina {' '.join(args)}: expected {code}, got {result!r}"
            # C1 of cli.h: an error leaves stdout alone. (1 may also be "some were refused".)
            if code > 1:
                assert result.out == "", f"faina {' '.join(args)}: {result!r}"
                assert result.err.startswith("faina: ") or "Usage:" in result.err, repr(result)
        return result

    def give_up_root(self):
        """Root may write everywhere, so refusals are tested as the user nobody."""
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            above = os.path.dirname(self.folder) # the user nobody must be able to enter it
            os.chmod(above, os.stat(above).st_mode | 0o111)
            self.user = NOBODY
        if self("version", code=None).code != 0:
            raise Skip(f"{BIN} can't be run by another user")

    def start(self, *args, **more):
        """Starts it and goes on."""
        return subprocess.Popen([BIN, *args], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment(), **more)

    def own(self):
        """Starts a command that owns the file until its stdin is closed."""
        owner = self.start("submit", "own", "--bulk", stdin=subprocess.PIPE)
        owner.stdin.write("{}\n" * 1000) # a whole batch, which is answered at once
        owner.stdin.flush()
        owner.stdout.readline()
        return owner

    def submit(self, *args):
        return self("submit", *args).out.strip()

    def get(self, task):
        return self("get", task).json()

    def on_terminal(self, *args, width=80, replies=(), env=None, until=None, shell=None):
        """Runs it on a terminal. `replies` are pairs: what to wait for, what to type then. With
        `until`, Ctrl-C is typed once that text is there. `shell`: a command line instead."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            command = ["bash", "-c", shell] if shell else [BIN, *args]
            os.execvpe(command[0], command, environment(FAINA=BIN, **(env or {})))
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
        data, waiting, begin = b"", list(replies), time.monotonic()
        while time.monotonic() - begin < PATIENCE:
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                chunk = os.read(fd, 65536)
            except OSError: # the other side is closed
                break
            if not chunk:
                break
            data += chunk
            if waiting and waiting[0][0].encode() in data:
                os.write(fd, waiting.pop(0)[1].encode())
            if until and until.encode() in data:
                os.write(fd, b"\x03")
                until = None
        else:
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        os.close(fd)
        return Result(os.waitstatus_to_exitcode(status), data.decode().replace("\r\n", "\n"))


def is_true(fact, *seen):
    assert fact, "\n".join(map(str, seen))


def equal(got, expected, *seen):
    assert got == expected, "\n".join([f"got      {got!r}", f"expected {expected!r}", *map(str, seen)])


def contains(text, part):
    assert part in text, f"{part!r} is not in:\n{text}"


def verbs():
    """The names of all verbs, from the general help."""
    out = subprocess.run([BIN, "--help"], capture_output=True, text=True, env=environment(),
                         check=True).stdout
    return re.findall(r"^  ([a-z-]+(?: [a-z]+)?) {2,}[a-z]", out.split("Flags of every")[0], re.M)


def is_served(cli):
    """Whether a server accepts connections on the socket beside the file, which is created before."""
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(cli.path("faina.db.sock"))
        except OSError:
            return False
    return True


def run(names):
    """Runs every test of a file; ends the program."""
    wanted = sys.argv[1:]
    passed = failed = skipped = 0
    for name, test in sorted(names.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        folder = tempfile.mkdtemp(prefix="faina-e2e-")
        try:
            test(Cli(folder))
            passed += 1
        except Skip as why:
            print(f"skipped: {name}: {why}")
            skipped += 1
        except Exception: # pylint: disable=broad-except
            print(f"FAILED: {name}")
            traceback.print_exc(file=sys.stdout)
            failed += 1
        finally:
            os.chmod(folder, 0o700)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)
