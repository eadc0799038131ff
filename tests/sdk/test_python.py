#!/usr/bin/env python3
"""Plays sdk/scenarios/*.json with the Python library against a server of its own."""
import glob
import json
import os
import sys
import threading
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "sdk/python"))

import faina  # noqa: E402
import faina.testing  # noqa: E402
from faina.client import SUBMIT  # noqa: E402

OPTIONS = {field: name for name, (field, _) in SUBMIT.items()}
PATIENCE = 60


class Play:
    """One scenario."""

    def __init__(self, scenario, server):
        self.scenario, self.server, self.client = scenario, server, server.client
        self.names, self.begun, self.running, self.most, self.why = {}, {}, {}, {}, {}
        self.lock = threading.Lock()
        self.worker = None

    def new_worker(self):
        options = {"concurrency": 4, "lease": 30, "drain": 5, **self.scenario.get("worker", {})}
        worker = faina.Worker(self.client, **options)
        for type, handler in self.scenario["handlers"].items():
            worker.task(type)(self.handler(type, handler))
        return worker

    def handler(self, type, what):
        def run(value, context):
            with self.lock:
                self.begun[type] = self.begun.get(type, 0) + 1
                self.running[type] = self.running.get(type, 0) + 1
                self.most[type] = max(self.most.get(type, 0), self.running[type])
            try:
                return getattr(self, "do_" + what["do"])(what, value, context)
            finally:
                with self.lock:
                    self.running[type] -= 1
                if context.why is not None:
                    self.why[type] = context.why
        return run

    def do_echo(self, _what, value, _context):
        return value

    def do_fail(self, what, value, context):
        if context.attempt == what.get("until"):
            return value
        raise faina.Retry(what["message"], after=what.get("after"), kind=what.get("kind"))

    def do_permanent(self, what, _value, _context):
        raise faina.Permanent(what["message"])

    def do_snooze(self, what, value, context):
        return value if self.begun[context.type] > 1 else faina.Snooze(what["for"])

    def do_progress(self, what, _value, context):
        context.progress(what["percent"], what["state"], what["metadata"])
        context.wait_cancelled(PATIENCE)

    def do_hang(self, what, value, context):
        if self.begun[context.type] > what.get("attempts", PATIENCE):
            return value
        context.wait_cancelled(PATIENCE)
        return None

    def do_sleep(self, what, value, _context):
        time.sleep(what["seconds"])
        return value

    def do_subtasks(self, what, _value, context):
        if context.phase == "resume":
            return [task.output for task in context.subtasks]
        return faina.Subtasks(what["tasks"])

    def do_size(self, what, _value, _context):
        return "x" * what["bytes"]

    def do_trace(self, _what, _value, context):
        return context.raw.get("traceparent", "")

    def do_background(self, _what, _value, _context):
        return faina.Background("elsewhere", "1h")

    # ------------------------------------------------------------------------------------------

    def id(self, text):
        return self.names[text[1:]] if isinstance(text, str) and text.startswith("$") else text

    def fits(self, got, expected):
        if isinstance(expected, dict):
            return isinstance(got, dict) and all(self.fits(got.get(name), value) for name, value in expected.items())
        if isinstance(expected, list):
            return isinstance(got, list) and len(got) == len(expected) and all(map(self.fits, got, expected))
        return got == self.id(expected)

    def options(self, body):
        return {OPTIONS.get(name, name): value for name, value in body.items()}

    def call(self, step):
        if "submit" in step:
            return self.client.submit(**self.options(step["submit"])).raw
        if "submitMany" in step:
            return [item.raw for item in self.client.submit_many([self.options(body) for body in step["submitMany"]])]
        if "get" in step:
            return self.client.get(self.id(step["get"])).raw
        if "cancel" in step:
            return self.client.cancel(self.id(step["cancel"])).raw
        if "retry" in step:
            return self.client.retry(self.id(step["retry"])).raw
        if "wait" in step:
            return self.client.wait(self.id(step["wait"]), timeout=PATIENCE).raw
        if "list" in step:
            return sorted(task.id for task in self.client.list(**self.options(step["list"])))
        return self.call_rarer(step)

    def call_rarer(self, step):
        client = self.client
        (what, value), = ((name, value) for name, value in step.items() if name not in ("as", "expect", "error"))
        if what == "update":
            return client.update(self.id(value["id"]), **{name: part for name, part in value.items() if name != "id"}).raw
        if what == "schedule":
            return client.schedules.set(**{{"catchUp": "catch_up"}.get(name, name): part for name, part in value.items()})
        acts = {
            "result": lambda: client.result(self.id(value)),
            "lastEvent": lambda: client.events(self.id(value))[0],
            "explain": lambda: client.explain(self.id(value)),
            "children": lambda: [task.raw for task in client.children(self.id(value))],
            "countMatches": lambda: client.cancel_all(dry_run=True, **value),
            "cancelAll": lambda: client.wait_operation(client.cancel_all(**value).id, timeout=PATIENCE).raw,
            "operations": lambda: [operation.raw for operation in client.operations()],
            "delete": lambda: client.delete(self.id(value)),
            "schedules": client.schedules.list,
            "runSchedule": lambda: client.schedules.run(value).raw,
            "removeSchedule": lambda: client.schedules.remove(value),
            "emit": lambda: client.emit(**value),
        }
        return acts[what]()

    def until(self, read, fact, what):
        end = time.monotonic() + PATIENCE
        while not fact(got := read()):
            assert time.monotonic() < end, f"{what}: got {got!r}"
            time.sleep(0.01)

    def step(self, step):
        expected = step.get("expect")
        if "start" in step:
            self.worker = self.new_worker().start()
        elif "stop" in step:
            self.worker.stop()
        elif "restart" in step:
            getattr(self.server, step["restart"])()
            self.server.start()
        elif "server" in step:
            getattr(self.server, step["server"])()
        elif "until" in step:
            self.until(lambda: self.client.get(self.id(step["until"])).raw, lambda got: self.fits(got, expected), step)
        elif "count" in step:
            assert self.begun.get(step["count"]["type"], 0) == expected, self.begun
        elif "max" in step:
            assert self.most.get(step["max"]["type"], 0) == expected, self.most
        elif "seen" in step:
            self.until(lambda: self.why.get(step["seen"]["type"]), lambda got: got == expected, step)
        elif "error" in step:
            try:
                got = self.call(step)
            except faina.FainaError as error:
                assert error.code == step["error"], f"{step}: {error.code} {error}"
            else:
                raise AssertionError(f"{step} succeeded: {got!r}")
        else:
            got = self.call(step)
            if "as" in step:
                self.names[step["as"]] = got["id"]
            if "list" in step:
                expected = sorted(self.id(name) for name in expected)
            if expected is not None:
                assert self.fits(got, expected), f"{step}: got {json.dumps(got)[:2000]}"

    def play(self):
        try:
            for step in self.scenario["steps"]:
                self.step(step)
        finally:
            if self.worker is not None:
                self.worker.stop(drain=0.2)


def main():
    passed, failed = 0, 0
    for path in sorted(glob.glob(os.path.join(ROOT, "sdk/scenarios/*.json"))):
        if len(sys.argv) > 1 and not any(part in path for part in sys.argv[1:]):
            continue
        with open(path, encoding="utf-8") as file:
            scenario = json.load(file)
        begin = time.monotonic()
        with faina.testing.Server("sqlite:faina.db" if scenario.get("store") == "file" else "memory:") as server:
            try:
                Play(scenario, server).play()
                passed += 1
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED {os.path.basename(path)}: {scenario['name']}\n  {type(error).__name__}: {error}")
        print(f"{os.path.basename(path)} {time.monotonic() - begin:.1f} s", file=sys.stderr)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
