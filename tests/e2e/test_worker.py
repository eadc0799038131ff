#!/usr/bin/env python3
"""`faina worker` as a person runs it: signals, kills, limits, wrong use."""
import contextlib
import fcntl
import http.client
import json
import os
import resource
import signal
import socket
import sqlite3
import struct
import subprocess
import time

from helper_cli import BIN, PATIENCE, contains, equal, is_served, is_true, run


def script(cli, name, body):
    os.makedirs(cli.path("handlers"), 0o755, exist_ok=True)
    path = cli.write(f"handlers/.{name}", f"#!/bin/sh\n{body}\n")
    os.chmod(path, 0o755)
    os.rename(path, cli.path(f"handlers/{name}"))


def until(fact, what):
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        if fact():
            return
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def exists(cli, name):
    return lambda: os.path.exists(cli.path(f"handlers/{name}"))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def read(cli, name):
    with open(cli.path(f"handlers/{name}"), encoding="utf-8") as file:
        return file.read().strip()


def finish(worker, code=0):
    out, err = worker.communicate(timeout=PATIENCE)
    equal(worker.returncode, code, out, err)
    return err


def test_wrong_use(cli):
    contains(cli("worker", code=2).err, "the handlers folder handlers can't be read")
    contains(cli("worker", "--handlers", "/nonexist", code=2).err, "/nonexist can't be read")
    is_true(not os.path.exists(cli.path("faina.db")))
    os.mkdir(cli.path("handlers"), 0o755)
    for args, why in ((("--concurrency", "0"), "from 1 to 10000"),
                      (("--lease", "soon"), "--lease"),
                      (("--lease", "25h"), "at most 24h"),
                      (("--service", "gpu"), "NAME=tcp:HOST:PORT"),
                      (("--service", "=x"), "NAME=tcp:HOST:PORT"),
                      (("--service", "gpu=/no/such/program"), "there is no program"),
                      (("--service", "gpu=tcp:host"), "tcp:HOST:PORT"),
                      (("--namespace", ""), "--namespace is empty"),
                      (("--namespace", "a\nb"), "--namespace has a control character"),
                      (("--services", "a," + 256 * "b"), "services[1] is 256 bytes long"),
                      (("--worker", ""), "workerId is empty"),
                      (("extra",), "")):
        contains(cli("worker", "--idle-exit", "1s", *args, code=2).err, why)
    contains(cli("worker", env={"FAINA_LOG": "loud"}, code=2).err, "FAINA_LOG")


def test_a_folder_that_others_can_change(cli):
    """The group of the owner alone may write, no other."""
    script(cli, "x", "cat")
    folder, file = cli.path("handlers"), cli.path("handlers/x")
    os.chmod(folder, 0o777)
    contains(cli("worker", code=1).err, "run: chmod go-w " + folder)
    os.chmod(file, 0o777)
    contains(cli("worker", code=1).err, "run: chmod -R go-w " + folder)
    os.chmod(folder, 0o1777)
    err = cli("worker", code=1).err
    contains(err, "use a folder that only its owner can change")
    is_true("chmod" not in err, err)
    if os.geteuid() != 0:
        return
    os.chmod(folder, 0o775)
    os.chmod(file, 0o775)
    contains(cli("worker", "--idle-exit", "50ms").err, "handles x by")
    os.chown(file, 0, 1)
    contains(cli("worker", "--idle-exit", "50ms").err, "x is not used: the file")
    os.chown(folder, 0, 12345)
    contains(cli("worker", code=1).err, "run: chmod -R go-w " + folder)
    os.chown(folder, 54321, 54321)
    contains(cli("worker", code=1).err, "use a folder that only its owner can change")


def test_a_type_without_a_handler(cli):
    script(cli, "x", "cat")
    err = cli("worker", "--types", "zzz", "--idle-exit", "50ms").err
    contains(err, "there is no handler for zzz in handlers yet")
    is_true("there is no handler in handlers" not in err, err)


