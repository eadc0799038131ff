#!/usr/bin/env python3
"""Events, workflows and joins over HTTP."""
import threading
import time

from helper_server import equal, is_true, run, wait_until

CONTENT = """workflow: content
triggers:
  - name: mp3
    on: object.created
    match: mimeType = 'audio/mpeg'
    task: { type: extract.id3, input: { hash: "${hash}" } }
joins:
  - name: both
    taskTypes: [extract.id3, extract.exif]
    joinKey: hash
    task: { type: build.search, input: { hash: "${key}" } }
"""
TRIGGER = {"name": "a", "on": "x", "task": {"type": "made"}}


def put_yaml(server, name, text, status):
    return server("PUT", f"/workflows/{name}", text.encode(), status,
                  headers={"Content-Type": "application/yaml"})


def test_a_workflow_from_end_to_end(place):
    server = place.serve()
    stored = put_yaml(server, "content", CONTENT, 200).json()
    equal((stored["name"], stored["version"], stored["enabled"]), ("content", 1, True))
    equal(stored["definition"]["triggers"][0]["name"], "mp3")
    event = {"type": "object.created", "id": "e1",
             "data": {"mimeType": "audio/mpeg", "hash": "f00"}}
    answer = server("POST", "/events", event, 200).json()
    equal((answer["id"], len(answer["tasks"]), answer["failures"]), ("e1", 1, []))
    again = server("POST", "/events", event, 200).json()
    equal((again["existing"], again["tasks"]), (True, answer["tasks"]))
    task = server("GET", f"/tasks/{answer['tasks'][0]}", status=200).json()
    equal(task["origin"],
          {"workflow": "content", "trigger": "mp3", "version": 1, "eventId": "e1"})
    server.act(task["id"], "start", workerId="w")
    server.act(task["id"], "complete", workerId="w")
    joins = server("GET", "/workflows/content/joins?key=f00", status=200).json()["items"]
    equal((len(joins), joins[0]["key"], joins[0]["round"], joins[0]["last"]),
          (1, "f00", 1, None))
    equal(joins[0]["members"]["extract.id3"]["id"], task["id"])
    other = server("POST", "/tasks", {"type": "extract.exif", "input": {"hash": "f00"}}, 201)
    equal(other.json()["origin"], None)
    server.act(other.json()["id"], "start", workerId="w")
    server.act(other.json()["id"], "complete", workerId="w")
    made = server("GET", "/tasks?type=build.search", status=200).json()["items"]
    equal([item["input"] for item in made], [{"hash": "f00"}])
    joins = server("GET", "/workflows/content/joins", status=200).json()["items"]
    equal((joins[0]["round"], joins[0]["last"]["outcome"], joins[0]["last"]["taskId"]),
          (2, "fired", made[0]["id"]))
    one = server("GET", "/events/e1", status=200).json()
    equal((one["type"], one["tasks"], one["data"]["hash"]),
          ("object.created", answer["tasks"], "f00"))
    equal(server("GET", "/events/nothing", status=404).code(), "not_found")


def pages_of(server, path):
    """The keys of each page."""
    pages, cursor = [], None
    while True:
        page = server("GET", path + (f"&cursor={cursor}" if cursor else ""), status=200).json()
        pages.append([item["key"] for item in page["items"]])
        cursor = page["nextCursor"]
        if cursor is None:
            return pages


def test_pages_of_joins(place):
    server = place.serve()
    equal(server("GET", "/joins", status=200).json(), {"items": [], "nextCursor": None})
    equal(server("GET", "/workflows/content/joins", status=404).code(), "not_found")
    put_yaml(server, "content", CONTENT, 200)
    equal(server("GET", "/workflows/content/joins", status=200).json(),
          {"items": [], "nextCursor": None})
    keys = ["a", "b", "c\u00e9", "d" * 1000, 5]
    for key in keys:
        task = server.held(type_="extract.exif", input={"hash": key})["id"]
        server.act(task, "complete", workerId="w")
    for path in ("/joins", "/workflows/content/joins"):
        for limit, sizes in ((2, [2, 2, 1]), (5, [5]), (1, [1] * 5), (1000, [5])):
            pages = pages_of(server, f"{path}?limit={limit}")
            equal([len(page) for page in pages], sizes)
            equal(sorted(map(str, sum(pages, []))), sorted(map(str, keys)))
        equal(pages_of(server, f"{path}?limit=1&key=b"), [["b"]])
        for bad in ("x", "00", "6", "6161", "6" * 4000):
            equal(server("GET", f"{path}?cursor={bad}", status=400).code(), "invalid_request")
        server("GET", f"{path}?limit=0", status=400)
    server("GET", "/workflows/nobody/joins?key=b", status=404)
    server("GET", "/workflows/content/joins?namespace=other", status=404)


# A priority that is no number: the first join finds it when its member ends, the second when its
# time is over.
BROKEN = """workflow: broken
joins:
  - name: at-once
    taskTypes: [a]
    joinKey: k
    task: { type: made, priority: "${tasks.a.output}" }
  - name: too-late
    taskTypes: [a, b]
    joinKey: k
    deadline: 50ms
    onFailure: fire
    task: { type: made, priority: "${tasks.a.output}" }
"""


