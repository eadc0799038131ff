"""A worker: claims tasks, runs handlers, and reports how they end.

Threads of a running worker:

  claim      claims ahead of need, at most `concurrency` tasks more than run
  heartbeat  renews the leases of all held tasks in one request, and learns which are lost
  sender     reports starts, progress and outcomes: all that have accumulated, in one request
  log        sends log lines
  loop       runs the handlers that are coroutines (asyncio)
  N threads  run the other handlers

An attempt ends once, in Worker._end, whatever comes first: its handler, a lost lease, the end of a drain.
"""
import asyncio
import collections
import dataclasses
import inspect
import json
import logging
import os
import queue
import random
import secrets
import signal
import socket
import threading
import time
import traceback
import typing

from . import tracing
from .client import Client, spec
from .errors import FainaError, Permanent, Retry, Unavailable
from .task import Task, as_duration, as_either

log = logging.getLogger("faina")

HEARTBEAT_MAX = 5.0  # seconds between heartbeats at most: how soon a cancellation arrives
HEARTBEAT_AGAIN = 1.0  # seconds until the next one after a failure
LEASE_SAFE = 0.9  # the part of a lease after which a handler is stopped if the lease could not be renewed
UNREGISTER_MAX = 5.0  # seconds that the last request of stop() may take
# The engine's words for an act that comes too late.
LATE = ("wrong_worker", "task_not_claimed", "task_not_found", "task_completed", "task_failed", "task_already_claimed",
        "invalid_transition")


@dataclasses.dataclass
class Snooze:
    """Returned by a handler: run the task again after this (seconds, "10m", a timedelta). No attempt is counted."""
    duration: typing.Any


@dataclasses.dataclass
class Subtasks:
    """Returned by a handler: wait for these tasks (dicts as for submit_many()). When all have ended the
    handler runs again; `context.phase` is then `resume`, and `context.subtasks` are these tasks."""
    tasks: list
    fail_fast: bool = False


@dataclasses.dataclass
class Background:
    """Returned by a handler: the work continues elsewhere. No worker holds the task any more; it ends by a call
    of `:complete` or `:fail`, or fails after `timeout`."""
    reason: str = ""
    timeout: typing.Any = "1h"


class Context(Task):
    """The task of an attempt, for its handler."""

    def __init__(self, raw, worker, handler):
        super().__init__(raw)
        self._worker, self._handler = worker, handler
        self._cancelled = threading.Event()
        self._subtasks = None
        self._future = None
        self.why = None  # why the attempt is to stop: "cancelled", "lost" or "stopped"

    @property
    def fence(self):
        """Grows with each claim of the task. Pass it on to systems that must refuse an attempt that has lost its lease."""
        return self.raw["fence"]

    @property
    def attempt(self):
        return self.raw["attempts"]

    @property
    def is_cancelled(self):
        """True when the work is not wanted any more: stop soon. What the handler returns is ignored."""
        return self._cancelled.is_set()

    def wait_cancelled(self, seconds):
        """Sleeps; true as soon as the work is not wanted any more."""
        return self._cancelled.wait(seconds)

    @property
    def subtasks(self):
        """The subtasks, in the phases `resume` and `error`."""
        if self._subtasks is None:
            self._subtasks = self._worker.client.children(self.id)
        return self._subtasks

    def progress(self, percent=None, state=None, metadata=None):
        """Reports progress; returns at once. `metadata` is merged into that of the task."""
        body = {name: value for name, value in (("progress", percent), ("state", state), ("metadata", metadata))
                if value is not None}
        self._worker._act(self, "progress", body)

    def log(self, line):
        """Adds a line to the log of the attempt."""
        self._worker._log(self, str(line))