def test_signals(cli):
    """SIGTERM lets what runs finish; what was not started is given back."""
    script(cli, "slow", "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo 1")
    tasks = [cli.submit("slow") for _ in range(3)]
    worker = cli.start("worker", "--concurrency", "1")
    until(exists(cli, "begun"), "the handler")
    worker.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    is_true(worker.poll() is None)
    script(cli, "go", "")
    contains(finish(worker), "1 completed")
    got = [cli.get(task) for task in tasks]
    equal([t["status"] for t in got], ["completed", "pending", "pending"])
    equal([t["attempts"] for t in got], [1, 0, 0])
    equal(cli("worker-list").json()["items"], [])


def test_others_come_to_its_file(cli):
    """A worker lets others in by a socket beside its file, also one that was killed before."""
    script(cli, "x", "cat")
    for _ in range(2):
        worker = cli.start("worker")
        while "is ready" not in worker.stderr.readline():
            pass
        task = cli.submit("x", "1")
        cli("wait", task)
        equal(cli.get(task)["output"], 1)
        contains([check["message"] for check in cli("doctor").json()["checks"]
                  if check["name"] == "engine"][0], "faina.db.sock")
        other = cli.start("worker")
        while "is ready" not in other.stderr.readline():  # one that was killed may still be listed
            pass
        until(lambda: len(cli("worker-list").json()["items"]) >= 2, "the second worker")
        other.send_signal(signal.SIGTERM)
        finish(other)
        worker.kill()
        worker.communicate()
    equal([task["status"] for task in cli("ls").json()["items"]], ["completed", "completed"])


def test_handlers_keep_the_limit_of_open_files(cli):
    """Serving others changes it for the worker alone."""
    script(cli, "limit", "ulimit -n")
    task = cli.submit("limit")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        cli("worker", "--idle-exit", "1s")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    equal(cli.get(task)["output"], 300)


def test_a_second_signal_does_not_wait(cli):
    script(cli, "slow", "echo $$ > .pid; mv .pid pid; sleep 1000 & wait")
    task = cli.submit("slow", "--max-attempts", "1")
    worker = cli.start("worker", "--grace", "1h")
    until(exists(cli, "pid"), "the handler")
    worker.send_signal(signal.SIGINT)
    while "stopping" not in worker.stderr.readline():
        pass # two signals at once would be one
    worker.send_signal(signal.SIGINT)
    worker.terminate()
    finish(worker)
    is_true(not alive(read(cli, "pid")))
    equal((cli.get(task)["status"], cli.get(task)["attempts"]), ("pending", 0))


def test_kill_and_recovery(cli):
    """Killed with -9, its handlers die with it and all they have started, and another worker does
    the task."""
    script(cli, "slow", "[ $FAINA_ATTEMPT -ge 2 ] && echo 2 && exit\n"
                        "sleep 1000 & echo $! > child; echo $$ > .pid; mv .pid pid; wait")
    task = cli.submit("slow")
    worker = cli.start("worker", "--lease", "1s")
    until(exists(cli, "pid"), "the handler")
    worker.kill()
    worker.communicate()
    until(lambda: not alive(read(cli, "pid")), "the end of the handler")
    until(lambda: not alive(read(cli, "child")), "the end of what it had started")
    cli("worker", "--lease", "1s", "--idle-exit", "4s")
    got = cli.get(task)
    equal((got["status"], got["output"]), ("completed", 2))
    is_true("lease_lost" in [e["event"] for e in cli("events", task).json()["items"]])


def test_killed_again_and_again(cli):
    """Each of many tasks is completed once in the record, whatever happens to the workers."""
    is_plain = os.environ.get("FA_FLAVOUR", "plain") == "plain"  # the others are slower
    rounds = int(os.environ.get("FA_WORKER_KILLS", "50" if is_plain else "8"))
    count = int(os.environ.get("FA_WORKER_TASKS", "1000" if is_plain else "150"))
    script(cli, "count", "echo x >> counted.$FAINA_TASK_ID; echo 1")
    # A task that was killed often is to come back before the last worker is idle for long enough.
    line = '{"maxAttempts":0,"retry":{"base":"100ms","factor":1,"max":"1s"}}\n'
    tasks = cli("submit", "count", "--bulk", stdin=line * count).out.split()
    equal(len(tasks), count)
    for turn in range(rounds):
        before = len(os.listdir(cli.path("handlers")))
        worker = cli.start("worker", "--lease", "1s", "--concurrency", "4")
        # In the middle of it: what the one before held is not lost until its lease ends.
        until(lambda: len(os.listdir(cli.path("handlers"))) > before or before > count,
              "the worker")
        time.sleep(0.002 * (turn % 10))
        worker.kill()
        worker.communicate()
    cli("worker", "--lease", "1s", "--idle-exit", "4s", "--concurrency", "4")
    equal(cli("stats").json()["byStatus"]["completed"], count)
    with contextlib.closing(sqlite3.connect(cli.path("faina.db"))) as store:
        rows = store.execute("SELECT task_id, what FROM task_events").fetchall()
    told = {task: [] for task in tasks}
    for task, what in rows:
        told[task].append(what)
    is_true(any("lease_lost" in events for events in told.values()))  # some were killed
    for task, events in told.items():
        equal(events.count("completed"), 1, events)
        with open(cli.path(f"handlers/counted.{task}"), encoding="utf-8") as file:
            done = len(file.readlines())
        # Every execution is an attempt; each one more than the first has its lost lease.
        is_true(1 <= done <= 1 + events.count("lease_lost"), done, events)


