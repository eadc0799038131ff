"""What the tests with RabbitMQ share: one server for all of them, and an AMQP client."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/tests/server")
sys.path.append("/usr/lib/python3/dist-packages")  # Debian's modules, when another Python is first
sys.path.append(f"{ROOT}/tests/support")
import helper_server as http  # pylint: disable=wrong-import-position

try:
    import pika  # pylint: disable=wrong-import-position
except ImportError:
    pika = None

LOADER = importlib.machinery.SourceFileLoader("test_rabbitmq", f"{ROOT}/tools/test-rabbitmq")
RABBIT = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_rabbitmq", LOADER))
LOADER.exec_module(RABBIT)

RECEIVE_S = 60


def make_certificates(folder):
    """A CA and a certificate of localhost: (CA, certificate, key)."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=ca")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem",
            "-subj", "/CN=localhost")
    with open(f"{folder}/names", "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "cert.pem", "-days", "2", "-extfile", "names")
    os.chmod(f"{folder}/key.pem", 0o644)
    os.chmod(folder, 0o755)
    return tuple(f"{folder}/{name}.pem" for name in ("ca", "cert", "key"))


class Queue:
    """A durable queue of a name of its own, bound to exchanges of Faina, and what arrives in it."""

    def __init__(self, rabbit, tasks="#", events=None, dead=False, url=None):
        self.url = url or rabbit.url()
        self.name = "q" + uuid.uuid4().hex
        self.dead = self.name + ".dead"
        self.connect()
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": self.dead}
        for exchange in ("faina.tasks", "faina.events"):
            self.channel.exchange_declare(exchange, "topic", durable=True)
        if dead:
            self.channel.queue_declare(self.dead, durable=True)
        self.channel.queue_declare(self.name, durable=True, arguments=arguments if dead else None)
        if tasks:
            self.channel.queue_bind(self.name, "faina.tasks", tasks)
        if events:
            self.channel.queue_bind(self.name, "faina.events", events)

    def connect(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()

    def get(self, name=None):
        """(routing key, properties, body) of the next message, or None."""
        method, properties, body = self.channel.basic_get(name or self.name, auto_ack=True)
        return method and (method.routing_key, properties, json.loads(body) if body else None)

    def take(self, count, name=None):
        """The next messages, once they are there."""
        found = []
        until = time.monotonic() + RECEIVE_S
        while len(found) < count:
            message = self.get(name)
            if message:
                found.append(message)
                continue
            assert time.monotonic() < until, f"{len(found)} of {count} messages: {found}"
            time.sleep(0.005)
        return found

    def take_until(self, wanted):
        """Ids of all messages until all wanted ones have come; in the order of arrival."""
        found = []
        wanted = set(wanted)
        until = time.monotonic() + RECEIVE_S
        while not wanted <= set(found):
            message = self.get()
            if message:
                found.append(message[2]["id"])
            else:
                assert time.monotonic() < until, f"{len(wanted - set(found))} messages are missing"
                time.sleep(0.005)
        return found

    def is_empty(self, for_s=0.3):
        time.sleep(for_s)
        return self.get() is None

    def put(self, body, name=None):
        self.channel.basic_publish("", name or self.name, body)

    def length(self, name=None):
        return self.channel.queue_declare(name or self.name, passive=True).method.message_count

    def close(self):
        self.channel.queue_delete(self.name)
        self.connection.close()


class Worker:
    """A `faina worker` with one handler, which writes a line for each run to `runs`."""

    def __init__(self, place, rabbit_url, *args, type_="job", script="", url=None):
        folder = place.path("handlers")
        os.makedirs(folder, exist_ok=True)
        path = f"{folder}/{type_}"
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\necho $FAINA_TASK_ID >>{place.path('runs')}\n{script}\n"
                           "echo '{}'\n")
            os.chmod(path, 0o755)
        env = http.environment(FAINA_URL=url or place.url, FAINA_HANDLERS=folder)
        if rabbit_url:
            env["FAINA_BROKER"] = rabbit_url
        self.log = open(place.path(f"worker{uuid.uuid4().hex}.log"), "wb+")  # pylint: disable=R1732
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [http.BIN, "worker", *args], cwd=place.folder, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log)

    def text(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def stop(self, code=0):
        self.process.terminate()
        got = self.process.wait(http.PATIENCE)
        text = self.text()
        self.log.close()
        assert code is None or got == code, f"the worker ended with {got}: {text}"
        return text


def runs(place):
    try:
        with open(place.path("runs"), encoding="ascii") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def run(names):
    """Runs the tests of a file with one broker; ends the program."""
    if pika is None:
        print("skipped: no pika (apt-get install python3-pika)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="faina-tls-") as folder:
        try:
            rabbit = RABBIT.Server(make_certificates(folder)).start()
        except RABBIT.Missing as why:
            print(f"skipped: {why}")
            sys.exit(77)
        try:
            wrapped = {name: (lambda place, test=test: test(place, rabbit))
                       for name, test in names.items() if name.startswith("test_")}
            http.run(wrapped, on_postgres=True)
        finally:
            rabbit.stop()
