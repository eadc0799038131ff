#!/usr/bin/env python3
"""Spans and metrics at a collector, a stand-in that checks each request against the schema of OTLP."""
import json
import os
import re
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from helper_server import BIN, environment, equal, is_true, run, wait_until

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
PRODUCER, CONSUMER = 4, 5


def await_that(fact):
    wait_until(fact, "it did not happen in time")


KEYS = {  # what a message may have: name -> required
    "span": {"traceId": 1, "spanId": 1, "parentSpanId": 0, "name": 1, "kind": 1,
             "startTimeUnixNano": 1, "endTimeUnixNano": 1, "attributes": 1, "links": 0, "status": 1},
    "link": {"traceId": 1, "spanId": 1},
    "status": {"code": 0, "message": 0},
    "metric": {"name": 1, "description": 1, "unit": 1, "sum": 0, "gauge": 0, "histogram": 0},
    "sum": {"aggregationTemporality": 1, "isMonotonic": 1, "dataPoints": 1},
    "gauge": {"dataPoints": 1},
    "histogram": {"aggregationTemporality": 1, "dataPoints": 1},
    "number": {"attributes": 1, "startTimeUnixNano": 0, "timeUnixNano": 1, "asInt": 0, "asDouble": 0},
    "buckets": {"attributes": 1, "startTimeUnixNano": 1, "timeUnixNano": 1, "count": 1, "sum": 1,
                "bucketCounts": 1, "explicitBounds": 1},
}


def check_keys(what, message):
    known = KEYS[what]
    extra = set(message) - set(known)
    missing = {key for key, needed in known.items() if needed} - set(message)
    assert not extra and not missing, (what, extra, missing, message)


def check_hex(text, length):
    assert isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{length}}}", text), text
    assert set(text) != {"0"}, text


def check_int(text):
    assert isinstance(text, str) and re.fullmatch(r"-?\d+", text), text
    assert -2**63 <= int(text) < 2**64, text
    return int(text)


def check_time(text):
    assert abs(check_int(text) / 1e9 - time.time()) < 3600, text


def attributes(listed):
    found = {}
    for item in listed:
        equal(set(item), {"key", "value"})
        (kind, value), = item["value"].items()
        assert kind in ("stringValue", "intValue", "boolValue", "doubleValue"), item
        if kind == "intValue":
            value = check_int(value)
        assert item["key"] not in found, listed
        found[item["key"]] = value
    return found


def check_span(span):
    check_keys("span", span)
    check_hex(span["traceId"], 32)
    check_hex(span["spanId"], 16)
    if "parentSpanId" in span:
        check_hex(span["parentSpanId"], 16)
    assert span["kind"] in (PRODUCER, CONSUMER), span
    check_time(span["startTimeUnixNano"])
    check_time(span["endTimeUnixNano"])
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
    for link in span.get("links", []):
        check_keys("link", link)
        check_hex(link["traceId"], 32)
        check_hex(link["spanId"], 16)
    check_keys("status", span["status"])
    assert span["status"].get("code", 0) in (0, 1, 2), span
    span["attributes"] = attributes(span["attributes"])


def check_point(what, point):
    check_keys("buckets" if what == "histogram" else "number", point)
    point["attributes"] = attributes(point["attributes"])
    check_time(point["timeUnixNano"])
    if what != "gauge":
        check_time(point["startTimeUnixNano"])
    if what == "histogram":
        counts = [check_int(count) for count in point["bucketCounts"]]
        assert min(counts) >= 0 and sum(counts) == check_int(point["count"]), point
        equal(len(counts), len(point["explicitBounds"]) + 1)
        equal(sorted(point["explicitBounds"]), point["explicitBounds"])
        assert isinstance(point["sum"], (int, float)), point
    else:
        equal(len({"asInt", "asDouble"} & set(point)), 1, point)
        if "asInt" in point:
            check_int(point["asInt"])
        else:
            assert isinstance(point["asDouble"], (int, float)), point


