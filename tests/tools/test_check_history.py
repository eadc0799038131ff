#!/usr/bin/env python3
"""tools/check-history finds each planted fault, names its rule, and reports nothing else.

Each fault is planted into clean histories of the model in helper_history.py, with several seeds. A
fault may break further rules by its nature; those are named with it.
"""
import functools
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from checks import ROOT, check, equal, finish  # noqa: E402
from helper_history import LEASE, generate  # noqa: E402

SEEDS = (11, 12, 13)
FAULTS = []
FAR = 1 << 40  # after everything


def fault(rule, also=""):
    def add(function):
        FAULTS.append((function, rule, set(also.split())))
        return function
    return add


class History:
    """The lines of a history, and ways to find some and to add calls."""

    def __init__(self, lines):
        self.lines, self.n = lines, 0

    def all(self, call, result="ok", **fields):
        return [line for line in self.lines if line["call"] == call
                and line.get("result", "ok") == result
                and all(line.get(name) == value for name, value in fields.items())]

    def first(self, call, result="ok", where=None, **fields):
        return next(line for line in self.all(call, result, **fields) if not where or where(line))

    def final(self, task):
        return self.first("final", task=task)

    def of(self, task, *calls):
        return [line for line in self.lines if line.get("task") == task
                and (line["call"] in calls or not calls)]

    def add(self, call, start, result="ok", client=None, **fields):
        """A call of a client of its own."""
        self.n += 1
        line = {"call": call, "client": client or f"planted{self.n}", "n": self.n, "start": start,
                "end": start + 10, "result": result, **fields}
        self.lines.insert(3, line)
        return line

    def remove(self, *lines):
        self.lines = [line for line in self.lines if not any(line is other for other in lines)]

    def completion(self, **fields):
        """A completion of a task that was never retried or cancelled, and claimed once."""
        return self.first("complete", where=lambda line: not self.of(line["task"], "retry", "cancel")
                          and len(self.of(line["task"], "take")) == 1
                          and len(self.of(line["task"], "complete")) == 1
                          and self.final(line["task"]).get("tag") is not None, **fields)

    def take_of(self, line):
        return self.first("take", task=line["task"], fence=line["fence"])

    def forget_events(self, task):
        self.final(task).pop("events")


# R1 ------------------------------------------------------------------------------------------


@fault("R1")
def submitted_task_is_gone(h):
    """The last of a key's submits would leave its tag behind otherwise."""
    line = h.first("submit", key=None)
    h.remove(h.final(line["task"]))


@fault("R1")
def completed_task_is_gone(h):
    h.remove(h.final(h.completion()["task"]))


@fault("R1")
def only_the_claim_remembers(h):
    line = h.completion()
    h.remove(h.final(line["task"]), *h.of(line["task"], "submit", "complete"))


# R2 ------------------------------------------------------------------------------------------


@fault("R2")
def task_out_of_nowhere(h):
    h.lines.append({**h.final(h.completion()["task"]), "task": "stranger", "tag": "stranger",
                    "key": None, "status": "cancelled", "events": None})
    h.add("cancel", FAR, task="stranger")


@fault("R2")
def task_without_a_tag(h):
    h.lines.append({"call": "final", "task": "stranger", "type": "a", "status": "cancelled",
                    "attempts": 0, "fence": 0, "version": 1})
    h.add("cancel", FAR, task="stranger")


@fault("R2")
def task_of_a_schedule_that_is_none(h):
    final = next(line for line in h.all("final") if line.get("schedule"))
    h.lines.append({**final, "task": "stranger", "schedule": "weekly", "status": "cancelled",
                    "events": None})
    h.add("cancel", FAR, task="stranger")


# R3 ------------------------------------------------------------------------------------------


@fault("R3", "R1")
def key_names_another_task(h):
    line = h.first("submit", existing=True)
    line["task"] = "other"


@fault("R3")
def key_creates_twice(h):
    h.first("submit", existing=True)["existing"] = False


@fault("R3", "R11")
def key_is_stored_twice(h):
    line = h.first("submit", existing=True)
    h.lines.append({**h.final(line["task"]), "task": "second", "tag": line["tag"],
                    "status": "cancelled", "events": None})
    h.add("cancel", FAR, task="second")


