"""A client of the beanstalkd protocol, for the tests: raw lines, and what they answer."""
import socket

from helper_server import PATIENCE, wait_until


class Beanstalk:
    """One connection."""

    def __init__(self, address, timeout=PATIENCE):
        if address.startswith("unix:"):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(timeout)
            self.sock.connect(address[5:])
        else:
            host, _, port = address.rpartition(":")
            self.sock = socket.create_connection((host, int(port)), timeout=timeout)
        self.file = self.sock.makefile("rb")

    def send(self, text):
        self.sock.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self):
        """The next line of an answer, without its end; None when the connection is closed."""
        line = self.file.readline()
        if not line:
            return None
        assert line.endswith(b"\r\n"), line
        return line[:-2].decode()

    def data(self, size):
        data = self.file.read(size + 2)
        assert data.endswith(b"\r\n") and len(data) == size + 2, data
        return data[:-2]

    def __call__(self, command):
        self.send(command + "\r\n")
        return self.line()

    def put(self, body, pri=1024, delay=0, ttr=60):
        body = body if isinstance(body, bytes) else body.encode()
        self.send(b"put %d %d %d %d\r\n%s\r\n" % (pri, delay, ttr, len(body), body))
        line = self.line()
        word, _, number = line.partition(" ")
        return int(number) if word == "INSERTED" else line

    def job_answer(self):
        """RESERVED or FOUND: (id, body); else the line."""
        line = self.line()
        if line is None or line.split()[0] not in ("RESERVED", "FOUND"):
            return line
        _, job, size = line.split()
        return int(job), self.data(int(size))

    def job(self, command):
        self.send(command + "\r\n")
        return self.job_answer()

    def reserve(self, timeout=None):
        return self.job("reserve" if timeout is None else f"reserve-with-timeout {timeout}")

    def yaml(self, command):
        """The answer of stats and lists: a dict, or a list."""
        line = self(command)
        if not line.startswith("OK "):
            return line
        lines = self.data(int(line.split()[1])).decode().splitlines()
        assert lines[0] == "---", lines
        if all(line.startswith("- ") for line in lines[1:]):
            return [line[2:] for line in lines[1:]]
        return dict(line.split(": ", 1) for line in lines[1:])

    def close(self):
        self.file.close()
        self.sock.close()


def serve(place, *args, **more):
    """A server, and a function that connects to its beanstalkd listener."""
    server = place.serve("--beanstalk", "127.0.0.1:0", *args, **more)
    wait_until(lambda: server.log("listening for beanstalkd clients"), "the listener's address")
    address = server.log("listening for beanstalkd clients")[0]["address"]
    return server, lambda: Beanstalk(address)