def check_metric(metric):
    check_keys("metric", metric)
    kind, = {"sum", "gauge", "histogram"} & set(metric)
    check_keys(kind, metric[kind])
    if kind != "gauge":
        equal(metric[kind]["aggregationTemporality"], 2)
    for point in metric[kind]["dataPoints"]:
        check_point(kind, point)


class Collector:
    """`answer(path, number)` returns (status, headers, body), after any wait."""

    def __init__(self, answer=None):
        self.spans, self.metrics, self.requests, self.problems = [], {}, [], []
        self.resources = []
        self.answer = answer or (lambda path, number: (200, {}, b"{}"))
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers)))
                status, headers, text = outer.answer(self.path, len(outer.requests))
                try:
                    equal(self.headers["Content-Type"], "application/json")
                    if status == 200:
                        outer.take(self.path, json.loads(body))
                except (AssertionError, KeyError, ValueError) as error:
                    outer.problems.append(repr(error))
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass # the exporter is gone

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, body):
        kind, items = (("Spans", "spans") if path.endswith("/traces") else ("Metrics", "metrics"))
        equal(set(body), {"resource" + kind})
        for part in body["resource" + kind]:
            self.resources.append(attributes(part["resource"]["attributes"]))
            for scope in part["scope" + kind]:
                equal(scope["scope"]["name"], "faina")
                for item in scope[items]:
                    if items == "spans":
                        check_span(item)
                        self.spans.append(item)
                    else:
                        check_metric(item)
                        self.metrics[item["name"]] = item

    def of(self, task, kind=None):
        """The spans of a task, in the order of their ends."""
        found = [span for span in list(self.spans)
                 if span["attributes"]["messaging.message.id"] == task
                 and kind in (None, span["kind"])]
        return sorted(found, key=lambda span: int(span["endTimeUnixNano"]))

    def wait_for(self, task, count):
        await_that(lambda: self.problems or len(self.of(task)) >= count)
        equal(self.problems, [])
        equal(len(self.of(task)), count, self.of(task))
        return self.of(task)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        equal(self.problems, [])


def settings(collector, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "20",
            "OTEL_METRIC_EXPORT_INTERVAL": "100", **more}


def finish(server, worker="w", types=("t",), **outcome):
    """Claims one task and ends it. Returns it as it was claimed."""
    task, = server("POST", "/claims", {"workerId": worker, "types": types, "limit": 1}).json()["tasks"]
    server("POST", f"/tasks/{task['id']}:start", {"workerId": worker}, 200)
    kind = "fail" if "error" in outcome else "complete"
    server("POST", f"/tasks/{task['id']}:{kind}", {"workerId": worker, **outcome}, 200)
    return task


def test_spans_of_a_task(place):
    collector = Collector()
    server = place.serve(env=settings(collector, OTEL_SERVICE_NAME="shop",
                                    OTEL_RESOURCE_ATTRIBUTES="team=a%20b,service.name=not"))
    task = server("POST", "/tasks", {"type": "t", "traceparent": PARENT}, 201).json()
    equal(task["metadata"], {"traceparent": PARENT})
    claimed = finish(server, error={"message": "no", "kind": "odd", "retryAfter": "1ms"})
    await_that(lambda: server.get(task["id"])["status"] == "pending")
    again, = server("POST", "/claims", {"workerId": "w2", "types": ["t"], "limit": 1,
                                        "waitSeconds": 30}).json()["tasks"]
    server("POST", f"/tasks/{task['id']}:complete", {"workerId": "w2"}, 200)
    sent, first, second = collector.wait_for(task["id"], 3)
    equal({span["traceId"] for span in (sent, first, second)}, {TRACE})
    equal((sent["kind"], sent["parentSpanId"], sent["name"]), (PRODUCER, SPAN, "send t"))
    for span, context, worker in ((first, claimed, "w"), (second, again, "w2")):
        equal((span["kind"], span["parentSpanId"], span["name"]),
              (CONSUMER, sent["spanId"], "process t"))
        equal(span["links"], [{"traceId": TRACE, "spanId": sent["spanId"]}])
        equal(context["traceparent"], f"00-{TRACE}-{span['spanId']}-01")
        equal(span["attributes"]["messaging.client.id"], worker)
        equal(span["attributes"]["messaging.system"], "faina")
        equal(span["attributes"]["messaging.destination.name"], "t")
    is_true(first["spanId"] != second["spanId"])
    equal(first["status"], {"code": 2, "message": "no"})
    equal((first["attributes"]["error.type"], first["attributes"]["faina.attempt"]), ("odd", 1))
    equal((second["status"], second["attributes"]["faina.attempt"],
           second["attributes"]["faina.status"]), ({}, 2, "completed"))
    resource = collector.resources[0]
    equal((resource["service.name"], resource["team"]), ("shop", "a b"))
    is_true(resource["service.version"] and resource["service.instance.id"], resource)
    server.stop()
    collector.close()


