"""Handlers in "mode":"lines": one Python process serves many tasks. Copy this file beside them.

    import faina_lines
    faina_lines.run(lambda task: {"sum": sum(task["input"])})

The function gets the task and returns the output. An exception fails the attempt. print() logs.
"""
import json
import queue
import sys
import threading
import traceback

_out, _lock, sys.stdout = sys.stdout, threading.Lock(), sys.stderr  # stdout is for JSON only
_ENDS = {"output", "error", "snooze", "subtasks", "background"}


class Failed(Exception):
    """Failed("no such host", retryable=False, kind="dns")"""
    def __init__(self, message, **members):
        super().__init__(message)
        self.error = {"message": message, **members}

class Task(dict):  # id, type, namespace, attempt, phase, fence, input, subtasks
    def send(self, **members):
        """task.send(progress=40, state="decoding"); also metadata, log, and as its end snooze="10m",
        subtasks=[...] or background={...}."""
        self.has_ended |= bool(members.keys() & _ENDS)
        with _lock:
            _out.write(json.dumps({"id": self["id"], **members}) + "\n")
            _out.flush()


def _work(tasks, held, handle):
    while (task := tasks.get()) is not None:
        try:
            output = handle(task)
            if not task.has_ended:
                task.send(output=output)
        except Failed as failure:
            task.send(error=failure.error)
        except Exception as why:  # pylint: disable=broad-except
            error = {"message": str(why), "kind": type(why).__name__}
            task.send(log=traceback.format_exc(), error=error)
        held.pop(task["id"], None)


def run(handle, threads=1):
    """Serves tasks until stdin ends. `threads`: as many as `concurrency` in TYPE.json."""
    tasks, held = queue.SimpleQueue(), {}
    for _ in range(threads):
        threading.Thread(target=_work, args=(tasks, held, handle), daemon=True).start()
    for line in sys.stdin:
        task = Task(json.loads(line))
        if not task.get("cancel"):
            task.cancelled, task.has_ended = threading.Event(), False
            held[task["id"]] = task
            tasks.put(task)
        elif task["id"] in held:
            held[task["id"]].cancelled.set()