def test_a_join_that_makes_no_task_is_logged(place):
    server = place.serve()
    put_yaml(server, "broken", BROKEN, 200)
    task = server.held(type_="a", input={"k": 1})["id"]
    server.act(task, "complete", workerId="w", output="high")
    wait_until(lambda: len(server.log("a workflow could not create its task")) >= 2, server.lines)
    lines = server.log("a workflow could not create its task")
    equal([(line["level"], line["workflow"], line["part"]) for line in lines],
          [("warn", "broken", "at-once"), ("warn", "broken", "too-late")])
    is_true(all("priority" in line["why"] for line in lines), lines)


def test_definitions(place):
    server = place.serve()
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": [TRIGGER]}, 200)
    refused = server("PUT", "/workflows/w", {"workflow": "w", "triggers": [{"nam": 1}]}, 400)
    problem = refused.json()
    equal(refused.headers["Content-Type"], "application/problem+json")
    is_true(len(problem["errors"]) >= 3, problem)
    is_true(all(error["line"] == 1 for error in problem["errors"]), problem)
    equal(put_yaml(server, "w", "workflow: w\n\ttriggers: 1\n", 400).json()["errors"][0]["line"], 2)
    equal(server("PUT", "/workflows/other", {"workflow": "w", "triggers": [TRIGGER]}, 400).code(),
          "invalid_request")
    equal(server("GET", "/workflows/w", status=200).json()["version"], 1)
    equal(server("POST", "/workflows/w:disable", status=200).json()["enabled"], False)
    equal(server("POST", "/events", {"type": "x"}, 200).json()["tasks"], [])
    equal(server("POST", "/workflows/w:enable", status=200).json()["enabled"], True)
    equal(len(server("POST", "/events", {"type": "x"}, 200).json()["tasks"]), 1)
    equal(len(server("GET", "/workflows", status=200).json()["items"]), 1)
    server("DELETE", "/workflows/w", status=204)
    equal(server("DELETE", "/workflows/w", status=404).code(), "not_found")
    equal(server("GET", "/workflows/w", status=404).code(), "not_found")


def test_what_can_never_make_a_task_is_refused(place):
    server = place.serve()
    text = "workflow: w\ntriggers:\n  - {name: a, on: task.complete, task: {type: b}}\n"
    error = put_yaml(server, "w", text, 400).json()["errors"][0]
    equal((error["field"], error["line"], error["column"]), ("triggers[0].on", 3, 19))
    is_true("task.completed, task.failed, task.dead_letter and task.cancelled" in error["message"],
            error)
    text = "workflow: w\ntriggers:\n  - {name: a, on: x, task: {type: b, namespace: other}}\n"
    error = put_yaml(server, "w", text, 400).json()["errors"][0]
    equal((error["field"], error["line"], error["column"]),
          ("triggers[0].task.namespace", 3, 49))
    equal(put_yaml(server, "w?namespace=other", text, 200).json()["namespace"], "other")
    server("GET", "/workflows/w", status=404)
    made = server("POST", "/events", {"type": "x", "namespace": "other"}, 200).json()
    equal((len(made["tasks"]), made["failures"]), (1, []))


def test_the_path_names_a_definition(place):
    server = place.serve()
    stored = server("PUT", "/workflows/w%20%221", {"triggers": [TRIGGER]}, 200).json()
    equal((stored["name"], stored["definition"]),
          ('w "1', {"workflow": 'w "1', "triggers": [TRIGGER]}))
    again = server("PUT", "/workflows/w%20%221", {"triggers": [TRIGGER]}, 200).json()
    equal((again["version"], again["existing"]), (1, True))
    equal(len(server("POST", "/events", {"type": "x"}, 200).json()["tasks"]), 1)
    put_yaml(server, "y", "triggers: [{name: a, on: x, task: {type: b}}]\n", 200)
    equal(server("PUT", f"/workflows/{'n' * 256}", {"triggers": [TRIGGER]}, 400).code(),
          "invalid_request")


def test_versions(place):
    server = place.serve()
    body = {"workflow": "w", "triggers": [TRIGGER]}
    equal(server("PUT", "/workflows/w", body, 412, If_Match='"1"').code(), "version_conflict")
    equal(server("PUT", "/workflows/w", body, 200).headers["ETag"], '"1"')
    body["triggers"] = [{**TRIGGER, "name": "other"}]
    equal(server("PUT", "/workflows/w", body, 200, If_Match='"1"').headers["ETag"], '"2"')
    equal(server("GET", "/workflows/w", status=200).headers["ETag"], '"2"')
    for wrong in ('"1"', '"3"', 'W/"2"'):
        equal(server("DELETE", "/workflows/w", status=412, If_Match=wrong).code(),
              "version_conflict")
    equal(len(server("POST", "/events", {"type": "x"}, 200).json()["tasks"]), 1)
    server("DELETE", "/workflows/w", status=204, If_Match='"2"')
    equal(server("DELETE", "/workflows/w", status=412, If_Match='"2"').code(), "version_conflict")
    equal(server("DELETE", "/workflows/w", status=404).code(), "not_found")