def test_a_task_without_a_trace(place):
    """Its trace has its id; snoozed and resumed runs have spans, released ones have none."""
    collector = Collector()
    server = place.serve(env=settings(collector))
    task = server.submit("t")
    equal(task["metadata"], {})
    claim = {"workerId": "w", "types": ["t"], "limit": 1}
    path = f"/tasks/{task['id']}"
    server("POST", "/claims", claim, 200)
    server("POST", path + ":release", {"workerId": "w"}, 200)
    equal(len(server("POST", "/claims", claim, 200).json()["tasks"]), 1)
    server("POST", path + ":start", {"workerId": "w"}, 200)
    server("POST", path + ":snooze", {"workerId": "w", "for": 0}, 200)
    equal(len(server("POST", "/claims", {**claim, "waitSeconds": 5}, 200).json()["tasks"]), 1)
    server("POST", path + ":start", {"workerId": "w"}, 200)
    server("POST", path + ":block", {"workerId": "w", "subtasks": [
        {"type": "sub", "traceparent": PARENT}]}, 200)
    child = finish(server, types=["sub"])
    equal(child["metadata"], {"traceparent": PARENT})
    resumed = finish(server)
    spans = collector.wait_for(task["id"], 4)
    equal({span["traceId"] for span in spans}, {task["id"].replace("-", "")})
    is_true("parentSpanId" not in spans[0], spans[0])
    equal([span["kind"] for span in spans], [PRODUCER, CONSUMER, CONSUMER, CONSUMER])
    equal([span["attributes"].get("faina.phase") for span in spans],
          [None, "start", "start", "resume"])
    is_true(resumed["traceparent"].endswith(spans[3]["spanId"] + "-01"), resumed)
    equal(collector.wait_for(child["id"], 2)[0]["traceId"], TRACE)
    server.stop()
    collector.close()


def test_a_lost_lease_and_a_cancel(place):
    collector = Collector()
    server = place.serve(env=settings(collector))
    lost = server.submit("t", maxAttempts=1)["id"]
    server("POST", f"/tasks/{lost}:claim", {"workerId": "gone", "leaseSeconds": 1}, 200)
    other = server.submit("t")["id"]
    server("POST", f"/tasks/{other}:start", {"workerId": "w"}, 200)
    server("POST", f"/tasks/{other}:cancel", {}, 200)
    spans = collector.wait_for(lost, 2)
    equal((spans[1]["status"]["code"], spans[1]["attributes"]["messaging.client.id"]), (2, "gone"))
    is_true(spans[1]["attributes"]["error.type"], spans[1])
    spans = collector.wait_for(other, 2)
    equal((spans[1]["status"], spans[1]["attributes"]["faina.status"]), ({}, "cancelled"))
    server.stop()
    collector.close()


