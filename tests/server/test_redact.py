#!/usr/bin/env python3
"""Values at the paths of the setting `redact` are in no answer, but workers get them."""
import json

from helper_server import equal, is_true, run, wait_until

SECRET = "hunter2"
PAYLOAD = {"user": "ann", "password": SECRET, "cards": [{"secret": SECRET, "bank": "x"}]}
SHOWN = {"user": "ann", "password": "[redacted]", "cards": [{"secret": "[redacted]", "bank": "x"}]}
ERROR = {"message": "no", "detail": {"password": SECRET}, "retryable": False}


def answers(server, task):
    """Every answer that shows a payload of the task, or an event's data."""
    for path in (f"/tasks/{task}", "/tasks", f"/tasks/{task}/wait?timeout=0", f"/tasks/{task}/explain",
                 f"/tasks/{task}/events", f"/tasks/{task}/graph", "/events", "/crons", "/crons/nightly",
                 f"/tasks/{task}/result"):
        yield path, server("GET", path)
    yield "If-Match", server("PATCH", f"/tasks/{task}", {"metadata": {"n": 1}})
    yield "existing", server("POST", "/tasks", {"type": "t", "idempotencyKey": "k"}, 200)


def test_values_are_hidden_from_readers(place):
    server = place.serve()
    server("PUT", "/crons/nightly", {"schedule": "0 3 * * *", "task": {"type": "n", "input": PAYLOAD}}, 200)
    server("POST", "/events", {"type": "e", "data": PAYLOAD}, 200)
    made = server("POST", "/tasks", {"type": "t", "idempotencyKey": "k", "input": PAYLOAD, "spec": PAYLOAD,
                                     "metadata": PAYLOAD}, 201).json()
    equal(made["input"], PAYLOAD)
    equal(server("PUT", "/settings", {"redact": ["password", "*.secret"]}, 200).json(),
          {"redact": ["password", "*.secret"]})
    for name, answer in answers(server, made["id"]):
        is_true(SECRET not in answer.body.decode(), name, answer)
    task = server("GET", f"/tasks/{made['id']}", status=200).json()
    equal((task["input"], task["spec"], task["redacted"]), (SHOWN, SHOWN, True))
    claimed = server("POST", "/claims", {"workerId": "w"}, 200).json()["tasks"][0]
    equal((claimed["input"], claimed.get("redacted")), (PAYLOAD, None))
    server("POST", "/outcomes", {"workerId": "w", "items": [
        {"id": made["id"], "status": "failed", "error": ERROR}]}, 200)
    for name, answer in answers(server, made["id"]):
        is_true(SECRET not in answer.body.decode(), name, answer)
    other = server("POST", "/tasks", {"type": "u", "input": PAYLOAD}, 201).json()["id"]
    server("POST", f"/tasks/{other}:claim", {"workerId": "w"}, 200)
    server("POST", f"/tasks/{other}:complete", {"workerId": "w", "output": PAYLOAD}, 200)
    equal(server("GET", f"/tasks/{other}/result", status=200).json(), SHOWN)
    server("PUT", "/settings", {"redact": []}, 200)
    equal(server("GET", f"/tasks/{other}", status=200).json()["output"], PAYLOAD)


def test_the_setting_outlives_the_server_and_reaches_others(place):
    first = place.serve()
    first("PUT", "/settings", {"redact": ["password"]}, 200)
    task = first("POST", "/tasks", {"type": "t", "input": PAYLOAD}, 201).json()["id"]
    if place.url.startswith("postgres"):
        second = place.serve()
        first("PUT", "/settings", {"redact": ["bank"]}, 200)
        wait_until(lambda: second("GET", f"/tasks/{task}").json()["input"]["cards"][0]["bank"] == "[redacted]",
                   "the other server follows")
        equal(second("GET", f"/tasks/{task}").json()["input"]["password"], SECRET)
        return
    first.stop()
    second = place.serve()
    equal(json.loads(second("GET", f"/tasks/{task}").body)["input"]["password"], "[redacted]")


def test_bad_paths_change_nothing(place):
    server = place.serve()
    server("PUT", "/settings", {"redact": ["a"]}, 200)
    for body in ({"redact": [""]}, {"redact": ["a..b"]}, {"redact": ["a"] * 101}, {"redact": "a"}, {},
                 {"redact": ["x" * 256]}, {"redact": [1]}, {"redacted": []}):
        equal(server("PUT", "/settings", body, 400).code(), "invalid_request", body)
    equal(server("GET", "/settings", status=200).json(), {"redact": ["a"]})


run(globals(), on_postgres=True)
