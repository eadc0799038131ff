#!/usr/bin/env python3
"""emit and workflow: definitions from files, what events make of them, and why."""
import json
import re
import time

from helper_cli import contains, equal, is_true, run

CONTENT = """workflow: content
triggers:
  - name: mp3
    on: object.created
    match: mimeType = 'audio/mpeg'
    task: { type: extract.id3, input: { hash: "${hash}" } }
  - name: image
    on: object.created
    match: mimeType startsWith 'image/'
    task: { type: extract.exif, input: { hash: "${hash}" } }
"""


def test_apply_emit_why(cli):
    cli.write("content.yaml", CONTENT)
    table = ("-o", "table")
    equal(cli("workflow", "test", "content.yaml", *table).out,
          "content is valid: 2 triggers, 0 joins\n")
    equal(cli("workflow", "test", "content.yaml").json(),
          {"name": "content", "triggerCount": 2, "joinCount": 0})
    equal(cli("workflow", "apply", "content.yaml", *table).out, "content version 1\n")
    equal(cli("workflow", "apply", "content.yaml", *table).out, "content version 1, unchanged\n")
    stored = cli("workflow", "apply", "content.yaml").json()
    equal((stored["name"], stored["version"], stored["enabled"]), ("content", 1, True))
    equal(cli("workflow", "apply", "content.yaml", "content.yaml").json()["items"],
          [stored, stored])
    done = cli("emit", "object.created", '{"mimeType":"audio/mpeg","hash":"f"}', "--id", "e1")
    equal((done.code, done.err), (0, ""))
    task = json.loads(cli("get", *done.json()["tasks"]).out)
    equal(task["origin"], {"workflow": "content", "trigger": "mp3", "version": 1, "eventId": "e1"})
    again = cli("emit", "object.created", "--id", "e1").json()
    equal((again["existing"], again["tasks"]), (True, [task["id"]]))
    why = json.loads(cli("workflow", "why", "e1").out)
    equal([(t["trigger"], t["result"], t["decidedBy"]) for t in why["triggers"]],
          [("mp3", "matched", "mimeType = 'audio/mpeg'"),
           ("image", "not matched", "mimeType startsWith 'image/'")])
    cli("workflow", "why", "e2", code=3)
    is_true("mp3 of content version 1, event e1" in cli("get", task["id"], "-o", "table").out)


def test_a_failing_trigger_is_named(cli):
    cli.write("content.yaml", CONTENT)
    cli("workflow", "apply", "content.yaml")
    done = cli("emit", "object.created", '{"mimeType":"audio/mpeg"}', code=1)
    equal(done.json()["tasks"], [])
    equal(done.json()["failures"], [{"workflow": "content", "trigger": "mp3",
                                     "message": "${hash} is missing"}])
    equal(done.err, "faina: trigger mp3 of content: ${hash} is missing\n")


def test_mistakes_have_their_places(cli):
    cli.write("good.yaml", CONTENT)
    cli.write("bad.yaml", "workflow: bad\ntriggers:\n  - nam: x\n    on: 7\n")
    done = cli("workflow", "apply", "good.yaml", "bad.yaml", code=2)
    equal(done.out, "")
    is_true('bad.yaml:3:5: triggers[0].nam is not a known field; did you mean "name"?' in done.err,
            done.err)
    is_true("bad.yaml:4:9: triggers[0].on must be a text" in done.err, done.err)
    cli("db", "migrate")
    equal(json.loads(cli("workflow", "ls").out), {"items": []})
    cli("workflow", "apply", "good.txt", code=2)
    cli("workflow", "apply", "nothing.yaml", code=2)


