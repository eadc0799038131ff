"""A private server for tests.

    with faina.testing.Server() as server:
        task = server.client.submit("mail.send", {"to": "ann"})
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from .client import Client


class Server:
    """`faina serve` on a free port of this machine, in a temporary folder, until close(). Needs the program `faina`:
    $FAINA_BIN, or in the PATH. `url` is that of its store; by default it is in memory."""

    def __init__(self, url="memory:", listen="127.0.0.1:0", program=None, arguments=()):
        self._program = program or os.environ.get("FAINA_BIN") or shutil.which("faina")
        if self._program is None:
            raise FileNotFoundError("the program faina is neither in the PATH nor named by $FAINA_BIN")
        self.folder = tempfile.mkdtemp(prefix="faina-")
        self._store, self._listen, self._arguments = url, listen, list(arguments)
        self._process = None
        self.url = None
        self.start()
        self.client = Client(self.url)

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FAINA_")}
        self._process = subprocess.Popen(
            [self._program, "serve", "--listen", self._listen, "--url", self._store, *self._arguments],
            cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            found = re.search(r"https?://[0-9.]+:[0-9]+", line)
            if found:
                self.url = found.group(0)
                self._listen = self.url.split("//")[1]  # the same port after a restart
                break
        else:
            raise RuntimeError("faina serve has ended: " + "".join(lines))
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def stop(self):
        self._process.terminate()
        self._process.wait()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def pause(self):
        """Lets it hang: it accepts connections and doesn't answer, until resume()."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def close(self):
        self.resume()  # a stopped process doesn't end
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
