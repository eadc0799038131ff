#!/usr/bin/env python3
"""RabbitMQ: a message for each task that becomes ready and for each end, workers that are driven by a
queue, and what happens when the broker is killed, stopped, short of memory or out of reach."""
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from helper_broker import ROOT, Queue, Worker, http, run, runs  # pylint: disable=C0413
from helper_server import BIN, Skip, environment, equal, is_true, wait_until  # pylint: disable=C0413
from tcp_proxy import Proxy  # pylint: disable=C0413

ROUNDS = int(os.environ.get("FA_BROKER_FAULTS", "50"))


def rounds_of(place):
    return ROUNDS if "sqlite" in place.url else max(ROUNDS // 5, 1)


def serve(place, rabbit, url=None, **more):
    server = place.serve("--workers", "0", env={"FAINA_BROKER": url or rabbit.url()}, **more)
    wait_until(lambda: server("GET", "/broker", status=200).json()["on"], "the outbox is on")
    return server


def depth(server):
    return server("GET", "/broker", status=200).json()["depth"]


def ids_of(messages):
    return [message[2]["id"] for message in messages]


# ---------------------------------------------------------------------------------------------
# Messages


def test_the_first_example(place, rabbit):
    if "sqlite" not in place.url:
        raise Skip("one engine is enough")
    server = serve(place, rabbit)
    wait_until(lambda: any("publishing" in line for line in server.lines), "the exchanges are declared")
    with open(f"{ROOT}/docs/rabbitmq.md", encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.S)[1]
    is_true(len(code.strip().split("\n")) <= 10, code)
    code = code.replace("amqp://localhost", rabbit.url())
    code = code.replace("http://localhost:7070", f"http://{server.host}:{server.port}")
    code = 'import sys; sys.path.append("/usr/lib/python3/dist-packages")\n' + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          timeout=http.PATIENCE)
    equal(done.returncode, 0, done.stderr)
    task = server("GET", "/tasks", status=200).json()["items"][0]
    is_true(done.stdout.startswith(f"{task['id']}:1 "), done.stdout)


def test_messages_say_which_task_is_ready(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit, tasks="default.#")
    task = server.submit("mail.send", priority=7)["id"]
    key, properties, body = queue.take(1)[0]
    equal(key, "default.mail.send")
    equal(body, {"id": task, "namespace": "default", "type": "mail.send", "attempt": 1, "priority": 7,
                 "version": 1})
    equal(properties.message_id, f"{task}:1")
    equal(properties.delivery_mode, 2)
    equal(properties.content_type, "application/json")
    place.faina("submit", "cli")
    batch = server("POST", "/tasks:batch", {"tasks": [{"type": "batch"}, {"type": "batch"}]}, 200).json()
    equal([message[0] for message in queue.take(3)], ["default.cli", "default.batch", "default.batch"])
    is_true(batch)
    long_type = "t" * 100 + "." + "u" * 100
    server.submit(long_type, namespace="n" * 60)
    wait_until(lambda: depth(server) == 0, "it is published")
    equal(queue.get(), None)
    queue.channel.queue_bind(queue.name, "faina.tasks", "x.#")
    task = server.submit(long_type, namespace="n" * 60)["id"]
    message = queue.take(1)[0]
    equal(message[2]["id"], task)
    equal(message[0], "x." + hashlib.sha256(f"{'n' * 60}.{long_type}".encode()).hexdigest())
    queue.close()


def test_no_message_before_the_time(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit)
    later = time.time() + 1.5
    task = server.submit("x", delay="1500ms")["id"]
    equal(ids_of(queue.take(1)), [task])
    is_true(time.time() >= later - 0.1)
    queue.close()


def test_ends_go_to_the_events(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit, tasks=None, events="task.#")
    held = server.held(type_="x")
    server.act(held["id"], "complete", workerId="w", output={})
    key, properties, body = queue.take(1)[0]
    equal((key, body["status"], body["id"]), ("task.completed", "completed", held["id"]))
    equal(properties.message_id, f"{held['id']}:{body['version']}")
    held = server.held(type_="x")
    server.act(held["id"], "fail", workerId="w", error={"message": "no", "retryable": False})
    server.act(server.submit("x")["id"], "cancel")
    equal([message[0] for message in queue.take(2)], ["task.failed", "task.cancelled"])
    queue.close()


