#!/usr/bin/env python3
"""The workflows folder of `faina serve`: files that come, change, go and are wrong."""
import json
import os
import time

from helper_server import equal, is_true, run, wait_until


def definition(name="content", task="made", **more):
    return json.dumps({"workflow": name, **more, "triggers": [
        {"name": "a", "on": "x", "task": {"type": task}}]})


def write(place, name, text, folder="workflows", mode=0o644):
    """As a careful editor does: whole, or not at all."""
    os.makedirs(place.path(folder), 0o755, exist_ok=True)
    path = place.path(os.path.join(folder, "." + name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    os.rename(path, place.path(os.path.join(folder, name)))


def workflows(server):
    """Name to (version, enabled)."""
    items = server("GET", "/workflows", status=200).json()["items"]
    return {item["name"]: (item["version"], item["enabled"]) for item in items}


def until(server, expected):
    wait_until(lambda: workflows(server) == expected, f"{expected}; log: {server.lines}")


def until_told(server, part):
    wait_until(lambda: any(part in json.loads(line)["message"] for line in list(server.lines)),
               f"{part!r} in {server.lines}")


def told(server, part):
    return [line for line in list(server.lines) if part in json.loads(line)["message"]]


def tasks_of(server, type_="x"):
    return len(server("POST", "/events", {"type": type_}, 200).json()["tasks"])


def test_is_there_from_the_first_request(place):
    write(place, "one.json", definition("one"))
    write(place, "two.yaml", "workflow: two\ntriggers:\n  - {name: a, on: x, task: {type: made}}\n")
    write(place, "notes.txt", "no workflow")
    write(place, ".hidden.yaml", "workflow: hidden")
    server = place.serve()
    equal(tasks_of(server), 2)
    equal(workflows(server), {"one": (1, True), "two": (1, True)})
    server.stop()
    server = place.serve()
    equal(workflows(server), {"one": (1, True), "two": (1, True)})


def test_a_change_is_a_new_version(place):
    server = place.serve()
    time.sleep(0.1)
    equal(workflows(server), {})
    # The folder comes later.
    write(place, "content.json", definition())
    until(server, {"content": (1, True)})
    write(place, "content.json", definition(task="other"))
    until(server, {"content": (2, True)})
    write(place, "content.json", definition(task="other", enabled=False))
    until(server, {"content": (3, False)})
    write(place, "content.json", definition("renamed", task="other"))
    until(server, {"content": (3, False), "renamed": (1, True)})
    write(place, "content.json", definition("again"))
    until(server, {"content": (3, False), "renamed": (1, False), "again": (1, True)})


def test_a_bad_file_changes_nothing_and_says_where(place):
    write(place, "content.json", definition())
    write(place, "bad.yaml", "workflow: bad\ntriggers:\n  - nam: x\n    on: 7\n")
    write(place, "tabs.yaml", "workflow: bad\n\ttriggers: []\n")
    server = place.serve()
    equal(workflows(server), {"content": (1, True)})
    is_true(told(server, "bad.yaml:3:5: triggers[0].nam is not a known field"), server.lines)
    is_true(told(server, "bad.yaml:4:9: triggers[0].on must be a text"), server.lines)
    is_true(told(server, "tabs.yaml:2:1: "), server.lines)
    is_true(told(server, "bad.yaml is not used"), server.lines)
    write(place, "content.json", '{"workflow": "content",\n "triggers": [}')
    until_told(server, "content.json:2:")
    until_told(server, "content.json is not used; as before stays workflow content")
    equal(workflows(server), {"content": (1, True)})
    equal(tasks_of(server), 1)
    write(place, "bad.yaml", definition("good"))  # JSON is YAML
    until(server, {"content": (1, True), "good": (1, True)})
    server.stop()


def test_a_file_that_goes_and_comes_back(place):
    write(place, "content.json", definition())
    server = place.serve()
    # Another name is no removal, and neither is a moment's absence.
    os.rename(place.path("workflows/content.json"), place.path("workflows/other.json"))
    until_told(server, "is as in other.json")
    os.rename(place.path("workflows/other.json"), place.path("aside.json"))
    time.sleep(0.2)
    os.rename(place.path("aside.json"), place.path("workflows/other.json"))
    time.sleep(1.5)
    equal(workflows(server), {"content": (1, True)})
    equal(told(server, "switched off"), [])
    os.rename(place.path("workflows/other.json"), place.path("aside.json"))
    until(server, {"content": (1, False)})
    equal(tasks_of(server), 0)
    os.rename(place.path("aside.json"), place.path("workflows/other.json"))
    until(server, {"content": (1, True)})
    # Also under a third name, and then its going is noticed again.
    os.rename(place.path("workflows/other.json"), place.path("aside.json"))
    until(server, {"content": (1, False)})
    os.rename(place.path("aside.json"), place.path("workflows/third.json"))
    until(server, {"content": (1, True)})
    os.unlink(place.path("workflows/third.json"))
    until(server, {"content": (1, False)})


def test_a_file_that_comes_back_after_a_restart(place):
    write(place, "content.json", definition())
    server = place.serve()
    os.rename(place.path("workflows/content.json"), place.path("aside.json"))
    until(server, {"content": (1, False)})
    server.stop()
    server = place.serve()
    os.rename(place.path("aside.json"), place.path("workflows/content.json"))
    until_told(server, "is as in content.json, but was switched off")
    equal(workflows(server), {"content": (1, False)})


def test_what_somebody_changed_is_left_alone(place):
    write(place, "content.json", definition())
    server = place.serve()
    place.faina("workflow", "disable", "content", "--url", f"http://{server.host}:{server.port}")
    server.stop()
    server = place.serve()
    equal(workflows(server), {"content": (1, False)})
    is_true(told(server, "but was switched off"), server.lines)
    server("PUT", "/workflows/content", json.loads(definition(task="theirs")), 200)
    os.unlink(place.path("workflows/content.json"))
    until_told(server, "but it was changed since")
    equal(workflows(server), {"content": (2, True)})


def test_the_folder_as_a_whole(place):
    write(place, "content.json", definition())
    server = place.serve()
    os.rename(place.path("workflows"), place.path("away"))
    until_told(server, "no workflow is read from files")
    time.sleep(1.5)
    equal(workflows(server), {"content": (1, True)})
    write(place, "content.json", definition(task="other"), folder="away")
    os.rename(place.path("away"), place.path("workflows"))
    until(server, {"content": (2, True)})


def test_two_files_for_one_workflow(place):
    write(place, "a.json", definition())
    write(place, "b.json", definition(task="other"))
    server = place.serve()
    equal(workflows(server), {"content": (1, True)})
    is_true(told(server, "b.json: workflow content is defined by a.json already"), server.lines)
    os.unlink(place.path("workflows/a.json"))
    until(server, {"content": (2, True)})
    time.sleep(1.2)
    equal(workflows(server), {"content": (2, True)})


def test_what_others_can_write_is_not_used(place):
    write(place, "mine.json", definition("mine"))
    write(place, "theirs.json", definition("theirs"), mode=0o666)
    server = place.serve()
    equal(workflows(server), {"mine": (1, True)})
    is_true(told(server, "can be written to by others; run: chmod go-w"), server.lines)
    os.chmod(place.path("workflows/theirs.json"), 0o644)
    until(server, {"mine": (1, True), "theirs": (1, True)})
    os.chmod(place.path("workflows"), 0o777)
    until_told(server, "no workflow is read from files")


def test_another_folder_and_namespace(place):
    write(place, "content.json", definition(), folder="flows")
    server = place.serve("--namespace", "shop", env={"FAINA_WORKFLOWS": "flows"})
    items = server("GET", "/workflows?namespace=shop", status=200).json()["items"]
    equal([(i["name"], i["namespace"]) for i in items], [("content", "shop")])
    server.stop()
    server = place.serve(env={"FAINA_WORKFLOWS": "nowhere"})
    is_true(told(server, "no workflow is read from files"), server.lines)


run(globals())