def test_the_trace_is_read_from_the_store(place):
    """A task of an earlier process: its submit was not seen by this exporter."""
    server = place.serve()
    task = server("POST", "/tasks", {"type": "t"}, 201, traceparent=PARENT).json()
    equal(server("POST", "/claims", {"workerId": "w", "types": ["other"], "limit": 1}).json(),
          {"tasks": []})
    server.stop()
    collector = Collector()
    server = place.serve(env=settings(collector))
    claimed = finish(server)
    span, = collector.wait_for(task["id"], 1)
    equal((span["traceId"], claimed["traceparent"]), (TRACE, f"00-{TRACE}-{span['spanId']}-01"))
    server.stop()
    collector.close()


def test_sampling(place):
    collector = Collector()
    server = place.serve(env=settings(collector, OTEL_TRACES_SAMPLER="parentbased_always_off"))
    quiet = [server.submit("t")["id"],
             server.submit("t", traceparent=PARENT[:-2] + "00")["id"]]
    loud = server.submit("t", traceparent=PARENT)["id"]
    flags = {}
    for _ in range(3):
        task = finish(server)
        flags[task["id"]] = task["traceparent"][-2:]
    equal(flags, {quiet[0]: "00", quiet[1]: "00", loud: "01"})
    equal(len(collector.wait_for(loud, 2)), 2)
    equal([collector.of(task) for task in quiet], [[], []])
    server.stop()
    collector.close()


def test_metrics(place):
    collector = Collector()
    server = place.serve(env=settings(collector, OTEL_TRACES_EXPORTER="none"))
    server.submit("t")
    finish(server)
    await_that(lambda: "faina_tasks_finished_total" in collector.metrics and
               collector.metrics["faina_task_run_seconds"]["histogram"]["dataPoints"][0]["count"] == "1")
    text = server("GET", "./metrics").body.decode()
    families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    has_samples = {name for name in families
                   if re.search(rf"^{name}(_bucket)?[{{ ]", text, re.M)}
    await_that(lambda: has_samples <= set(collector.metrics))
    kinds = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
    for name in has_samples:
        is_true(kinds[families[name]] in collector.metrics[name], name, families[name])
    equal(collector.metrics["faina_task_run_seconds"]["unit"], "s")
    points = collector.metrics["faina_tasks_finished_total"]["sum"]["dataPoints"]
    equal([(point["attributes"], point["asInt"]) for point in points],
          [({"type": "t", "outcome": "completed"}, "1")])
    equal(collector.spans, [])
    server.stop()
    collector.close()


def metric(server, name):
    return sum(float(value) for value in re.findall(
        rf"^{name}(?:{{[^}}]*}})? (\S+)$", server("GET", "./metrics").body.decode(), re.M))


def test_endpoints_and_headers(place):
    """A URL of one signal is used as it is; headers may be in a file."""
    collector = Collector()
    secret = os.path.join(place.folder, "headers")
    with open(secret, "w") as file:
        file.write("Authorization=Bearer%20secret,X-Of=all\n")
    server = place.serve(env={"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.url + "/my/traces",
                              "OTEL_EXPORTER_OTLP_HEADERS_FILE": secret,
                              "OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_METRIC_EXPORT_INTERVAL": "20"})
    task = server.submit("t")
    collector.wait_for(task["id"], 1)
    equal({path for path, _ in collector.requests}, {"/my/traces"})
    headers = collector.requests[0][1]
    equal((headers["Authorization"], headers["X-Of"]), ("Bearer secret", "all"))
    is_true("secret" not in "".join(server.lines), server.lines)
    server.stop()
    collector.close()