def test_submits_in_sql(place, rabbit):
    if "postgres" not in place.url:
        raise Skip("only on PostgreSQL")
    server = serve(place, rabbit)
    queue = Queue(rabbit)
    schema = place.url.split("schema=")[1]
    url = place.url.split("?")[0]
    sql = ("BEGIN;SELECT {0}.submit('sql', '{{}}');SELECT pg_sleep(0.5);COMMIT;"
           "SELECT {0}.submit('later', '{{}}', run_at => now() + interval '1 hour');").format(schema)
    psql = subprocess.Popen(["psql", "-qAt", "-d", url, "-c", sql], stdout=subprocess.PIPE, text=True)
    is_true(queue.is_empty(0.2), "a message before the commit")
    lines = psql.communicate(timeout=http.PATIENCE)[0].split()
    message = queue.take(1)[0]
    equal((message[0], message[2]["id"], message[2]["version"]), ("default.sql", lines[0], 1))
    is_true(queue.is_empty())
    equal(len(server.claim(types=["sql"])), 1)
    queue.close()


def test_messages_are_in_order(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit)
    tasks = []
    for _ in range(5):
        body = {"tasks": [{"type": "x"} for _ in range(200)]}
        tasks += [item["id"] for item in server("POST", "/tasks:batch", body, 200).json()["items"]]
    equal(ids_of(queue.take(1000)), tasks)
    wait_until(lambda: depth(server) == 0, "all rows are removed")
    queue.close()


def test_messages_without_a_queue_are_counted(place, rabbit):
    server = serve(place, rabbit)
    tasks = [server.submit("nobody")["id"] for _ in range(3)]
    wait_until(lambda: server.metric("faina_outbox_unroutable_total") == 3, "they are counted")
    wait_until(lambda: server.metric("faina_outbox_depth") == 0, "their rows are gone")
    equal(server.metric("faina_outbox_oldest_seconds"), 0)
    wait_until(lambda: any("had no queue" in line for line in server.lines), "they are logged")
    equal(sorted(task["id"] for task in server.claim(limit=10)), sorted(tasks))


def test_switched_off_nothing_is_written(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit)
    place.faina("broker", "off")
    server.submit("x")
    is_true(queue.is_empty(), "a message while it is off")
    place.faina("broker", "on")
    task = server.submit("x")["id"]
    equal(ids_of(queue.take(1)), [task])
    queue.close()


def test_the_outbox_is_bounded(place, rabbit):
    is_true(rabbit)
    server = place.serve("--workers", "0")
    place.faina("broker", "on", "--limit", "5")
    for _ in range(12):
        server.submit("x")
    wait_until(lambda: server("GET", "/broker", status=200).json()["dropped"] == 7, "7 are dropped")
    equal(depth(server), 5)
    equal(len(server.claim(limit=100)), 12)


def test_doctor(place, rabbit):
    if "sqlite" not in place.url:
        raise Skip("one engine is enough")
    queue = Queue(rabbit)
    server = serve(place, rabbit)
    server.submit("x")
    wait_until(lambda: queue.length() == 1, "it is published")
    env = {"FAINA_BROKER": rabbit.url()}
    done = place.faina("doctor", "-o", "json", "--broker-queue", queue.name, env=env)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    equal(checks["broker"]["level"], "ok", checks)
    is_true("1 message, 0 consumers" in checks["queue"]["message"], checks)
    equal(checks["outbox"]["level"], "ok", checks)
    place.faina("doctor", "--broker-queue", "nothing", env=env, code=1)
    done = place.faina("doctor", env={"FAINA_BROKER": "amqp://faina:wrong@127.0.0.1:1"}, code=1)
    is_true("wrong" not in done.stdout.split("127.0.0.1:1")[1].split("\n")[0], done.stdout)
    for bad in ("http://x", "amqp://h?unknown=1", "amqp://h?heartbeat=0", "amqp://h?certfile=x"):
        place.faina("doctor", env={"FAINA_BROKER": bad}, code=2)
    queue.close()


