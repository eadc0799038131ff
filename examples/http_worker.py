#!/usr/bin/env python3
"""http_worker.py - a worker over HTTP, with nothing but Python's standard library.

    faina serve                                   # elsewhere, or here
    FAINA_URL=http://127.0.0.1:7070 examples/http_worker.py

It handles two types: `text.upper` takes a string and gives it back in capitals, `text.sleep` takes a
number of seconds and sleeps. To handle more, add a function to HANDLERS. With FAINA_TOKEN it shows
the server that token. SIGTERM and Ctrl-C let it finish what it does.
"""
import json
import os
import secrets
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("FAINA_URL", "http://127.0.0.1:7070").rstrip("/") + "/api/v1"
ME = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
LEASE = 30  # seconds after which the engine gives our task to others, unless we say that we live


class Permanent(Exception):
    """No retry helps."""


def upper(task, _lost):
    if not isinstance(task["input"], str):
        raise Permanent("the input must be a string")
    return task["input"].upper()


def sleep(task, lost):
    """Something long looks now and then whether it is still wanted."""
    end = time.monotonic() + float(task["input"])
    while time.monotonic() < end and not lost.is_set():
        time.sleep(0.05)
    return {"slept": task["input"]}


HANDLERS = {"text.upper": upper, "text.sleep": sleep}


class Busy(OSError):
    """The server has too much to do, or goes down: another time."""


def call(method, path, body=None, timeout=60):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("FAINA_TOKEN"):
        headers["Authorization"] = "Bearer " + os.environ["FAINA_TOKEN"]
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or "null")
    except urllib.error.HTTPError as error:
        if error.code in (429, 503):
            raise Busy(error.reason) from error
        raise


def say_alive(*tasks):
    """We live, and this is what we hold: its lease is renewed. The answer says what is not ours any
    more."""
    held = [{"id": task["id"], "fence": task["fence"]} for task in tasks]
    return call("PUT", f"/workers/{ME}", {"types": list(HANDLERS), "tasks": held})


def beat(task, done, lost):
    """Renews the lease until the task is done; `lost` is set when it is not ours any more."""
    while not done.wait(LEASE / 3):
        try:
            answer = say_alive(task)
            if answer["cancelled"] or answer["lost"]:
                lost.set()
        except OSError as error:
            print(f"no heartbeat: {error}", file=sys.stderr)


def work(task):
    """The outcome of one task."""
    done, lost = threading.Event(), threading.Event()
    threading.Thread(target=beat, args=(task, done, lost), daemon=True).start()
    outcome = {"id": task["id"], "fence": task["fence"]}
    try:
        output = HANDLERS[task["type"]](task, lost)
        outcome.update(status="completed", output=output)
    except Permanent as error:
        outcome.update(status="failed", error={"message": str(error), "retryable": False})
    except Exception as error:  # whatever it is, the engine should hear of it
        outcome.update(status="failed", error={"message": repr(error), "kind": "exception"})
    done.set()
    return None if lost.is_set() else outcome


def tell(outcome):
    """Until it has arrived. Telling it twice does no harm."""
    while True:
        try:
            answer = call("POST", "/outcomes", {"workerId": ME, "items": [outcome]})
            print(json.dumps({"task": outcome["id"], "status": outcome["status"],
                              "answer": answer["items"][0].get("code", "ok")}), flush=True)
            return
        except urllib.error.HTTPError as error:
            print(f"refused: {error.read().decode()}", file=sys.stderr)
            return
        except OSError as error:
            print(f"the server does not answer: {error}", file=sys.stderr)
            time.sleep(1)


def main():
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    want = {"workerId": ME, "types": list(HANDLERS), "limit": 1, "leaseSeconds": LEASE,
            "waitSeconds": 5}
    while not stop.is_set():
        try:
            say_alive()  # so that `faina explain` knows that a worker handles these types
            tasks = call("POST", "/claims", want)["tasks"]  # waits until there is work
        except urllib.error.HTTPError as error:
            sys.exit(f"refused: {error.read().decode()}")
        except OSError as error:
            print(f"the server does not answer: {error}", file=sys.stderr)
            stop.wait(1)
            continue
        for task in tasks:
            outcome = work(task)
            if outcome:
                tell(outcome)
    try:
        call("DELETE", f"/workers/{ME}")
    except OSError:
        pass # the server ended first; it removes a worker without heartbeats by itself


if __name__ == "__main__":
    main()