def test_a_switch_changes_the_etag(place):
    server = place.serve()
    equal(server("PUT", "/workflows/w", {"workflow": "w", "triggers": [TRIGGER]}, 200)
          .headers["ETag"], '"1"')
    for wrong in ('"2"', '"1-disabled"', 'W/"1"'):
        for verb in ("disable", "enable"):
            equal(server("POST", f"/workflows/w:{verb}", status=412, If_Match=wrong).code(),
                  "version_conflict")
    equal(server("POST", "/workflows/nobody:enable", status=412, If_Match='"1"').code(),
          "version_conflict")
    off = server("POST", "/workflows/w:disable", status=200, If_Match='"1"')
    equal((off.headers["ETag"], off.json()["version"]), ('"1-disabled"', 1))
    equal(server("GET", "/workflows/w", status=200).headers["ETag"], '"1-disabled"')
    equal(server("POST", "/workflows/w:enable", status=412, If_Match='"1"').code(),
          "version_conflict")
    equal(server("DELETE", "/workflows/w", status=412, If_Match='"1"').code(), "version_conflict")
    body = {"workflow": "w", "triggers": [{**TRIGGER, "name": "other"}]}
    equal(server("PUT", "/workflows/w", body, 412, If_Match='"1"').code(), "version_conflict")
    equal(server("POST", "/workflows/w:enable", status=200, If_Match='"1-disabled"')
          .headers["ETag"], '"1"')
    server("POST", "/workflows/w:disable", status=200)
    server("DELETE", "/workflows/w", status=204, If_Match='"1-disabled"')


def test_match(place):
    server = place.serve()
    body = {"match": "size > 10 AND kind = 'a'", "data": {"size": 12, "kind": "b"}}
    equal(server("POST", "/workflows:test", body, 200).json(),
          {"matched": False, "decidedBy": "kind = 'a'"})
    refused = server("POST", "/workflows:test", {"match": "size >", "data": {}}, 400).json()
    equal((refused["errors"][0]["line"], refused["errors"][0]["column"]), (1, 7))
    refused = server("POST", "/workflows:test", {"data": {}}, 400).json()
    equal((refused["detail"], refused["errors"][0]["field"]), ("match is missing", "match"))


def test_switches_take_no_fields(place):
    server = place.serve()
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": [TRIGGER]}, 200)
    for verb in ("disable", "enable"):
        refused = server("POST", f"/workflows/w:{verb}", {"enabled": True}, 400).json()
        equal((refused["code"], refused["errors"][0]["field"]), ("invalid_request", "enabled"))
        server("POST", f"/workflows/w:{verb}", b"[]", 400)
        equal(server("GET", "/workflows/w", status=200).json()["enabled"], True)
    server("POST", "/workflows/w:disable", {}, 200)


def test_bad_events(place):
    server = place.serve()
    for body in ({}, {"type": ""}, {"type": "task.completed"}, {"type": "x", "data": []},
                 {"type": "x", "id": ""}, {"type": "x", "name": "y"},
                 {"type": "x", "namespace": "*"}):
        equal(server("POST", "/events", body, 400).code(), "invalid_request", body)
    equal(server("GET", "/events", status=200).json(), {"items": [], "nextCursor": None})


class Submits:
    """A client that submits one task after the other, and knows what took longest."""

    def __init__(self, server):
        self.server, self.longest, self.is_over = server, 0, False
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        connection = self.server.connect()
        while not self.is_over:
            begin = time.monotonic()
            self.server("POST", "/tasks", {"type": "other"}, 201, connection=connection)
            self.longest = max(self.longest, time.monotonic() - begin)

    def finish(self):
        self.is_over = True
        self.thread.join()
        return self.longest


def test_a_large_event_holds_no_submit_up(place):
    """What it makes is evaluated before the transaction. Compared with how long the event itself
    takes, so that the speed of the machine doesn't matter; the best of some tries counts."""
    server = place.serve()
    triggers = [{"name": f"t{i}", "on": "e", "match": f"deep.none{i} = 1", "task": {"type": "x"}}
                for i in range(150)]
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": triggers}, 200)
    data = {"deep": {f"k{i:06}": 1 for i in range(55000)}}
    shares = []
    for _ in range(5):
        submits = Submits(server)
        begin = time.monotonic()
        equal(server("POST", "/events", {"type": "e", "data": data}, 200).json()["tasks"], [])
        took = time.monotonic() - begin
        shares.append(submits.finish() / took)
        if shares[-1] < 0.4:
            return
    raise AssertionError(f"submits waited for the event: shares of its time {shares}")


def test_too_large_an_event(place):
    server = place.serve()
    triggers = [{"name": f"t{i}", "on": "e", "task": {"type": "x", "input": "${}"}}
                for i in range(1000)]
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": triggers}, 200)
    answer = server("POST", "/events", {"type": "e", "data": {"x": "y" * 900000}}, 413)
    equal(answer.code(), "payload_too_large")
    equal(server("GET", "/tasks", status=200).json()["items"], [])


run(globals())