def test_tls(place, rabbit):
    if "sqlite" not in place.url:
        raise Skip("one engine is enough")
    queue = Queue(rabbit)
    server = serve(place, rabbit, url=rabbit.url(tls=True))
    task = server.submit("x")["id"]
    equal(ids_of(queue.take(1)), [task])
    server.stop()
    wrong = rabbit.url(tls=True).split("?", maxsplit=1)[0] # the CA isn't among those of the system
    server = serve(place, rabbit, url=wrong)
    wait_until(lambda: any("messages wait in the outbox" in line for line in server.lines), "refused")
    queue.close()


# ---------------------------------------------------------------------------------------------
# Workers


def test_a_worker_driven_by_a_queue(place, rabbit):
    server = serve(place, rabbit)
    ns = "n" + uuid.uuid4().hex
    queue = Queue(rabbit, tasks=f"{ns}.#", dead=True)
    worker = Worker(place, rabbit.url(), "--broker-queue", queue.name, "--concurrency", "4")
    wait_until(lambda: "is ready" in worker.text(), "the worker is ready")
    tasks = [server.submit("job", namespace=ns)["id"] for _ in range(20)]
    wait_until(lambda: len(runs(place)) == 20, "all are run")
    equal(sorted(runs(place)), sorted(tasks))
    wait_until(lambda: server.get(tasks[-1])["status"] == "completed", "the last one is completed")
    # Not bound to the queue: it is left to others.
    other = server.submit("job")["id"]
    # Duplicates, cancelled ones, and what is no message.
    queue.put(json.dumps({"id": tasks[0], "namespace": ns, "type": "job", "version": 1}))
    for bad in (b"", b"{", b"[]", b'{"id":"x","namespace":"n","type":"t","version":1}',
                b'{"id":"%s","namespace":"n","type":"t"}' % tasks[0].encode()):
        queue.put(bad)
    wait_until(lambda: queue.length(queue.dead) == 5, "five are rejected")
    last = server.submit("job", namespace=ns)["id"]
    wait_until(lambda: last in runs(place), "it goes on")
    equal(len(runs(place)), 21)
    equal(server.get(other)["status"], "pending")
    wait_until(lambda: server.get(last)["status"] == "completed", "the last one is completed")
    worker.stop()
    equal(queue.length(), 0)
    queue.close()


def test_what_is_not_ready_is_skipped(place, rabbit):
    server = serve(place, rabbit)
    ns = "n" + uuid.uuid4().hex
    queue = Queue(rabbit, tasks=f"{ns}.#")
    failed = server.submit("job", namespace=ns, retry={"base": "1h", "max": "1h"})["id"]
    server.act(failed, "start", workerId="w")
    server.act(failed, "fail", workerId="w", error="no")
    paused = server.submit("paused", namespace=ns)["id"]
    server("POST", "/lanes:pause", {"type": "paused", "namespace": ns}, 200)
    cancelled = server.submit("job", namespace=ns)["id"]
    server.act(cancelled, "cancel")
    wait_until(lambda: queue.length() == 3, "three messages")
    # The version of the task during its backoff, as nobody publishes it: it must not start early.
    queue.put(json.dumps({"id": failed, "namespace": ns, "type": "job",
                          "version": server.get(failed)["version"]}))
    Worker(place, None, "--idle-exit", "1ms", type_="paused").stop(None)
    worker = Worker(place, rabbit.url(), "--broker-queue", queue.name)
    wait_until(lambda: queue.length() == 0, "all are acknowledged")
    last = server.submit("job", namespace=ns)["id"]
    wait_until(lambda: runs(place) == [last], "only the last one is run")
    equal(server.get(failed)["status"], "pending")
    equal(server.get(paused)["status"], "pending")
    worker.stop()
    queue.close()