class Handler:
    def __init__(self, type, function, on_error):
        self.type, self.function, self.on_error = type, function, on_error
        self.is_async = inspect.iscoroutinefunction(function)
        names = [name for name, parameter in inspect.signature(function).parameters.items()
                 if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
        if not 1 <= len(names) <= 2:
            raise TypeError(f"the handler of {type!r} takes the input, and optionally the context, as its arguments")
        self.takes_context = len(names) == 2
        hint = typing.get_type_hints(function).get(names[0])
        self.model = hint if dataclasses.is_dataclass(hint) else None

    def arguments(self, context):
        value = context.raw["input"]
        if self.model is not None:
            if not isinstance(value, dict):
                raise Permanent(f"the input must be an object, as {self.model.__name__} describes it", "invalid_input")
            known = {field.name for field in dataclasses.fields(self.model)}
            try:
                value = self.model(**{name: part for name, part in value.items() if name in known})
            except TypeError as error:
                raise Permanent(f"the input is no {self.model.__name__}: {error}", "invalid_input") from error
        return (value, context) if self.takes_context else (value,)


class Worker:
    """Runs handlers for the tasks of a server.

    concurrency   how many tasks run at once
    name          of the worker; by default host, process and a random number
    lease         seconds for which a claim holds a task; it is renewed every third of that
    drain         seconds that running tasks may take to finish after a stop
    prefetch      how many tasks are claimed ahead; by default as many as run at once, at most 100
    """

    def __init__(self, client=None, concurrency=10, name=None, lease=30.0, drain=25.0, prefetch=None, namespaces=None,
                 services=None):
        self.client = client or Client()
        self.concurrency, self.lease, self.drain = concurrency, float(lease), float(drain)
        self.prefetch = min(concurrency, 100) if prefetch is None else prefetch
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.namespaces, self.services = namespaces, services
        self._handlers = {}
        self._lock = threading.Condition()
        self._held = {}  # (id, fence) -> Context, from the claim to the end of the attempt
        self._running = set()  # those whose handler has begun
        self._acts = collections.deque()
        self._logs = collections.deque()
        self._sending = 0
        self._ready = queue.SimpleQueue()  # for threads that run handlers
        self._threads = []
        self._runners = 0
        self._spare = 0  # waiting runners, less the attempts in _ready; negative: attempts wait for a runner
        self._loop = None
        self._slots = None
        self._is_stopping = self._is_stopped = False
        # For requests that the caller repeats itself, or not at all.
        self._single_client = Client(self.client.url, self.client._token, self.client.namespace, self.client.timeout,
                                     retries=0, ssl_context=self.client._ssl)
        self._claim_connection = None

    # ---------------------------------------------------------------- for the program

    def task(self, type, on_error=None):
        """Registers a handler: `@worker.task("mail.send")`. The function gets the input and, if it takes a second
        argument, the Context; a dataclass as the hint of the first argument is made from the input. It may be
        a coroutine. What it returns is the output. `on_error` runs when a subtask has not completed; without it
        the task fails."""
        def register(function):
            if type.lower() in self._handlers:
                raise ValueError(f"{type!r} has a handler already")
            self._handlers[type.lower()] = Handler(type, function, on_error and Handler(type, on_error, None))
            return function
        return register

    def run(self):
        """Works until stop(), SIGTERM or Ctrl-C, and then drains. Call it in the main thread."""
        is_main = threading.current_thread() is threading.main_thread()
        old = {}
        if is_main:
            for number in (signal.SIGTERM, signal.SIGINT):
                old[number] = signal.signal(number, lambda *_: self.request_stop())
        try:
            self.start()
            with self._lock:
                while not self._is_stopping:
                    self._lock.wait(0.5)
            self.stop()
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def start(self):
        """Begins to work in threads of its own."""
        if not self._handlers:
            raise ValueError("the worker has no handlers: register them with @worker.task(TYPE)")
        if any(handler.is_async or handler.on_error and handler.on_error.is_async
               for handler in self._handlers.values()):
            self._loop = asyncio.new_event_loop()
            self._slots = asyncio.Semaphore(self.concurrency)
            self._thread("loop", self._run_loop)
        for target in (self._heartbeats, self._claim, self._send, self._send_logs):
            self._thread(target.__name__.strip("_"), target)
        return self

    def request_stop(self):
        """Begins to stop; returns at once. For signal handlers."""
        self._is_stopping = True

    def stop(self, drain=None):
        """Claims nothing more, returns tasks that have not started, waits up to `drain` seconds for running ones,
        and stops the rest. The attempts of these are not counted."""
        end = time.monotonic() + (self.drain if drain is None else drain)
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopping = True
            self._lock.notify_all()
            connection = self._claim_connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)  # ends the long poll
            except OSError:
                pass
        with self._lock:
            for context in [context for key, context in self._held.items() if key not in self._running]:
                self._end(context, "release", {})
            while self._held and time.monotonic() < end:
                self._lock.wait(max(0.01, min(0.2, end - time.monotonic())))
            for context in list(self._held.values()):
                self._end(context, "snooze", {"for": "0s"})
                self._stop_handler(context, "stopped")
            while self._acts or self._sending:
                self._lock.wait(0.05)
                if time.monotonic() > end + 5:
                    break
            self._is_stopped = True
            self._lock.notify_all()
        for _ in range(self._runners):
            self._ready.put(None)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        try:
            self._single_client.request("DELETE", f"/workers/{self.name}", timeout=UNREGISTER_MAX)
        except FainaError as error:
            log.debug("could not unregister: %s", error)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def run_inline(self, type, input=None, **members):
        """Runs the handler of `type` once, in this thread and without a server, and returns what it returns.
        For tests: `members` are those of the task (`attempts=2`)."""
        handler = self._handlers[type.lower()]
        raw = {"id": "00000000-0000-7000-8000-000000000000", "type": type, "namespace": "default", "input": input,
               "attempts": 1, "fence": 1, "phase": "start", "metadata": {}, "status": "running", **members}
        context = Context(raw, Silent(self.client), handler)
        made = handler.function(*handler.arguments(context))
        return asyncio.run(made) if inspect.isawaitable(made) else made

    # ---------------------------------------------------------------- claims

    def _thread(self, name, target):
        thread = threading.Thread(target=target, name=f"faina-{name}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _claim(self):
        types = [handler.type for handler in self._handlers.values()]
        failures = 0
        while True:
            with self._lock:
                while not self._is_stopping and self._room() <= 0:
                    self._lock.wait(0.5)
                if self._is_stopping:
                    return
                room = self._room()
            body = {"workerId": self.name, "types": types, "limit": min(room, 1000), "leaseSeconds": self.lease,
                    "waitSeconds": 20}
            if self.namespaces:
                body["namespaces"] = self.namespaces
            if self.services is not None:
                body["services"] = self.services
            try:
                self._claim_connection = self._single_client._connection(self.client.timeout)
                answer = self._single_client.request("POST", "/claims", body, timeout=self.client.timeout + 20)
                failures = 0
            except FainaError as error:
                if self._is_stopping:
                    return
                failures += 1
                if failures in (1, 10) or failures % 100 == 0:
                    log.warning("can't claim tasks: %s", error)
                time.sleep(error.retry_after or min(10.0, 0.1 * 2 ** min(failures, 7)) * (0.5 + random.random() / 2))
                continue
            for raw in answer["tasks"]:
                self._accept(raw)

    def _room(self):
        return self.concurrency + self.prefetch - len(self._held)

    def _accept(self, raw):
        handler = self._handlers.get(raw["type"].lower())
        context = Context(raw, self, handler)
        context.renewed = time.monotonic()
        with self._lock:
            self._held[context.id, context.fence] = context
            if self._is_stopping or handler is None:
                self._end(context, "release", {})
                return
            if not handler.is_async:
                if self._spare <= 0 and self._runners < self.concurrency:
                    self._runners += 1
                    self._thread(f"run-{self._runners}", self._run_threaded)
                else:
                    self._spare -= 1
        if handler.is_async:
            self._loop.call_soon_threadsafe(self._start_async, context)
        else:
            self._ready.put(context)

    # ---------------------------------------------------------------- attempts

    def _begin(self, context):
        """False: the attempt has ended before it began."""
        key = context.id, context.fence
        with self._lock:
            if self._held.get(key) is not context:
                return False
            self._running.add(key)
            self._act(context, "start", {"leaseSeconds": self.lease})
            return True

    def _choose(self, context):
        handler = context._handler
        if context.raw.get("phase") == "error":
            if handler.on_error is None:
                bad = [f"{task.type} {task.id} is {task.status}" for task in context.subtasks
                       if task.status != "completed"]
                raise Permanent("a subtask has not completed: " + ", ".join(bad[:5]), "subtask_failed")
            return handler.on_error
        return handler

    def _run_threaded(self):
        while True:
            context = self._ready.get()
            if context is None:
                return
            if self._begin(context):
                self._run_once(context)
            with self._lock:
                self._spare += 1

    def _run_once(self, context):
        try:
            with tracing.attempt(context.raw):
                chosen = self._choose(context)
                returned = chosen.function(*chosen.arguments(context))
        except BaseException as error:  # whatever a handler raises is the outcome of its attempt
            self._failed(context, error)
        else:
            self._returned(context, returned)

    def _run_loop(self):
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    def _start_async(self, context):
        context._future = self._loop.create_task(self._run_async(context))

    async def _run_async(self, context):
        try:
            async with self._slots:
                if not self._begin(context):
                    return
                with tracing.attempt(context.raw):
                    chosen = await self._loop.run_in_executor(None, self._choose, context) \
                        if context.raw.get("phase") == "error" else self._choose(context)
                    returned = chosen.function(*chosen.arguments(context))
                    if inspect.isawaitable(returned):
                        returned = await returned
        except BaseException as error:
            self._failed(context, error)
        else:
            self._returned(context, returned)

    def _returned(self, context, value):
        if context.is_cancelled:  # what it returned may be half of the work
            self._end(context, None, {})
        elif isinstance(value, Snooze):
            self._end(context, "snooze", {"for": as_duration(value.duration)})
        elif isinstance(value, Background):
            self._end(context, "background", {"reason": value.reason, "timeout": as_duration(value.timeout)})
        elif isinstance(value, Subtasks):
            self._end(context, "block", {"failFast": value.fail_fast, "subtasks": [tracing.continued(spec(**task), context.raw)
                                                                                             for task in value.tasks]})
        else:
            try:
                json.dumps(value)
            except (TypeError, ValueError) as error:
                self._failed(context, Permanent(f"the handler returned what is no JSON: {error}", "invalid_output"))
                return
            self._end(context, "complete", {} if value is None else {"output": value})

    def _failed(self, context, error):
        if context.is_cancelled:
            self._end(context, None, {})
            return
        body = {"message": str(error) or type(error).__name__, "kind": getattr(error, "kind", None)
                or type(error).__name__}
        if isinstance(error, (Retry, Permanent)):
            if error.kind is None:
                del body["kind"]
            if error.detail is not None:
                body["detail"] = error.detail
            if getattr(error, "after", None) is not None:
                body["retryAfter"] = as_either(error.after)
        else:
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            body["detail"] = {"traceback": text[-8000:]}
        if isinstance(error, Permanent):
            body["retryable"] = False
        self._end(context, "fail", {"error": body})

    def _end(self, context, act, body):
        """Ends the attempt, unless it has ended. act NULL: nothing is reported."""
        key = context.id, context.fence
        with self._lock:
            self._running.discard(key)
            if self._held.pop(key, None) is None:
                return
            if act is not None:
                self._act(context, act, body)
            self._lock.notify_all()

    def _stop_handler(self, context, why):
        if context.why is None:
            context.why = why
        context._cancelled.set()
        if context._future is not None:
            self._loop.call_soon_threadsafe(context._future.cancel)

    # ---------------------------------------------------------------- reports

    def _act(self, context, act, body):
        with self._lock:
            item = {"id": context.id, "act": act, "body": {"workerId": self.name, "fence": context.fence, **body}}
            self._acts.append((context, item))
            self._lock.notify_all()

    def _send(self):
        while True:
            with self._lock:
                while not self._acts and not self._is_stopped:
                    self._lock.wait(0.5)
                if not self._acts:
                    return
                batch = [self._acts.popleft() for _ in range(min(500, len(self._acts)))]
                self._sending = len(batch)
            ended = {id(context) for context, item in batch if item["act"] in ("complete", "fail")}
            # A start or heartbeat whose outcome is in the same request has no reader.
            batch = [(context, item) for context, item in batch
                     if item["act"] != "start" or id(context) not in ended]
            self._send_batch(batch)
            with self._lock:
                self._sending = 0
                self._lock.notify_all()

    def _send_batch(self, batch):
        """Sends until the server has answered. All acts may be repeated: their fences make them harmless."""
        failures = 0
        while batch:
            try:
                if len(batch) == 1:
                    self._send_one(*batch[0])
                    return
                items = self.client.request("POST", "/acts", {"items": [item for _, item in batch]}, repeat=True)["items"]
                # An item that was refused for another reason than lateness is sent again by itself.
                for pair, answer in zip(batch, items):
                    if answer.get("code") in LATE:
                        self._refused(*pair, answer["code"], answer.get("detail"))
                    elif "code" in answer:
                        self._send_batch([pair])
                return
            except FainaError as error:
                if len(batch) == 1 and error.code in LATE:
                    self._refused(*batch[0], error.code, str(error))
                    return
                if not isinstance(error, Unavailable) and error.status not in (429, 503):
                    if len(batch) > 1:  # one act may be what the server refuses
                        for pair in batch:
                            self._send_batch([pair])
                        return
                    context, item = batch[0]
                    log.error("task %s: %s was refused: %s", item["id"], item["act"], error)
                    if item["act"] not in ("fail", "start", "progress"):
                        self._send_batch([(context, self._as_failure(item, error))])
                    return
                failures += 1
                if failures in (1, 10) or failures % 100 == 0:
                    log.warning("can't report outcomes: %s", error)
                with self._lock:
                    if self._is_stopped:
                        return
                time.sleep(min(5.0, 0.1 * 2 ** min(failures, 6)))

    def _as_failure(self, item, error):
        body = {name: item["body"][name] for name in ("workerId", "fence")}
        return {"id": item["id"], "act": "fail", "body": {**body, "error": {
            "message": f"{item['act']} was refused: {error}", "kind": error.code or "refused", "retryable": False}}}

    def _send_one(self, _, item):
        self.client.request("POST", f"/tasks/{item['id']}:{item['act']}", item["body"], repeat=True)

    def _refused(self, context, item, code, detail):
        """The engine doesn't accept an act of this attempt: the lease was lost, or the task was cancelled."""
        if item["act"] in ("start", "progress"):
            with self._lock:
                is_held = (context.id, context.fence) in self._held
            if is_held and code in LATE:
                self._lose(context, "lost")
        elif item["act"] != "release":
            log.warning("task %s: the %s of attempt %s came too late: %s", context.id, item["act"], context.attempt,
                        detail or code)

    def _lose(self, context, why):
        log.info("task %s was %s", context.id, why)
        self._stop_handler(context, why)
        if context._future is None and (context.id, context.fence) not in self._running:
            self._end(context, None, {})

    # ---------------------------------------------------------------- leases

    def _heartbeats(self):
        body = {"hostname": socket.gethostname(), "poolSize": self.concurrency,
                "types": [handler.type for handler in self._handlers.values()], "leaseSeconds": self.lease}
        if self.services is not None:
            body["services"] = self.services
        while True:
            begin = time.monotonic()
            pause = min(self.lease / 3, HEARTBEAT_MAX)
            with self._lock:
                if self._is_stopped:
                    return
                held = [context for context in self._held.values() if context.why is None]
            tasks = [{"id": context.id, "fence": context.fence} for context in held]
            # A server that doesn't answer must not delay the end of handlers whose lease ends.
            timeout = min(self.client.timeout, self.lease / 3, max(0.1, self._lease_left(held)))
            try:
                answer = self._single_client.request("PUT", f"/workers/{self.name}", {**body, "tasks": tasks},
                                                     timeout=timeout)
            except FainaError as error:
                log.warning("can't renew leases: %s", error)
                for context in held:
                    if self._lease_left([context]) <= 0:
                        self._lose(context, "lost")
                left = self._lease_left([context for context in held if context.why is None])
                pause = time.monotonic() - begin + min(pause, HEARTBEAT_AGAIN, left)
            else:
                losses = {(loss["id"], loss["fence"]): loss["why"] for loss in answer["losses"]}
                for context in held:
                    context.renewed = begin
                    why = losses.get((context.id, context.fence))
                    if why is not None and (context.id, context.fence) in self._held:
                        self._lose(context, why)
            with self._lock:
                end = begin + pause
                while not self._is_stopped and time.monotonic() < end:
                    self._lock.wait(max(0.01, min(1.0, end - time.monotonic())))

    def _lease_left(self, contexts):
        """Seconds until the first of their leases is no longer safe."""
        return min((context.renewed + self.lease * LEASE_SAFE - time.monotonic() for context in contexts),
                   default=self.lease)

    # ---------------------------------------------------------------- logs

    def _log(self, context, line):
        with self._lock:
            self._logs.append((context, line))
            self._lock.notify_all()

    def _send_logs(self):
        while True:
            with self._lock:
                while not self._logs and not self._is_stopped:
                    self._lock.wait(0.5)
                if not self._logs:
                    return
                lines = collections.OrderedDict()
                while self._logs:
                    context, line = self._logs.popleft()
                    lines.setdefault(context.fence, (context, []))[1].append(line)
            for context, texts in lines.values():
                try:
                    self.client.request("POST", f"/tasks/{context.id}/log", {
                        "workerId": self.name, "fence": context.fence, "lines": texts}, repeat=False)
                except FainaError as error:
                    log.debug("task %s: its log was not stored: %s", context.id, error)


class Silent:
    """What a Context reports to when its handler runs inline."""

    def __init__(self, client):
        self.client = client

    def _act(self, context, act, body):
        pass

    def _log(self, context, line):
        log.info("%s", line)