def test_a_collector_that_refuses(place):
    """429 and 503 are tried again, and a 500 is not; the engine doesn't notice."""
    answers = iter([(429, {"Retry-After": "0"}, b""), (503, {}, b"no"), (200, {}, b"{}"),
                    (500, {}, b"no"), (200, {}, b'{"partialSuccess":{"rejectedSpans":"1"}}')])
    collector = Collector(lambda path, number: next(answers, (200, {}, b"{}")))
    server = place.serve(env=settings(collector, OTEL_METRICS_EXPORTER="none"))
    task = server.submit("t")
    collector.wait_for(task["id"], 1)
    await_that(lambda: metric(server, "faina_otlp_spans_exported_total") == 1)
    equal(metric(server, "faina_otlp_spans_dropped_total"), 0)
    lost = server.submit("t")
    await_that(lambda: metric(server, "faina_otlp_spans_dropped_total") == 1)
    server.submit("t")
    await_that(lambda: metric(server, "faina_otlp_spans_dropped_total") == 2)
    equal(collector.of(lost["id"]), [])
    equal(metric(server, "faina_otlp_failures_total"), 3)
    equal(len(server.log("traces can't be exported: HTTP status 429")), 1)
    server.stop()
    collector.close()


def test_a_collector_that_is_slow_or_down(place):
    """Nothing waits for it, memory is bounded, and what is dropped is counted."""
    hold = threading.Event()
    collector = Collector(lambda path, number: (hold.wait(60), (200, {}, b"{}"))[1])
    server = place.serve(env=settings(collector, OTEL_METRICS_EXPORTER="none",
                                    OTEL_BSP_MAX_QUEUE_SIZE="50", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="10"))
    server.submit("t")
    await_that(lambda: collector.requests)
    begun = time.monotonic()
    answer = server("POST", "/tasks:batch", {"tasks": [{"type": "t"}] * 1000}, 200).json()
    equal(len(answer["items"]), 1000)
    is_true(time.monotonic() - begun < 20)
    equal(metric(server, "faina_otlp_spans_dropped_total"), 950)
    begun = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begun < 20)
    hold.set()
    collector.close()
    server = place.serve(env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                              "OTEL_BSP_SCHEDULE_DELAY": "1"})
    server.submit("t")
    await_that(lambda: metric(server, "faina_otlp_failures_total") >= 1)
    server.submit("t")
    server.stop()


def test_the_last_spans_are_sent_at_the_end(place):
    collector = Collector()
    server = place.serve(env=settings(collector, OTEL_BSP_SCHEDULE_DELAY="3600000",
                                    OTEL_METRIC_EXPORT_INTERVAL="3600000"))
    task = server.submit("t")
    equal(collector.requests, [])
    server.stop()
    equal(len(collector.of(task["id"])), 1)
    points = collector.metrics["faina_tasks_submitted_total"]["sum"]["dataPoints"]
    equal(points[0]["asInt"], "1")
    collector.close()


