#!/usr/bin/env python3
"""submit --bulk, and cancel, retry and rm --all."""
import json
import os
import subprocess

from helper_cli import ID, PATIENCE, contains, equal, is_true, run


def lines(*bodies):
    return "".join(json.dumps(body) + "\n" for body in bodies)


def test_bulk_from_a_file_and_from_stdin(cli):
    text = lines({"type": "a", "input": 1}, {"type": "b", "input": 2})
    cli.write("tasks.jsonl", text)
    for args, stdin in ((("--bulk", "tasks.jsonl"), ""), (("--bulk=tasks.jsonl",), ""),
                        (("--bulk",), text), (("--bulk", "-"), text), (("-", "--bulk"), text),
                        (("@tasks.jsonl", "--bulk"), ""), (("ignored", "--bulk", "tasks.jsonl"), ""),
                        (("ignored", "tasks.jsonl", "--bulk"), "")):
        result = cli("submit", *args, stdin=stdin)
        ids = result.out.splitlines()
        equal([cli.get(task)["input"] for task in ids], [1, 2], args)
        equal([cli.get(task)["type"] for task in ids], ["a", "b"], args)
        contains(result.err, "stored 2 tasks, 0 already existed, 0 refused")


def test_bulk_type_and_flags_are_for_lines_without(cli):
    text = lines({"input": 1}, {"type": "own", "priority": 7, "namespace": "far",
                                 "retry": {"factor": 4}})
    result = cli("submit", "given", "--bulk", "--priority", "3", "--resource", "gpu",
                 "--max-retries", "0", "--retry", "5s", stdin=text)
    first, second = map(cli.get, result.out.split())
    equal((first["type"], first["priority"], first["namespace"]), ("given", 3, "default"))
    equal((second["type"], second["priority"], second["namespace"]), ("own", 7, "far"))
    equal((first["resources"], first["maxAttempts"]), (["gpu"], 1))
    equal((first["retry"]["base"], second["retry"]["base"], second["retry"]["factor"]), ("5s", "15s", 4))


def test_bulk_reports_bad_lines_and_stores_the_others(cli):
    text = ('{"type":"a"}\n'
            "\n"
            '{"type":"a",}\n'
            '{"priority":1}\n'
            '{"type":"a","status":"completed"}\n'
            '{"type":"a","prioritty":1}\n'
            '{"type":"a","delay":"soon"}\n'
            '[1]\n'
            '{"type":"a","idempotencyKey":"k"}\r\n'
            '{"type":"a","idempotencyKey":"k"}')
    result = cli("submit", "--bulk", stdin=text, code=1)
    equal(len(ID.findall(result.out)), 3)
    equal(len(result.out.split()), 3)
    reports = [line for line in result.err.splitlines() if line.startswith("faina: line")]
    for report, number, words in zip(reports, (3, 4, 5, 6, 7, 8), (
            ", column 13: ", "type is missing", "status is set by the engine",
            'did you mean "priority"?', "delay", "must be a JSON object"), strict=True):
        contains(report, f"line {number}")
        contains(report, words)
    contains(result.err, "stored 2 tasks, 1 already existed, 6 refused")


def test_bulk_summary_and_lines_as_json(cli):
    text = lines({"type": "a"}, {"typ": "a"}, {"type": "a"})
    equal(cli("submit", "--bulk", "-o", "json", stdin=text, code=1).json(),
          {"submitted": 2, "existing": 0, "refused": 1})
    equal([row["line"] for row in cli("submit", "--bulk", "-o", "jsonl", stdin=text,
                                      code=1).lines()], [1, 3])
    equal(cli("submit", "--bulk", "-o", "json", stdin="").json()["submitted"], 0)


def test_bulk_of_many_keeps_the_order(cli):
    count = 2500 # two and a half batches
    text = "".join(f'{{"type":"t","input":{n}}}\n' for n in range(count))
    ids = cli("submit", "--bulk", stdin=text).out.split()
    equal(len(set(ids)), count)
    listed = cli("ls", "--all", "-o", "jsonl").lines()
    equal([task["id"] for task in listed], ids[::-1])
    equal([task["input"] for task in listed], list(range(count))[::-1])


def test_a_line_is_a_line(cli):
    """Whatever way a payload was written."""
    text = '{\n  "a": "x \\n y",\r\n\t"b": [1,\n 2]\n}'
    for task in (cli("submit", "t", text).out.strip() for _ in range(2)):
        cli("claim", task, "--worker", "w")
        cli("complete", task, text, "--worker", "w")
    listed = cli("ls", "-o", "jsonl").lines()
    equal([task["input"] for task in listed], [{"a": "x \n y", "b": [1, 2]}] * 2)
    equal(listed[0]["output"], listed[0]["input"])
    equal(len(cli("get", listed[0]["id"], "-o", "jsonl").lines()), 1)


def test_bulk_misuse(cli):
    contains(cli("submit", "--bulk", "nothing.jsonl", code=2).err, "faina submit TYPE --bulk FILE")
    contains(cli("submit", "a", "--bulk", "--key", "k", code=2).err, "--key is for one task")
    contains(cli("submit", "a", "--bulk", "--wait", code=2).err, "--wait is for one task")
    contains(cli("submit", "a", "b", "--bulk", "c", code=2).err, "one argument too many")
    is_true(not os.path.exists(cli.path("faina.db")))


def test_all_that_match(cli):
    text = lines(*({"type": "ab"[n % 2]} for n in range(2200)))
    cli("submit", "--bulk", stdin=text)
    contains(cli("cancel", "--all", "--type", "a", code=2).err, "Cancel 1,100 tasks?")
    contains(cli("retry", "--all", code=2).err, "Retry 0 tasks?")
    contains(cli("rm", "--all", "--status", "failed", code=2).err, "--yes")
    for line in ("", "\n", "n\n", "yesterday\n", "no\ny\n"):
        contains(cli("cancel", "--all", "--type", "b", stdin=line, code=2).err, "--yes")
    silent = cli.start("cancel", "--all", stdin=subprocess.PIPE) # it stays open
    equal(silent.wait(timeout=PATIENCE), 2)
    contains(silent.stderr.read(), "--yes")
    equal(cli("cancel", "--all", "--type", "a", stdin="y\n").json(), {"cancelled": 1100})
    equal(cli("cancel", "--all", "--type", "a", "--yes").json(), {"cancelled": 0})
    equal(cli("stats").json()["byStatus"]["pending"], 1100)
    equal(cli("retry", "--all", stdin="YES").json(), {"retried": 0})
    equal(cli("retry", "--all", "--status", "cancelled", "--yes").json(), {"retried": 1100})
    equal(cli("cancel", "--all", "--status", "claimed,running", "-y").json(), {"cancelled": 0})
    equal(cli("cancel", "--all", "-y", "--namespace", "elsewhere").json(), {"cancelled": 0})
    equal(cli("cancel", "--all", "-y").json(), {"cancelled": 2200})
    equal(cli("rm", "--all", "--type", "b", "-y", "-o", "table").out, "removed 1,100 tasks\n")
    equal(cli("rm", "--all", "--purge", "-y").json(), {"deleted": 1100})
    equal(cli("stats").json()["total"], 0)


def test_all_of_a_tree(cli):
    """Cancelling a parent cancels its children, which are not refused then."""
    parent = cli.submit("p")
    cli("start", parent, "-w", "w")
    cli("block", parent, '[{"type":"c"},{"type":"c"}]', "-w", "w")
    cli("cancel", "--all", "-y")
    equal(cli("stats").json()["byStatus"]["cancelled"], 3)


run(globals())
