"""A proxy in front of a server: it can lose the server's answers, and cut all connections, also after a
number of bytes."""
import socket
import threading


class Proxy:
    """Passes connections on to a port of this machine. `end` closes it."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.loses_answers = False
        self.is_refusing = False
        self.left = {False: None, True: None}  # bytes until a cut: of requests, of answers
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            try:
                server = None if self.is_refusing else socket.create_connection(
                    ("127.0.0.1", self.target))
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            self.pairs.append((client, server))
            for source, sink, is_answer in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.pass_on, args=(source, sink, is_answer),
                                 daemon=True).start()

    def pass_on(self, source, sink, is_answer):
        try:
            while data := source.recv(65536):
                left = self.left[is_answer]
                if left is not None:
                    data, self.left[is_answer] = data[:left], left - len(data)
                if not (is_answer and self.loses_answers):
                    sink.sendall(data)
                if left is not None and self.left[is_answer] <= 0:
                    self.left[is_answer] = None
                    self.cut()
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_after(self, count, is_answer):
        """Cuts all connections once `count` more bytes have passed in one direction."""
        self.left[is_answer] = count

    def cut(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.close()
        self.cut()