def test_off_and_refused(place):
    """Without an endpoint there is nothing; a bad one ends the program with a sentence."""
    server = place.serve(env={"OTEL_SERVICE_NAME": "x"})
    task = server.submit("t", traceparent=PARENT)
    equal(finish(server)["traceparent"], PARENT)
    server.submit("t")
    is_true("traceparent" not in finish(server))
    is_true("faina_otlp" not in server("GET", "./metrics").body.decode())
    for bad in ("00-short", PARENT.upper(), PARENT[:-1] + "x", 7, "ff" + PARENT[2:],
                f"00-{'0' * 32}-{SPAN}-01"):
        answer = server("POST", "/tasks", {"type": "t", "traceparent": bad}, 400)
        equal(answer.json()["errors"][0]["field"], "traceparent", bad)
    both = server.submit("t", metadata={"traceparent": "mine", "a": 1}, traceparent=PARENT)
    equal(both["metadata"], {"traceparent": PARENT, "a": 1})
    many = server("POST", "/tasks:batch", {"tasks": [{"type": "t"}, {"type": "t", "traceparent": PARENT}]},
                  200, traceparent=PARENT[:-2] + "00").json()["items"]
    equal([server.get(item["id"])["metadata"]["traceparent"][-2:] for item in many], ["00", "01"])
    is_true(task["id"])
    server.stop()
    for name, value in (("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
                        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"),
                        ("OTEL_EXPORTER_OTLP_HEADERS", "no equal sign")):
        env = environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
        env[name] = value
        done = subprocess.run([BIN, "serve", "--url", "memory:", "--listen", "127.0.0.1:0"], env=env,
                              cwd=place.folder, capture_output=True, text=True, timeout=60)
        equal(done.returncode, 2, done)
        is_true(name in done.stderr, done)


def start_worker(place, handlers, env, *args):
    return subprocess.Popen([BIN, "worker", "--handlers", handlers, *args], cwd=place.folder,
                            env=environment(**env), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def stop_worker(process):
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    equal(process.returncode, 0, log)
    return log


def make_handler(place):
    handlers = os.path.join(place.folder, "handlers")
    os.makedirs(handlers, exist_ok=True)
    path = os.path.join(handlers, "t")
    with open(path, "w") as file:
        file.write('#!/bin/sh\nprintf \'"%s"\' "$FAINA_TRACEPARENT"\n')
    os.chmod(path, 0o755)
    path = os.path.join(handlers, "parent")
    with open(path, "w") as file:
        file.write('#!/bin/sh\ntest $FAINA_PHASE = resume || echo \'{"subtask":{"type":"t"}}\' >&3\n')
    os.chmod(path, 0o755)
    return handlers


def test_subtasks_continue_the_trace(place):
    handlers = make_handler(place)
    collector = Collector()
    server = place.serve("--workers", "1", env=settings(collector, FAINA_HANDLERS=handlers))
    parent = server.submit("parent", traceparent=PARENT)["id"]
    first = collector.wait_for(parent, 3)[1]
    child, = server("GET", f"/tasks/{parent}/children").json()["items"]
    equal(child["metadata"], {"traceparent": f"00-{TRACE}-{first['spanId']}-01"})
    sent, run_ = collector.wait_for(child["id"], 2)
    equal((sent["parentSpanId"], run_["parentSpanId"]), (first["spanId"], sent["spanId"]))
    server.stop()
    collector.close()


def test_handlers_get_the_span_of_their_attempt(place):
    """In the server's pool, and in a worker of another process, whose server exports."""
    handlers = make_handler(place)
    collector = Collector()
    server = place.serve("--workers", "1", env=settings(collector, FAINA_HANDLERS=handlers))
    task = server.submit("t", traceparent=PARENT)["id"]
    spans = collector.wait_for(task, 2)
    equal(server.get(task)["output"], f"00-{TRACE}-{spans[1]['spanId']}-01")
    server.stop()
    server = place.serve("--workers", "0", env=settings(collector))
    address = f"http://{server.host}:{server.port}"
    worker = start_worker(place, handlers, settings(collector), "--url", address)
    task = server.submit("t")["id"]
    spans = collector.wait_for(task, 2)
    equal(server.get(task)["output"],
          f"00-{task.replace('-', '')}-{spans[1]['spanId']}-01")
    is_true("the server exports the spans" in stop_worker(worker))
    server.stop()
    collector.close()


def test_a_worker_with_the_store(place):
    """It ends the attempts itself, so it exports their spans: each once."""
    handlers = make_handler(place)
    collector = Collector()
    server = place.serve("--workers", "0")
    task = server.submit("t", traceparent=PARENT)["id"]
    server.stop()
    worker = start_worker(place, handlers, settings(collector), "--url", place.url)
    span, = collector.wait_for(task, 1)
    stop_worker(worker)
    equal(len(collector.of(task)), 1)
    server = place.serve()
    equal(server.get(task)["output"], f"00-{TRACE}-{span['spanId']}-01")
    server.stop()
    collector.close()


if __name__ == "__main__":
    run(globals(), on_postgres=True)