@fault("R3")
def existing_before_it_was_made(h):
    line = h.first("submit", existing=True, where=lambda line: not [
        other for other in h.all("submit", "unknown") if other.get("key") == line["key"]])
    rest = [other for other in h.all("submit", key=line["key"], type=line["type"])]
    h.remove(*rest)
    h.add("submit", 1, **{name: line[name] for name in ("task", "tag", "type", "key", "existing")},
          priority=0)
    for final in h.all("final", task=line["task"]):
        final["key"], final["tag"] = None, "planted"
    h.add("submit", FAR, "unknown", tag="planted", type=line["type"], priority=0)


# R4 ------------------------------------------------------------------------------------------


@fault("R4", "R6 R8")
def two_workers_at_once(h):
    """The second claim comes in the middle of the first one's lease."""
    line = h.completion()
    take = h.take_of(line)
    final = h.final(line["task"])
    final["fence"] += 1
    final["attempts"] += 1
    final["version"] += 1
    final["events"].insert(2, ["claimed", "thief"])
    # before the completion starts: its lease runs on
    h.add("take", min(line["start"], take["end"] + 5) - 4, task=line["task"], worker="thief", fence=2,
          lease=LEASE)
    moved = h.first("take", worker="thief")
    moved["start"], moved["end"] = take["end"] + 1, take["end"] + 2
    line["start"] = max(line["start"], moved["end"] + 1)
    line["end"] = max(line["end"], line["start"])


@fault("R4")
def lease_ends_for_the_next_but_not_for_the_holder(h):
    """A heartbeat was accepted, yet the task goes to another within the renewed lease."""
    take = h.first("take", where=lambda take: h.all("take", task=take["task"], fence=take["fence"] + 1)
                   and h.all("take", task=take["task"], fence=take["fence"] + 1)[0]["start"] >
                   take["end"] + LEASE and not h.of(take["task"], "cancel", "retry")
                   and not [line for line in h.of(take["task"], "complete", "fail", "release",
                                                  "start", "heartbeat")
                            if line["fence"] == take["fence"]])
    after = h.first("take", task=take["task"], fence=take["fence"] + 1)
    h.add("heartbeat", after["start"] - 100, client="planted", task=take["task"],
          worker=take["worker"], fence=take["fence"], lease=LEASE)


# R5 ------------------------------------------------------------------------------------------


@fault("R5", "R12")
def fence_goes_to_two_workers(h):
    line = h.completion()
    h.add("take", FAR, task=line["task"], worker="twin", fence=line["fence"], lease=LEASE)
    h.lines[3]["start"] = h.lines[3]["end"] = h.take_of(line)["end"]


@fault("R5", "R4 R6 R7 R14 R16 R18")
def fences_go_backwards(h):
    task = h.first("take", fence=2, where=lambda take: h.first(
        "take", task=take["task"], fence=1)["end"] < take["start"])["task"]
    for line in h.of(task):
        if line.get("fence") in (1, 2) and line["call"] not in ("final", "get"):
            line["fence"] = 3 - line["fence"]


@fault("R5")
def stored_fence_is_not_the_number_of_claims(h):
    h.final(h.completion()["task"])["fence"] += 3


@fault("R5", "R16")
def one_fence_handed_out_twice(h):
    take = h.take_of(h.completion())
    h.add("take", take["end"] + 1, client=take["client"], task=take["task"], worker=take["worker"],
          fence=take["fence"], lease=LEASE, types=None)


# R6 ------------------------------------------------------------------------------------------


@fault("R6")
def stale_heartbeat_is_accepted(h):
    take = h.first("take", fence=2)
    first = h.first("take", task=take["task"], fence=1)
    h.add("heartbeat", take["end"] + 1, task=take["task"], worker=first["worker"], fence=1)


@fault("R6")
def fence_of_nobody_is_accepted(h):
    line = h.completion()
    h.add("heartbeat", line["start"], task=line["task"], worker="stranger", fence=line["fence"] + 9)


@fault("R6")
def act_with_the_fence_of_another(h):
    take = h.take_of(h.completion())
    h.add("heartbeat", take["end"], task=take["task"], worker="stranger", fence=take["fence"])


@fault("R6", "R4")
def stale_completion_is_accepted(h):
    """Worker 1 loses its lease, worker 2 has the task, and the outcome of 1 counts."""
    line = h.first("complete", where=lambda line: line["fence"] == 2)
    first = h.first("take", task=line["task"], fence=1)
    line.update(client="late", worker=first["worker"], fence=1)


# R7, R8, R9 ----------------------------------------------------------------------------------