def test_workers_with_and_without_a_broker_share_the_work(place, rabbit):
    server = serve(place, rabbit)
    queue = Queue(rabbit, tasks="default.#")
    with_broker = Worker(place, rabbit.url(), "--broker-queue", queue.name, "--concurrency", "2")
    without = Worker(place, None, "--concurrency", "2")
    body = {"tasks": [{"type": "job"} for _ in range(100)]}
    tasks = [item["id"] for item in server("POST", "/tasks:batch", body, 200).json()["items"]]
    wait_until(lambda: len(runs(place)) >= 100, "all are run")
    time.sleep(0.3)
    equal(sorted(runs(place)), sorted(tasks))
    with_broker.stop()
    without.stop()
    queue.close()


def test_a_full_worker_gives_messages_back(place, rabbit):
    if "sqlite" not in place.url:
        raise Skip("one engine is enough")
    server = serve(place, rabbit)
    queue = Queue(rabbit, tasks="default.#")
    worker = Worker(place, rabbit.url(), "--broker-queue", queue.name, "--concurrency", "1",
                    script="sleep 3")
    for _ in range(3):
        server.submit("job")
    wait_until(lambda: len(runs(place)) == 1, "the first one runs")
    wait_until(lambda: queue.length() == 2, "the others are in the queue again")
    worker.stop(None)
    queue.close()


def test_a_queue_must_exist(place, rabbit):
    if "sqlite" not in place.url:
        raise Skip("one engine is enough")
    serve(place, rabbit)
    worker = Worker(place, rabbit.url(), "--broker-queue", "no-such-queue")
    equal(worker.process.wait(http.PATIENCE), 3, worker.text())
    is_true("no-such-queue" in worker.text(), worker.text())
    worker = Worker(place, None, "--broker-queue", "x")
    equal(worker.process.wait(http.PATIENCE), 2, worker.text())


# ---------------------------------------------------------------------------------------------
# Faults


def test_a_lost_confirm_makes_a_duplicate_and_one_run(place, rabbit):
    proxy = Proxy(rabbit.port)
    queue = Queue(rabbit, tasks="default.#", events="task.completed")
    server = serve(place, rabbit, url=rabbit.url().replace(str(rabbit.port), str(proxy.port)))
    wait_until(lambda: any("publishing" in line for line in server.lines), "it is connected")
    rounds = rounds_of(place)
    for round_ in range(rounds):
        proxy.loses_answers = True
        task = server.submit("job")["id"]
        wait_until(lambda: queue.length() == 1 + round_ * 2, "it is published")
        is_true(depth(server) >= 1, "the row is kept")
        proxy.loses_answers = False
        proxy.cut()
        wait_until(lambda: queue.length() == 2 + round_ * 2, "it is published again")
        wait_until(lambda: depth(server) == 0, "it is confirmed")
        is_true(task)
    worker = Worker(place, rabbit.url(), "--broker-queue", queue.name)
    wait_until(lambda: len(runs(place)) >= rounds, "they are run")
    wait_until(lambda: queue.length() == 0, "all messages are taken")
    time.sleep(0.2)
    equal(len(runs(place)), rounds)
    worker.stop()
    proxy.close()
    queue.close()


