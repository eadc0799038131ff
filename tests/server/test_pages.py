#!/usr/bin/env python3
"""Lists of large items: each page is bounded in bytes, and the pages together are the list."""
import urllib.parse

from helper_server import equal, is_true, run

PAGE_MAX = 16 * 1024 * 1024
TEXT = "x" * 1000000


def pages(server, path, **params):
    """The items of all pages, each of which must be within the bound."""
    items, count, cursor = [], 0, None
    while True:
        query = dict(params, cursor=cursor) if cursor else params
        answer = server("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""),
                        status=200)
        page = answer.json()
        largest = max((len(str(item)) for item in page["items"]), default=0)
        is_true(len(answer.body) <= PAGE_MAX + 2 * largest + 100000, path, len(answer.body))
        is_true(page["items"] or not page["nextCursor"], path)
        items += page["items"]
        count += 1
        cursor = page["nextCursor"]
        if not cursor:
            return items, count


def is_paged(server, path, key, expected, **params):
    """All of them come, once each, in the same order whatever the limit, on several pages."""
    items, count = pages(server, path, **params)
    names = [key(item) for item in items]
    equal(sorted(names), sorted(expected), path)
    is_true(count > 1, path, count)
    small, count = pages(server, path, limit=7, **params)
    equal(sorted(key(item) for item in small), sorted(names), path)
    equal(count, max(1, -(-len(expected) // 7)), path)
    for cursor in ("zz", "0", "00", "12.x", "-1.-1", "c3", "ff" * 2000):
        answer = server("GET", f"{path}?" + urllib.parse.urlencode(dict(params, cursor=cursor)))
        is_true(answer.status == 400 or (answer.status == 200 and cursor in ("c3", "00")),
                path, cursor, answer)
    return names


def test_events_of_a_task(place):
    server = place.serve()
    task = server.held()["id"]
    for i in range(40):
        server.act(task, "note", workerId="w", event=f"n{i}", detail=TEXT[:500000])
    names = is_paged(server, f"/tasks/{task}/events", lambda event: event["event"],
                     ["created", "claimed", "started"] + [f"n{i}" for i in range(40)])
    equal(names[:40] + names[42:], [f"n{i}" for i in range(39, -1, -1)] + ["created"])
    # Events of one time, stored ones and those of the task itself, are told apart by their number.
    for limit in (1, 2, 3):
        equal([event["event"] for event in pages(server, f"/tasks/{task}/events", limit=limit)[0]],
              names)
    # A client that wants many gets them, however many pages that takes.
    told = place.faina("events", task, "--limit", "1000", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"event":'), 43)
    told = place.faina("events", task, "--limit", "39", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"event":'), 39)


def test_events_that_were_emitted(place):
    server = place.serve()
    for i in range(20):
        server("POST", "/events", {"type": "e", "id": f"e{i}", "data": {"x": TEXT}}, 200)
    is_paged(server, "/events", lambda event: event["id"], [f"e{i}" for i in range(20)])


def test_workers(place):
    server = place.serve()
    names = [f"{i:04}" + "t" * 250 for i in range(1000)]
    [node] = server("GET", "/workers", status=200).json()["items"]
    for i in range(40):
        server("PUT", f"/workers/w{i:02}", {"types": names, "services": names}, 200)
    is_paged(server, "/workers", lambda worker: worker["id"], [node["id"], *(f"w{i:02}" for i in range(40))])
    told = place.faina("worker-list", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"isLeader":'), 41)


def test_teams_and_schedules(place):
    server = place.serve()
    for i in range(300):
        server("POST", "/teams", {"name": f"team{i}", "spec": TEXT[:65000],
                                  "namespace": f"ns{i % 3}"}, 201)
    is_paged(server, "/teams", lambda team: team["name"], [f"team{i}" for i in range(300)],
             namespace="*")
    equal(len(pages(server, "/teams", namespace="ns1", limit=50)[0]), 100)
    told = place.faina("team", "ls", "--namespace", "*", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"spec":'), 300)
    for i in range(20):
        server("PUT", f"/crons/c{i:02}", {"schedule": "0 0 1 1 *",
                                          "task": {"type": "t", "input": TEXT}}, 200)
    is_paged(server, "/crons", lambda cron: cron["name"], [f"c{i:02}" for i in range(20)])
    told = place.faina("cron", "ls", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"schedule":'), 20)


def test_workflows(place):
    server = place.serve()
    for i in range(20):
        server("PUT", f"/workflows/f{i:02}", {"triggers": [
            {"name": "a", "on": "e", "task": {"type": "t", "input": TEXT}}]}, 200)
    is_paged(server, "/workflows", lambda flow: flow["name"], [f"f{i:02}" for i in range(20)])
    told = place.faina("workflow", "ls", "-o", "json", "--url", server.addresses[0])
    equal(told.stdout.count('"version":'), 20)


def test_tokens(place):
    names = ["n" * 250 + f"{i:04}" for i in range(250)]
    admin = place.token("admin")
    server = place.serve()
    server.token = admin
    for i in range(300):
        server("POST", "/tokens", {"name": f"t{i}", "scopes": ["read"], "namespaces": names}, 201)
    expected = [f"t{i}" for i in range(300)]
    items, count = pages(server, "/tokens")
    equal(sorted(token["name"] for token in items if token["name"] in expected), sorted(expected))
    equal(len({token["id"] for token in items}), 301)
    is_true(count > 1)
    told = place.faina("token", "ls", "-o", "json", "--url", server.addresses[0],
                       env={"FAINA_TOKEN": admin})
    equal(told.stdout.count('"scopes":'), 301)


def test_subtasks(place):
    server = place.serve()
    parent = server.held()["id"]
    server.act(parent, "block", workerId="w",
               subtasks=[{"type": "c", "name": f"c{i}"} for i in range(20)])
    for task in server.claim(types=["c"], limit=20):
        server.act(task["id"], "start", workerId="w")
        server.act(task["id"], "complete", workerId="w", output=TEXT)
    is_paged(server, f"/tasks/{parent}/children", lambda task: task["name"],
             [f"c{i}" for i in range(20)])


def test_small_items(place):
    """Resources and lanes are small; their pages follow each other all the same."""
    server = place.serve()
    names = [f"r{i}" for i in range(250)]
    for name in names:
        server("PUT", f"/resources/{name}", {"maxConcurrency": 1})
    for limit in (1, 99, 100, 101, 250, 251, 1000):
        items, count = pages(server, "/resources", limit=limit)
        equal([item["name"] for item in items], sorted(names))
        equal(count, -(-250 // limit))
    equal(len(pages(server, "/resources")[0]), 250)
    # A list that changes while it is read still has each item that stays, once.
    first = server("GET", "/resources?limit=100", status=200).json()
    for item in first["items"][:50]:
        server("DELETE", f"/resources/{item['name']}", status=204)
    server("PUT", "/resources/a", {"maxConcurrency": 1})
    rest, _ = pages(server, "/resources", limit=60, cursor=first["nextCursor"])
    equal([item["name"] for item in first["items"] + rest], sorted(names))


run(globals(), on_postgres=True)