@fault("R7")
def completed_by_two(h):
    line = h.completion()
    h.add("complete", line["start"], task=line["task"], worker=line["worker"], output="second",
          version=line["version"])


@fault("R7", "R13")
def failed_after_it_was_completed(h):
    line = h.completion()
    h.add("fail", FAR, task=line["task"], worker=line["worker"], fence=line["fence"],
          permanent=True, status="completed")


@fault("R7")
def cancelled_while_it_was_completed(h):
    line = h.completion()
    h.add("cancel", line["start"], task=line["task"])["end"] = line["end"]


@fault("R8", "R16 R11 R12 R14")
def claimed_after_its_completion(h):
    line = h.completion()
    h.add("take", line["end"] + 1, task=line["task"], worker="next", fence=2, lease=LEASE)


@fault("R8", "R11 R12 R16")
def claimed_after_its_cancel(h):
    line = h.first("cancel", where=lambda line: not h.of(line["task"], "retry", "complete"))
    final = h.final(line["task"])
    h.add("take", line["end"] + 1, task=line["task"], worker="next", fence=final["fence"] + 1,
          lease=LEASE)


@fault("R8")
def event_after_the_end(h):
    final = h.final(h.completion()["task"])
    final["events"].append(["started", final["events"][-1][1]])


@fault("R9")
def completed_after_its_cancel(h):
    line = h.completion()
    take = h.take_of(line)
    line["start"] = max(line["start"], take["end"] + 10)
    line["end"] = max(line["end"], line["start"])
    h.add("cancel", take["end"] + 1, task=line["task"])["end"] = take["end"] + 2


# R10, R11 ------------------------------------------------------------------------------------


@fault("R10")
def refused_submit_made_a_task(h):
    line = h.first("submit", existing=False, key=None,
                   where=lambda line: h.of(line["task"], "take"))
    task = line["task"]
    line.update(result="refused", code="invalid_task")
    for name in ("task", "version", "existing"):
        line.pop(name)
    check("the task is used", h.of(task))


@fault("R10")
def refused_completion_is_stored(h):
    line = h.completion()
    h.add("complete", FAR, "refused", task=line["task"], worker="w", output="unwanted", fence=77,
          code="wrong_worker")
    h.remove(line)
    h.final(line["task"])["output"] = "unwanted"


@fault("R10", "R12")
def refused_cancel_is_stored(h):
    line = h.first("cancel", where=lambda line: not h.of(line["task"], "retry")
                   and len(h.of(line["task"], "cancel")) == 1)
    line.update(result="refused", code="task_failed")
    line.pop("version")


@fault("R11")
def unknown_submit_made_two(h):
    final = h.final(h.completion()["task"])
    h.lines.append({**final, "task": "second", "key": None, "status": "cancelled", "events": None})
    h.add("cancel", FAR, task="second")


@fault("R11")
def stored_twice(h):
    h.lines.append(dict(h.final(h.completion()["task"])))


@fault("R11", "R15")
def created_twice(h):
    final = h.final(h.completion()["task"])
    final["events"].insert(1, ["created", None])


@fault("R11")
def completed_twice_by_its_events(h):
    final = h.final(h.completion()["task"])
    final["events"].append(["completed", None])


@fault("R11")
def claimed_more_often_than_asked(h):
    final = h.final(h.completion()["task"])
    final["events"][1:1] = [["claimed", "stranger"], ["lease_lost", "stranger"]]
    final["attempts"] += 1
    final["fence"] += 1


@fault("R11", "R15 R8")
def retried_without_a_retry(h):
    final = h.final(h.first("complete", where=lambda line: not h.of(line["task"], "retry"))["task"])
    final["events"].insert(1, ["retried", None])


@fault("R11")
def answered_existing_and_made_one(h):
    line = h.first("submit", existing=True)
    h.lines.append({"call": "final", "task": "second", "tag": line["tag"], "type": line["type"],
                    "status": "cancelled", "attempts": 0, "fence": 0, "version": 2})
    h.add("cancel", FAR, task="second")


# R12 -----------------------------------------------------------------------------------------


@fault("R12", "R15")
def completion_is_lost(h):
    final = h.final(h.completion()["task"])
    final["status"] = "dead_letter"


@fault("R12")
def another_output_is_stored(h):
    h.final(h.completion()["task"])["output"] = "someone else's"


@fault("R12")
def cancel_is_lost(h):
    line = h.first("cancel", where=lambda line: not h.of(line["task"], "retry", "complete", "fail"))
    h.final(line["task"])["status"] = "dead_letter"


