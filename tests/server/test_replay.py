#!/usr/bin/env python3
"""Events and schedules without side effects: why, backtest, the next times."""
from helper_server import equal, is_true, run


def workflow(*triggers):
    return {"workflow": "w", "triggers": list(triggers)}


def trigger(name, on, task, match=None):
    return {"name": name, "on": on, "task": task, **({"match": match} if match else {})}


SMALL = trigger("small", "e", {"type": "a", "input": {"n": "${n}"}}, "n < 10")
LARGE = trigger("large", "e", {"type": "b", "input": {"n": "${n}"}}, "n >= 10")


def test_why(place):
    server = place.serve()
    server("PUT", "/workflows/w", workflow(SMALL, LARGE, trigger("bad", "e", {"type": "c", "input": "${x}"}),
                                           trigger("other", "f", {"type": "d"})), 200)
    server("PUT", "/workflows/v", {"workflow": "v", "enabled": False, "triggers": [SMALL]}, 200)
    server("POST", "/events", {"type": "e", "id": "one/1", "data": {"n": 3}}, 200)
    answer = server("GET", "/events/one%2F1/why", status=200).json()
    equal((answer["event"]["id"], answer["event"]["data"]), ("one/1", {"n": 3}))
    shown = {(item["workflow"], item["trigger"]): item for item in answer["triggers"]}
    equal({key: item["result"] for key, item in shown.items()}, {
        ("w", "small"): "matched", ("w", "large"): "not matched", ("w", "bad"): "failed", ("v", "small"): "disabled"})
    equal(shown["w", "large"]["decidedBy"], "n >= 10")
    is_true("x" in shown["w", "bad"]["error"] and shown["w", "small"]["error"] is None, shown)
    equal(server("GET", "/events/none/why", status=404).code(), "not_found")


def test_backtest(place):
    server = place.serve()
    server("PUT", "/workflows/w", workflow(SMALL), 200)
    for n in (1, 5, 12):
        server("POST", "/events", {"type": "e", "id": f"e{n}", "data": {"n": n}}, 200)

    def compare(definition, status=200, **more):
        return server("POST", "/workflows:backtest", {"definition": definition, "last": "1h", **more}, status)

    same = compare(workflow(SMALL)).json()
    equal((same["name"], same["events"], same["truncated"]), ("w", 3, False))
    equal(same["counts"], {"same": 2, "added": 0, "missing": 0, "changed": 0, "gone": 0})
    equal(same["triggers"], [{"name": "small", "on": "e", "events": 3, "tasks": 2, "failed": 0, "failure": None}])
    # One trigger has another condition, one is new, and one makes something else.
    other = compare(workflow({**SMALL, "match": "n < 3"}, LARGE)).json()
    equal(other["counts"], {"same": 1, "added": 1, "missing": 1, "changed": 0, "gone": 0})
    equal([(item["eventId"], item["trigger"], item["taskId"], item["task"]) for item in other["added"]],
          [("e12", "large", None, {"type": "b", "input": {"n": 12}})])
    equal([(item["eventId"], item["trigger"], item["task"]) for item in other["missing"]], [("e5", "small", None)])
    equal(server.get(other["missing"][0]["taskId"])["input"], {"n": 5})
    changed = compare(workflow({**SMALL, "task": {"type": "a", "input": {"m": "${n}"}}})).json()
    equal((changed["counts"]["changed"], changed["changed"][0]["task"]), (2, {"type": "a", "input": {"m": 1}}))
    # The same as YAML, and one under another name, which has created nothing.
    text = "workflow: w\ntriggers:\n  - {name: small, on: e, match: n < 10, task: {type: a, input: {n: '${n}'}}}\n"
    equal(compare(text).json()["counts"], same["counts"])
    equal(compare({**workflow(SMALL), "workflow": "x"}).json()["counts"]["added"], 2)
    failing = compare(workflow({**SMALL, "task": {"type": "a", "input": "${x}"}})).json()
    equal((failing["triggers"][0]["failed"], failing["counts"]["missing"]), (2, 2))
    is_true("x" in failing["triggers"][0]["failure"], failing)
    # Deleted tasks can't be compared.
    server("DELETE", f"/tasks/{other['missing'][0]['taskId']}?cancel=true", status=204)
    equal(compare(workflow(SMALL)).json()["counts"], {"same": 1, "added": 0, "missing": 0, "changed": 0, "gone": 1})
    equal(compare({"workflow": "w", "triggers": [{"name": "x"}]}, 400).json()["code"], "invalid_request")
    equal(compare("- 1", 400).json()["code"], "invalid_request")
    equal(server("POST", "/workflows:backtest", {}, 400).json()["errors"][0]["field"], "definition")
    equal(compare(workflow(SMALL), 400, last="soon").json()["errors"][0]["field"], "last")
    equal(compare(workflow(SMALL), last="1000d").json()["counts"]["same"], 1)


def test_next_times(place):
    server = place.serve()
    server("PUT", "/crons/a%2Fb", {"schedule": "30 6 1 1 *", "timezone": "Europe/Berlin", "task": {"type": "t"}}, 200)
    answer = server("GET", "/crons/a%2Fb/next?count=3", status=200).json()
    times = [item["at"] for item in answer["items"]]
    is_true(len(times) == 3 and times == sorted(times) and all(at[4:].startswith("-01-01T05:30:00") for at in times),
            answer)
    equal((answer["schedule"], answer["timezone"], answer["paused"]), ("30 6 1 1 *", "Europe/Berlin", False))
    equal(len(server("GET", "/crons/a%2Fb/next", status=200).json()["items"]), 10)
    for bad in ("0", "1001", "x"):
        server("GET", f"/crons/a%2Fb/next?count={bad}", status=400)
    server("GET", "/crons/none/next", status=404)


run(globals(), on_postgres=True)