def test_back_test(cli):
    cli.write("content.yaml", CONTENT)
    cli("emit", "object.created", '{"mimeType":"image/png","hash":"a"}', "--id", "1")
    cli("emit", "object.created", '{"mimeType":"image/png"}', "--id", "2")
    cli("emit", "other", "{}")
    lines = cli("workflow", "test", "content.yaml", "--last", "1h", "-o", "jsonl").out.splitlines()
    equal([json.loads(line) for line in lines], [
        {"eventId": "1", "trigger": "image",
         "task": {"type": "extract.exif", "input": {"hash": "a"}}, "error": None},
        {"eventId": "2", "trigger": "image", "task": None, "error": "${hash} is missing"}])
    table = cli("workflow", "test", "content.yaml", "--last", "1h", "-o", "table").out
    equal([line.split()[:5] for line in table.splitlines()[1:]],
          [["mp3", "object.created", "2", "0", "0"], ["image", "object.created", "2", "1", "1"]])
    report = cli("workflow", "test", "content.yaml", "--last", "1h").json()
    equal((report["name"], report["joins"]), ("content", []))
    equal(report["triggers"][1], {"name": "image", "on": "object.created", "events": 2, "tasks": 1,
                                  "failed": 1, "failure": "${hash} is missing"})
    equal(json.loads(cli("ls").out)["items"], [])


JOIN = """workflow: content
joins:
  - name: both
    taskTypes: [id3, exif]
    joinKey: hash
    %s
    task: { type: index, input: { hash: "${key}", t: "${tasks.id3.output.t}" } }
"""


def end_task(cli, type_, hash_, output=None):
    task = cli.submit(type_, json.dumps({"hash": hash_}))
    cli("claim", task, "--worker", "w")
    if output is None:
        cli("fail", task, "--error", "no", "--permanent", "--worker", "w")
    else:
        cli("complete", task, json.dumps(output), "--worker", "w")


def test_back_test_of_joins(cli):
    for type_, hash_, output in (("id3", "a", {"t": 1}), ("exif", "b", {}), ("id3", "a", {"t": 2}),
                                 ("exif", "a", {}), ("exif", "a", {}), ("id3", "c", None),
                                 ("exif", "c", {}), ("id3", "d", {}), ("exif", "d", {})):
        end_task(cli, type_, hash_, output)
    cli.submit("id3", '{"hash":"b"}')  # hasn't ended
    end_task(cli, "id3", None, {"t": 1})  # has no key

    def play(more, *args):
        cli.write("join.yaml", JOIN % more)
        return cli("workflow", "test", "join.yaml", "--last", "1h", *args).out

    lines = [json.loads(line) for line in play("onFailure: drop", "-o", "jsonl").splitlines()]
    equal([(line["join"], line["key"], line["task"] and line["task"]["input"], line["error"])
           for line in lines],
          [("both", "a", {"hash": "a", "t": 2}, None),
           ("both", "d", None, "${tasks.id3.output.t} is missing")])
    row = play("onFailure: drop", "-o", "table").splitlines()[1].split()
    equal(row[:6], ["both", "id3,exif", "9", "1", "1", "${tasks.id3.output.t}"])
    # A member that ended badly counts, but has no output; so does one that didn't come in time.
    lines = [json.loads(line) for line in play("onFailure: fire", "-o", "jsonl").splitlines()]
    equal([(line["key"], line["error"] is None) for line in lines],
          [("a", True), ("c", False), ("d", False)])
    time.sleep(0.01)
    lines = play("onFailure: fire\n    deadline: 1ms", "-o", "jsonl").splitlines()
    equal(len([line for line in lines if json.loads(line)["key"] == "b"]), 1)
    equal(cli("ls", "--type", "index").json()["items"], [])


def test_joins_say_what_each_key_waits_for(cli):
    cli.write("both.yaml", """
workflow: both
joins:
  - name: scanned
    taskTypes: [scan.text, scan.image, scan.sound]
    joinKey: hash
    deadline: 1h
    task: { type: done }
""")
    cli("workflow", "apply", "both.yaml")
    for kind, key in (("scan.image", "a"), ("scan.text", "b"), ("SCAN.sound", "b")):
        task = cli.submit(kind, f'{{"hash":"{key}"}}')
        cli("start", task, "-w", "w")
        cli("complete", task, "-w", "w")
    items = {item["key"]: item for item in cli("workflow", "joins").json()["items"]}
    equal({key: item["waitsFor"] for key, item in items.items()},
          {"a": ["scan.text", "scan.sound"], "b": ["scan.image"]})
    rows = cli("workflow", "joins", "both", "-o", "table").out.splitlines()
    equal(re.split("  +", rows[0]),
          ["KEY", "WORKFLOW", "JOIN", "WAITS FOR", "HAS", "UNTIL", "ROUND", "LAST"])
    equal(re.split("  +", rows[1])[:5],
          ['"a"', "both", "scanned", "scan.text, scan.sound", "scan.image completed"])
    contains(rows[2], "  scan.image  ")
    contains(rows[2], "in 60 min")