def children(parent):
    """Names and ids of its living and dead children."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                name, fields = file.read().split("(", 1)[1].rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields.split()[1] == str(parent.pid):
            found[name] = int(pid)
    return found


ESCAPES = {
    "session": "setsid sleep 1000 & echo $! > {}",
    "double": "(setsid sh -c 'sleep 1000 & echo $! > {}; wait' &) ; sleep 0.2",
    "group": "bash -mc 'sleep 1000 & echo $! > {}; disown'",
    "clean": "setsid sh -c 'env -i /bin/sleep 1000 & echo $! > {}; wait' & sleep 0.2",
    "bare": "env -i setsid /bin/sleep 1000 & echo $! > {}",
}


def test_nothing_escapes_from_its_attempt(cli):
    """What a handler starts ends with its attempt: in a session of its own, by a double fork, in another process group,
    below a process that did so, and without the environment; also when the attempt is cancelled."""
    for name, line in ESCAPES.items():
        script(cli, name, line.format(name + ".pid") + "\necho 1")
    script(cli, "held", ESCAPES["bare"].format("held.pid") + "\nsleep 1000")
    script(cli, "other", "setsid sh -c 'sleep 1000' & echo $! > other.pid; sleep 1000")
    worker = cli.start("worker", "--concurrency", "8")
    until(lambda: is_served(cli), "the socket")
    tasks = {name: cli.submit(name) for name in (*ESCAPES, "held", "other")}
    for name in ("held", "other"):
        until(lambda: exists(cli, name + ".pid")() and read(cli, name + ".pid"), "the handler")
    for name in ESCAPES:
        until(lambda: cli.get(tasks[name])["status"] == "completed", name)
        until(lambda: not alive(read(cli, name + ".pid")), "the end of " + name)
    is_true(alive(read(cli, "held.pid")))
    cli("cancel", tasks["held"])
    until(lambda: not alive(read(cli, "held.pid")), "the end of a cancelled attempt")
    is_true(alive(read(cli, "other.pid")), "of an attempt that still runs")
    cli("cancel", tasks["other"])
    until(lambda: not alive(read(cli, "other.pid")), "the end of the other")
    worker.terminate()
    finish(worker)


LINES = """
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    if "input" in task:
        os.system(task["input"])
        print(json.dumps({"id": task["id"], "output": 1}), flush=True)