@fault("R12", "R5 R15 R16")
def claim_is_lost(h):
    line = h.completion()
    final = h.final(line["task"])
    final["fence"] -= 1
    final["events"] = None


@fault("R12")
def failure_is_lost(h):
    line = h.first("fail", status="failed", where=lambda line: not h.of(line["task"], "retry"))
    h.final(line["task"])["status"] = "dead_letter"


@fault("R12")
def completed_by_itself(h):
    line = h.completion()
    h.remove(line)


@fault("R12")
def content_of_another_task(h):
    """Two tasks have exchanged their inputs."""
    lines = h.all("submit", existing=False, key=None)[:2]
    finals = [h.final(line["task"]) for line in lines]
    finals[0]["tag"], finals[1]["tag"] = finals[1]["tag"], finals[0]["tag"]


@fault("R12")
def removed_task_is_there(h):
    h.add("delete", FAR, task=h.completion()["task"])


# R13, R14 ------------------------------------------------------------------------------------


@fault("R13")
def one_holder_too_many(h):
    h.first("limit")["limit"] = 1


@fault("R14")
def lower_priority_first(h):
    """The task of highest priority was ready long before, and is claimed last."""
    last = max((line for line in h.all("take", fence=1)
                if h.all("submit", task=line["task"], existing=False)
                and not h.of(line["task"], "cancel", "retry", "fail")),
               key=lambda line: line["start"])
    submit = h.first("submit", task=last["task"], existing=False)
    submit["priority"] = 99
    submit.pop("resources", None)
    submit.update(start=1, end=2, client="early", n=0)


@fault("R14")
def lower_priority_first_of_a_lone_claim(h):
    """Without `strict`, only a claim that no other one overlaps proves something."""
    h.first("settings").update(strict=False, locked=0)
    lower_priority_first(h)


@fault("R14")
def claim_with_room_leaves_a_ready_task(h):
    """A claim that came back empty, while a task waited."""
    submit = h.first("submit", existing=False, where=lambda line: not line.get("resources")
                     and h.all("take", task=line["task"], fence=1)
                     and h.all("take", task=line["task"], fence=1)[0]["start"] > line["end"] + 20
                     and not h.of(line["task"], "cancel", "retry"))
    h.add("claim", submit["end"] + 1, worker="idle", types=[submit["type"]], limit=5, count=0,
          lease=LEASE)


# R15, R16 ------------------------------------------------------------------------------------


@fault("R15")
def attempt_is_not_counted(h):
    h.final(h.completion()["task"])["attempts"] -= 1


@fault("R15")
def release_costs_an_attempt(h):
    final = next(line for line in h.all("final") if ["released"] in
                 [event[:1] for event in line.get("events") or ()] and line["tag"] is not None
                 and "retried" not in [event[0] for event in line["events"]])
    final["attempts"] += 1


@fault("R16")
def older_version_is_read(h):
    line = h.completion()
    h.add("get", line["end"] + 1, task=line["task"], version=line["version"] - 1)


@fault("R16")
def newest_version_is_not_stored(h):
    h.final(h.completion()["task"])["version"] -= 1


@fault("R16")
def two_changes_make_one_version(h):
    line = h.completion()
    take = h.take_of(line)
    for other in h.of(line["task"], "start", "heartbeat", "get", "submit"):
        other.pop("version", None)
    line["version"] = take["version"]
    h.final(line["task"])["version"] = take["version"]


# R17 to R20 ----------------------------------------------------------------------------------


@fault("R17", "R1")
def time_is_missed(h):
    h.remove(*h.of("nightly-200"))


@fault("R17")
def time_fires_twice(h):
    h.lines.append({**h.final("nightly-200"), "task": "again", "status": "cancelled", "events": None})
    h.add("cancel", FAR, task="again")


@fault("R17")
def fires_when_it_should_not(h):
    h.lines.append({**h.final("nightly-200"), "task": "again", "at": 250, "status": "cancelled",
                    "events": None})
    h.add("cancel", FAR, task="again")


@fault("R18")
def refused_while_its_lease_runs(h):
    take = h.take_of(h.completion())
    h.add("heartbeat", take["end"], "refused", code="task_not_claimed", task=take["task"],
          worker=take["worker"], fence=take["fence"])["end"] = take["end"]


@fault("R19", "R12")
def task_stays_behind(h):
    final = h.final(h.completion()["task"])
    final["status"] = "pending"