def test_joins_of_all_pages(cli):
    cli.write("join.yaml", JOIN % "onFailure: drop")
    cli("db", "migrate")
    cli("workflow", "joins", "both", code=3)
    name = cli("workflow", "apply", "join.yaml").json()["name"]
    equal(cli("workflow", "joins", name).json()["items"], [])
    lines = "".join(json.dumps({"type": "id3", "input": {"hash": f"h{i}"}}) + "\n"
                    for i in range(1001))
    cli("submit", "--bulk", stdin=lines)
    cli("cancel", "--all", "--type", "id3", "--yes")
    equal(len(cli("workflow", "joins", name).json()["items"]), 1001)


def test_apply_from_stdin(cli):
    equal(cli("workflow", "apply", "-", "-o", "table", stdin=CONTENT).out, "content version 1\n")
    text = json.dumps({"workflow": "w", "triggers": [
        {"name": "a", "on": "x", "task": {"type": "t"}}]}, indent="\t")
    equal(cli("workflow", "test", "-", stdin=text).json()["name"], "w")
    cli.write("w.json", text)
    equal(cli("workflow", "apply", "-", stdin=text).json()["version"], 1)
    equal(cli("workflow", "apply", "w.json", "-o", "table").out, "w version 1, unchanged\n")
    done = cli("workflow", "apply", "-", stdin="workflow: w\ntriggers: 5\n", code=2)
    contains(done.err, "stdin:2:11: triggers must be a list")
    cli("workflow", "apply", "-", stdin="", code=2)


def test_match(cli):
    equal(cli("workflow", "test", "--match", "size > 10 AND kind = 'a'", "--data",
              '{"size":12}', "-o", "table").out, "false, because kind = 'a' is false\n")
    equal(json.loads(cli("workflow", "test", "--match", "NOT size > 10", "--data",
                         '{"size":12}', "-o", "json").out),
          {"matched": False, "decidedBy": "size > 10"})
    cli("workflow", "test", "--match", "size >", "--data", "{}", code=2)
    cli("workflow", "test", code=2)


def test_switching_and_removing(cli):
    cli.write("content.json", json.dumps(
        {"workflow": "w", "triggers": [{"name": "a", "on": "x", "task": {"type": "t"}}]}))
    cli("workflow", "apply", "content.json")
    equal(cli("workflow", "disable", "w").json()["enabled"], False)
    equal(cli("emit", "x").json()["tasks"], [])
    equal(cli("workflow", "enable", "w", "-o", "table").out, "enabled workflow w\n")
    equal(len(cli("emit", "x", "-o", "table").out), 37)
    equal(json.loads(cli("workflow", "get", "w").out)["workflow"], "w")
    cli("workflow", "rm", "nobody", code=3)
    done = cli("workflow", "rm", "w", "nobody", code=None)
    equal((done.code, done.json()), (3, {"deleted": 1}))
    cli("workflow", "get", "w", code=3)
    equal(cli("emit", "x").json()["tasks"], [])


def test_an_event_without_a_matching_trigger_is_noted(cli):
    done = cli("emit", "x", "--id", "e1", "-o", "table")
    equal((done.out, done.err), ("", "No task was created: no trigger matched. "
                                     "See faina workflow why e1.\n"))
    equal(cli("emit", "x", "--id", "e2").json(),
          {"id": "e2", "tasks": [], "failures": []})
    contains(cli.on_terminal("emit", "x", "--id", "e3").plain(), "No task was created")


run(globals())