def test_kill_between_commit_and_publish(place, rabbit):
    queue = Queue(rabbit, tasks="default.#")
    # On PostgreSQL the next publisher waits for the end of the killed one's lease, 15 seconds.
    for _ in range(ROUNDS if "sqlite" in place.url else max(ROUNDS // 25, 1)):
        rabbit.pause()
        try:
            # The broker takes connections, and answers nothing.
            server = place.serve("--workers", "0", env={"FAINA_BROKER": rabbit.url()})
            wait_until(lambda s=server: s("GET", "/broker", status=200).json()["on"], "it is on")
            tasks = [server.submit("job")["id"] for _ in range(5)]
            equal(depth(server), 5)
            server.kill()
        finally:
            rabbit.resume()
        server = serve(place, rabbit)
        equal(ids_of(queue.take(5)), tasks)
        wait_until(lambda s=server: depth(s) == 0, "all are confirmed")
        server.stop()
    queue.close()


def test_the_broker_is_paused(place, rabbit):
    queue = Queue(rabbit, tasks="default.#")
    server = serve(place, rabbit)
    tasks = [server.submit("job")["id"]]
    wait_until(lambda: queue.length() == 1, "it works")
    for _ in range(rounds_of(place)):
        rabbit.pause()
        try:
            began = time.monotonic()
            tasks += [server.submit("job")["id"] for _ in range(3)]
            is_true(time.monotonic() - began < 10, "submits wait for the broker")
        finally:
            rabbit.resume()
    found = queue.take_until(tasks)
    equal(list(dict.fromkeys(reversed(found)))[::-1], tasks, "the last copies are in order")
    wait_until(lambda: depth(server) == 0, "all are confirmed")
    queue.close()


def test_the_broker_asks_for_a_pause(place, rabbit):
    """Short of memory it blocks its publishers (connection.blocked)."""
    if "sqlite" not in place.url:
        raise Skip("its control program starts slowly")
    queue = Queue(rabbit, tasks="default.#")
    server = serve(place, rabbit)
    tasks = [server.submit("job")["id"]]
    wait_until(lambda: queue.length() == 1, "it works")
    for _ in range(max(ROUNDS // 10, 1)): # the control program takes seconds
        rabbit.control("set_vm_memory_high_watermark", "0.0000001")
        try:
            tasks += [server.submit("job")["id"] for _ in range(200)]
            is_true(depth(server) >= 100, "messages wait in the outbox")
        finally:
            rabbit.control("set_vm_memory_high_watermark", "absolute", "512MB")
        wait_until(lambda: depth(server) == 0, "all are confirmed")
    found = queue.take_until(tasks)
    equal(list(dict.fromkeys(reversed(found)))[::-1], tasks, "the last copies are in order")
    queue.close()


def test_the_connection_is_cut_at_any_time(place, rabbit):
    proxy = Proxy(rabbit.port)
    queue = Queue(rabbit, tasks="default.#")
    server = serve(place, rabbit, url=rabbit.url().replace(str(rabbit.port), str(proxy.port)))
    tasks = []
    for round_ in range(rounds_of(place)):
        body = {"tasks": [{"type": "x"} for _ in range(100)]}
        tasks += [item["id"] for item in server("POST", "/tasks:batch", body, 200).json()["items"]]
        time.sleep(0.003 * (round_ % 7))
        if round_ % 2:
            proxy.cut_after(100 * round_, is_answer=round_ % 4 == 1)
        else:
            proxy.cut()
    found = queue.take_until(tasks)
    equal(list(dict.fromkeys(reversed(found)))[::-1], tasks, "the last copies are in order")
    wait_until(lambda: depth(server) == 0, "all are confirmed")
    proxy.close()
    queue.close()


def test_z_the_broker_is_killed(place, rabbit):
    """With its disk it comes back with its queues; without, the tasks are in the store."""
    if "sqlite" not in place.url:
        raise Skip("a start of the broker takes long")
    queue = Queue(rabbit, tasks="default.#")
    server = serve(place, rabbit)
    all_tasks = []
    for _ in range(max(ROUNDS // 50, 1)): # two starts of the broker take half a minute
        tasks = [server.submit("job")["id"] for _ in range(5)]
        wait_until(lambda: depth(server) == 0, "they are confirmed")
        rabbit.kill()
        tasks += [server.submit("job")["id"] for _ in range(5)]
        equal(depth(server), 5)
        rabbit.start()
        queue.connect()
        queue.take_until(tasks)
        wait_until(lambda: depth(server) == 0, "the others are confirmed")
        rabbit.restart(wipe=True)
        all_tasks += tasks + [server.submit("job")["id"] for _ in range(5)]
        wait_until(lambda: depth(server) == 0, "the exchanges are made again")
        queue = Queue(rabbit, tasks="default.#")
    equal(sorted(task["id"] for task in server.claim(limit=1000)), sorted(all_tasks))
    queue.close()
    is_true(BIN and environment)


if __name__ == "__main__":
    print(f"{ROUNDS} rounds of each fault")
    run(globals())