@fault("R20")
def client_makes_two_calls_at_once(h):
    line = h.completion()
    other = h.first("get", where=lambda get: get["client"] == line["client"])
    index = next(i for i, row in enumerate(h.lines) if row is other)
    h.lines.insert(index + 1, {**other, "n": other["n"] + 10000, "start": other["end"] - 1,
                               "end": other["end"]})


@fault("R20")
def call_ends_before_it_starts(h):
    line = h.first("get")
    line["end"] = line["start"] - 1


@fault("R20", "R1")
def history_without_an_end(h):
    h.remove(*h.all("final"))
    h.lines = [line for line in h.lines if line["call"] != "schedule"]


# ---------------------------------------------------------------------------------------------


def load(path):
    loader = importlib.machinery.SourceFileLoader("check_history", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("check_history", loader))
    loader.exec_module(module)
    return module


CHECKER = load(f"{ROOT}/tools/check-history")


def written(lines):
    file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
    for line in lines:
        file.write(line if isinstance(line, str) else json.dumps(line))
        file.write("\n")
    file.flush()
    return file


def violations(lines, spill=1 << 26):
    with written(lines) as file:
        report, _ = CHECKER.check([file.name], spill)
    return {f"R{rule}": count for rule, count in report.counts.items()}


def check_program():
    """Its exit codes, and what it prints for people."""
    history = History(generate(4))
    with written(history.lines) as file:
        done = subprocess.run([f"{ROOT}/tools/check-history", file.name], capture_output=True,
                              text=True, check=False)
        equal("clean: exit code", done.returncode, 0)
        equal("clean: last line", done.stdout.splitlines()[-1], "clean")
    line = history.completion()
    history.final(line["task"])["output"] = "other"
    with written(history.lines) as file:
        done = subprocess.run([f"{ROOT}/tools/check-history", file.name], capture_output=True,
                              text=True, check=False)
        equal("violation: exit code", done.returncode, 1)
        check("the rule is named", "R12 final-state: 1" in done.stdout, done.stdout)
        place = history.lines.index(line) + 1
        check("the proof is shown", f"{file.name}:{place}: " in done.stdout, done.stdout)


@functools.lru_cache
def clean(seed):
    return json.dumps(generate(seed))


def check_fault(function, rule, also, seed):
    history = History(json.loads(clean(seed)))
    try:
        function(history)
    except StopIteration:
        return False
    found = set(violations(history.lines))
    check(f"{function.__name__} ({seed}): {rule} is found", rule in found, f"  found {found}")
    check(f"{function.__name__} ({seed}): nothing else", found <= also | {rule},
          f"  found {found}")
    return True


def main():
    for seed in range(100, 110):
        equal(f"clean ({seed})", violations(generate(seed)), {})
    equal("clean, many clients", violations(generate(1, calls=4000, clients=20)), {})
    equal("clean, in parts", violations(generate(2, calls=4000), 1 << 16), {})
    equal("not JSON", violations(generate(3) + ["{"]), {"R20": 1})
    equal("no call", violations(generate(3) + [{"task": "x"}]), {"R20": 1})
    check_program()
    history = History(generate(5))
    take = history.first("take", where=lambda take: history.all("take", task=take["task"], fence=2)
                         and history.all("take", task=take["task"], fence=2)[0]["start"] >
                         take["end"] + LEASE)
    history.add("take", take["end"] + LEASE // 2, client="again", task=take["task"], lease=LEASE,
                worker=take["worker"], fence=take["fence"], again=True)
    equal("a claim of what the worker holds renews nothing", violations(history.lines), {})
    history = History(generate(5))
    history.first("settings")["strict"] = False
    equal("clean, not strict", violations(history.lines), {})
    lower_priority_first(history)
    for line in history.all("claim"):
        history.add("claim", line["start"], worker="busy", types=["other"], limit=1, count=0)
    equal("every claim is overlapped", violations(history.lines), {})
    for function, rule, also in FAULTS:
        planted = [check_fault(function, rule, also, seed) for seed in SEEDS]
        check(f"{function.__name__}: it can be planted", any(planted))
    rules = {rule for _, rule, _ in FAULTS}
    equal("every rule has a fault", rules, {f"R{number}" for number in range(1, 21)})
    check("at least 30 faults", len(FAULTS) >= 30, len(FAULTS))
    print(f"{len(FAULTS)} faults, each in up to {len(SEEDS)} histories")
    finish()


if __name__ == "__main__":
    main()