"""


def start_lines(cli, name):
    """A worker whose process for many tasks has started one in a session of its own."""
    script(cli, "many", "exec python3 many.py")
    for file, text in (("many.py", LINES), ("many.json", '{"mode": "lines"}')):
        with open(cli.path("handlers/" + file), "w", encoding="utf-8") as out:
            out.write(text)
    worker = cli.start("worker")
    until(lambda: is_served(cli), "the socket")
    task = cli.submit("many", "--input", json.dumps(ESCAPES[name].format(name + ".pid")))
    until(lambda: cli.get(task)["status"] == "completed", "the task")
    is_true(alive(read(cli, name + ".pid")), "it lives as long as the process for many tasks")
    return worker


def test_nothing_escapes_from_a_process_for_many_tasks(cli):
    for name in ESCAPES:
        worker = start_lines(cli, name)
        worker.terminate()
        finish(worker)
        until(lambda: not alive(read(cli, name + ".pid")), "the end of " + name)


def test_nothing_escapes_from_a_killed_worker(cli):
    """Also then it ends: the guard searches the whole system."""
    for name in ESCAPES:
        worker = start_lines(cli, name)
        script(cli, "one", ESCAPES[name].format("one.pid") + "\nsleep 1000")
        cli.submit("one")
        until(lambda: exists(cli, "one.pid")() and read(cli, "one.pid"), "the handler")
        other = subprocess.Popen(["sleep", "1000"], env={**os.environ, "FAINA_PROCESS": "1.1"})
        worker.kill()
        worker.communicate()
        until(lambda: not alive(read(cli, name + ".pid")), "the end of " + name)
        until(lambda: not alive(read(cli, "one.pid")), "the end of what ran")
        is_true(other.poll() is None, "a process of another program")
        other.kill()
        other.wait()
        os.unlink(cli.path("handlers/one.pid"))
        cli("cancel", "--all", "--yes", code=None)


def test_orphans_are_reaped(cli):
    """What forks away from its handler is ours to reap."""
    script(cli, "fork", "setsid sh -c 'sleep 0.3' & echo 1")
    script(cli, "wait", "while [ ! -e go ]; do sleep 0.05; done; echo 1")
    for _ in range(5):
        cli.submit("fork")
    worker = cli.start("worker", "--concurrency", "8", "--idle-exit", "3s")
    time.sleep(1)
    until(lambda: list(children(worker)) == ["faina-guard"], "orphans to be reaped")
    guard = children(worker)["faina-guard"]
    contains(finish(worker), "5 completed")
    is_true(not os.path.exists(f"/proc/{guard}"))


def test_the_guard_is_no_worker(cli):
    """A search for the worker's command line finds only the worker. A signal to both ends both: the
    guard exits after the worker."""
    script(cli, "slow", "sleep 1000 & echo $! > child; echo $$ > .pid; mv .pid pid; wait")
    for args in (("worker", "--grace", "1h"), ("serve", "--workers", "1", "--listen", "127.0.0.1:0")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(cli.path("handlers/pid"))
        owner = cli.start(*args, start_new_session=True)
        until(lambda: "faina-guard" in children(owner), "the guard")
        guard = children(owner)["faina-guard"]
        with open(f"/proc/{guard}/cmdline", "rb") as file:
            equal(file.read().rstrip(b"\0"), b"faina-guard")
        with open(f"/proc/{owner.pid}/cmdline", "rb") as file:
            equal(file.read().split(b"\0")[1], args[0].encode())
        until(lambda: is_served(cli), "the socket")
        task = cli.submit("slow")
        until(exists(cli, "pid"), "the handler")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(guard, number)
            os.killpg(guard, number) # it leads its own
        equal(cli.get(task)["status"], "running")
        os.killpg(owner.pid, signal.SIGTERM)
        while "finishing what runs" not in owner.stderr.readline():
            pass
        is_true(alive(guard) and alive(read(cli, "child")))
        owner.kill()
        owner.communicate()
        until(lambda: not alive(read(cli, "child")), "the end of what the handler had started")
        until(lambda: not alive(guard), "the end of the guard")


def test_types_and_namespaces(cli):
    script(cli, "a", "echo 1")
    script(cli, "b", "echo 1")
    tasks = [cli.submit("a"), cli.submit("b"), cli.submit("a", "--namespace", "other")]
    cli("worker", "--types", "a", "--namespace", "other", "--idle-exit", "500ms")
    equal([cli.get(t)["status"] for t in tasks], ["pending", "pending", "completed"])
    cli("worker", "--types", "a", "--idle-exit", "500ms")
    equal([cli.get(t)["status"] for t in tasks], ["completed", "pending", "completed"])


def test_services(cli):
    script(cli, "gpu", "echo 1")
    task = cli.submit("gpu", "--resource", "cuda")
    cli("worker", "--services", "other", "--idle-exit", "500ms")
    equal(cli.get(task)["status"], "pending")
    err = cli("worker", "--service", "cuda=false", "--idle-exit", "500ms").err
    contains(err, "service cuda is not reachable")
    equal(cli.get(task)["status"], "pending")
    cli("worker", "--service", "cuda=test -d handlers", "--idle-exit", "1s")
    equal(cli.get(task)["status"], "completed")


def test_the_log(cli):
    script(cli, "a", "echo 1")
    err = cli("worker", "--idle-exit", "100ms", "--worker", "me").err
    lines = [json.loads(line) for line in err.splitlines()]
    equal(set(lines[-1]), {"time", "level", "message"})
    contains([line["message"] for line in lines], "using the engine")
    contains([line["message"] for line in lines], "worker me is ready")
    equal(cli("worker", "--idle-exit", "100ms", env={"FAINA_LOG": "error"}).err, "")
    shown = cli.on_terminal("worker", "--idle-exit", "100ms", "--worker", "me").plain()
    contains(shown, "info  worker me is ready")
    script(cli, "bad", "echo no route to host >&2; exit 1")
    task = cli("submit", "bad", "--max-attempts", "1").out.strip()
    err = cli("worker", "--idle-exit", "1s").err
    [line] = [line for line in map(json.loads, err.splitlines()) if line["level"] == "warn"]
    equal(line["message"], f"an attempt at task {task}, bad, failed: "
                           "the handler exited with code 1: no route to host")


def ask(cli, method, path, body=None):
    """An HTTP request to the server beside the file."""
    link = http.client.HTTPConnection("localhost")
    link.sock = socket.socket(socket.AF_UNIX)
    link.sock.connect(cli.path("faina.db.sock"))
    link.request(method, f"/api/v1{path}", body=json.dumps(body) if body else None,
                 headers={"content-type": "application/json"})
    return json.loads(link.getresponse().read())


def test_serve_has_workers_too(cli):
    script(cli, "double", "echo $(( $(cat) * 2 ))")
    server = cli.start("serve", "--workers", "2", "--listen", "127.0.0.1:0")
    until(lambda: is_served(cli), "the server")
    task = ask(cli, "POST", "/tasks", {"type": "double", "input": 21})["id"]
    until(lambda: ask(cli, "GET", f"/tasks/{task}")["status"] == "completed", "the task")
    equal(ask(cli, "GET", f"/tasks/{task}")["output"], 42)
    equal([w["poolSize"] for w in ask(cli, "GET", "/workers")["items"]], [2])
    server.send_signal(signal.SIGTERM)
    finish(server)
    equal(cli("worker-list").json()["items"], [])


def test_a_stopping_worker_serves_until_its_end(cli):
    """While the last handler runs, commands still reach the file through its owner. Who would own
    it next waits for a moment, and is not taken for a guest."""
    script(cli, "slow", "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo 1")
    for args in (("worker",), ("serve", "--workers", "1", "--listen", "127.0.0.1:0")):
        for name in ("begun", "go"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(cli.path(f"handlers/{name}"))
        task = cli.submit("slow")
        owner = cli.start(*args)
        until(exists(cli, "begun"), "the handler")
        owner.send_signal(signal.SIGTERM)
        while "finishing what runs" not in owner.stderr.readline():
            pass
        other = cli.submit("other")
        equal([cli.get(name)["status"] for name in (task, other)], ["running", "pending"])
        contains(cli(*args, code=6).err,
                 f"faina.db is in use by process {owner.pid}, which is shutting down: "
                 "try again in a moment")
        script(cli, "go", "")
        finish(owner)
        equal(cli.get(task)["status"], "completed")


def test_a_stopped_worker_is_reported(cli):
    """Nobody answers at the socket any more, but the file is not free yet."""
    cli.submit("x")
    with open(cli.path("faina.db.lock"), "r+", encoding="utf-8") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK,
                    struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        lock.write(f"{os.getpid()}\nunix:{cli.path('faina.db.sock')}\nleaving\n")
        lock.flush()
        equal(cli("ls", code=6).err,
              f"faina: faina.db is in use by process {os.getpid()}, which is shutting down: "
              "try again in a moment\n")
    equal(len(cli("ls").json()["items"]), 1)


def test_the_host_of_plugins_is_no_verb(cli):
    """Started by hand it has no socket, and exits with an error."""
    is_true("plugin-host" not in cli("--help").out)
    is_true(cli("plugin-host", "/no/such.so", code=None).code != 0, BIN)


run(globals())
