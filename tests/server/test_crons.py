#!/usr/bin/env python3
"""Schedules over HTTP."""
from helper_server import equal, is_true, run, wait_until

BODY = {"schedule": "0 3 * * *", "timezone": "Europe/Berlin", "task": {"type": "report", "input": 1}}


def test_put_get_list_and_delete(place):
    server = place.serve()
    equal(server("GET", "/crons", status=200).json(), {"items": [], "nextCursor": None})
    cron = server("PUT", "/crons/night", BODY, 200).json()
    equal((cron["name"], cron["namespace"], cron["catchUp"], cron["paused"], cron["version"]),
          ("night", "default", "none", False, 1))
    equal((cron["task"], cron["lastAt"], cron["problem"]), (BODY["task"], None, None))
    is_true(cron["nextAt"] > cron["createdAt"])
    equal(server("GET", "/crons/night", status=200).json(), cron)
    equal(server("PUT", "/crons/night", {**BODY, "paused": True}, 200).json()["nextAt"], None)
    server("PUT", "/crons/a%2Fb:c", {**BODY, "namespace": "x", "catchUp": "all"}, 200)
    equal(server("GET", "/crons/a%2Fb:c?namespace=x", status=200).json()["name"], "a/b:c")
    equal(len(server("GET", "/crons").json()["items"]), 1)
    equal(len(server("GET", "/crons?namespace=*").json()["items"]), 2)
    server("DELETE", "/crons/night", status=204)
    for method in ("GET", "DELETE"):
        equal(server(method, "/crons/night", status=404).code(), "not_found")
        equal(server(method, "/crons/a%2Fb:c", status=404).code(), "not_found")
    equal(server("POST", "/crons/night:run", status=404).code(), "not_found")


def test_versions(place):
    server = place.serve()
    equal(server("PUT", "/crons/v", BODY, 412, If_Match='"1"').code(), "version_conflict")
    answer = server("PUT", "/crons/v", {**BODY, "name": "v"}, 200)
    equal(answer.headers["ETag"], '"1"')
    equal(server("PUT", "/crons/v", BODY, 200, If_Match='"1"').json()["version"], 2)
    equal(server("PUT", "/crons/v", BODY, 412, If_Match='"1"').code(), "version_conflict")
    equal(server("GET", "/crons/v", status=200).headers["ETag"], '"2"')
    answer = server("PUT", "/crons/v", {**BODY, "name": "w"}, 400)
    equal(answer.json()["errors"][0]["field"], "name")
    for wrong in ('"1"', '"3"', 'W/"2"'):
        equal(server("DELETE", "/crons/v", status=412, If_Match=wrong).code(), "version_conflict")
    equal(server("GET", "/crons/v", status=200).json()["version"], 2)
    server("DELETE", "/crons/v", status=204, If_Match='"2"')
    equal(server("DELETE", "/crons/v", status=412, If_Match='"2"').code(), "version_conflict")
    equal(server("DELETE", "/crons/v", status=404).code(), "not_found")


def test_run_takes_no_fields(place):
    server = place.serve()
    server("PUT", "/crons/c", BODY, 200)
    refused = server("POST", "/crons/c:run", {"at": "now"}, 400).json()
    equal((refused["code"], refused["errors"][0]["field"]), ("invalid_request", "at"))
    equal(server("GET", "/tasks", status=200).json()["items"], [])
    server("POST", "/crons/c:run", {}, 201)
    server("POST", "/crons/c:run", status=201)


def test_pages(place):
    server = place.serve()
    for name in "abcde":
        server("PUT", f"/crons/{name}", BODY, 200)
    seen, cursor = [], None
    while True:
        page = server("GET", "/crons?limit=2" + (f"&cursor={cursor}" if cursor else ""),
                      status=200).json()
        is_true(len(page["items"]) <= 2)
        seen += [item["name"] for item in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    equal(seen, list("abcde"))
    for query in ("limit=0", "limit=1001", "cursor=x", "cursor=-1"):
        equal(server("GET", "/crons?" + query, status=400).code(), "invalid_request", query)


def test_bad_bodies(place):
    server = place.serve()
    for change, field in (({"schedule": "1 2 3"}, "schedule"), ({"schedule": None}, "schedule"),
                          ({"schedule": 5}, "schedule"), ({"timezone": "No/Where"}, "timezone"),
                          ({"task": None}, "task"), ({"task": {"typ": 1}}, "task"),
                          ({"task": {"idempotencyKey": "k"}}, "task"), ({"catchUp": "x"}, "catchUp"),
                          ({"paused": 1}, "paused"), ({"nextAt": None}, "nextAt")):
        answer = server("PUT", "/crons/c", {**BODY, **change}, 400)
        equal((answer.code(), answer.json()["errors"][0]["field"]), ("invalid_request", field),
              change)
    equal(server("PUT", "/crons/" + "n" * 201, BODY, 400).code(), "invalid_request")
    equal(server("GET", "/crons").json(), {"items": [], "nextCursor": None})


def test_run_and_fire(place):
    server = place.serve()
    server("PUT", "/crons/r", {**BODY, "paused": True}, 200)
    task = server("POST", "/crons/r:run", status=201).json()
    equal((task["type"], task["input"], task["createdBy"], task["idempotencyKey"]),
          ("report", 1, "cron:r", None))
    server("PUT", "/crons/r", {"schedule": "@every 1s", "task": {"type": "tick"}}, 200)
    wait_until(lambda: len(server("GET", "/tasks?type=tick").json()["items"]) >= 2,
               "the schedule makes tasks")
    keys = [item["idempotencyKey"] for item in server("GET", "/tasks?type=tick").json()["items"]]
    is_true(all(key.startswith("cron:r:") for key in keys), keys)
    equal(len(set(keys)), len(keys))


run(globals())
