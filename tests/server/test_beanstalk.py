#!/usr/bin/env python3
"""The beanstalkd protocol, line by line (docs/beanstalk.md)."""
import json
import os
import random
import signal
import threading
import time

from helper_beanstalk import Beanstalk, serve
from helper_server import equal, is_true, run, wait_until

LAST = 2**32 - 1


def test_life_of_a_job(place):
    server, connect = serve(place)
    a, b = connect(), connect()
    equal(a("use mail"), "USING mail")
    job = a.put("hello")
    is_true(0 < job < 2**53, job)
    equal(b("watch mail"), "WATCHING 2")
    equal(b.reserve(), (job, b"hello"))
    equal(a(f"delete {job}"), "NOT_FOUND", "another connection has it")
    equal(a(f"release {job} 1 0"), "NOT_FOUND")
    equal(a(f"touch {job}"), "NOT_FOUND")
    equal(b(f"touch {job}"), "TOUCHED")
    tasks = server("GET", "/tasks?type=mail").json()["items"]
    equal([(t["status"], t["maxAttempts"]) for t in tasks], [("claimed", 0)])
    equal(json.loads(json.dumps(tasks[0]["input"])), {"beanstalk": {"ttr": 60, "text": "hello"}})
    equal(b(f"delete {job}"), "DELETED")
    equal(b(f"delete {job}"), "NOT_FOUND")
    equal(a(f"peek {job}"), "NOT_FOUND")
    equal(server.get(tasks[0]["id"])["status"], "completed")
    equal(b.reserve(0), "TIMED_OUT")


def test_bodies_are_kept_byte_for_byte(place):
    _, connect = serve(place)
    a = connect()
    bodies = [b"", b"x", b"\0", bytes(range(256)), b"\r\n", b'{"a":1}', b' {"a":1}', b'{"a":1} \n',
              b'[1, 2,\t3]', b'{"a":1e400,"b":12345678901234567890}', b'{"a":1,"a":2}', b'null', b'"x"',
              b'{"beanstalk":{"ttr":1,"text":"no"}}', b'{"beanstalk":{"ttr":1', "Grüße \u2028 😀".encode(),
              b"\xff\xfe", b'"""""""""', b"\x7f", b"a" * 100000, os.urandom(60001), b'{"a":"\\u0000"}',
              b'{"a":"\\ud83d\\ude00\\/"}', b"=", b"ab", b"abc\0", b"[" * 100, b"true"]
    jobs = {a.put(body): body for body in bodies}
    equal(len(jobs), len(bodies))
    for job, body in jobs.items():
        equal(a.job(f"peek {job}"), (job, body))
    for _ in bodies:
        job, body = a.reserve(0)
        equal(body, jobs[job])
        equal(a(f"delete {job}"), "DELETED")
    equal(a.reserve(0), "TIMED_OUT")


def test_json_bodies_stay_json(place):
    server, connect = serve(place)
    a = connect()
    a("use resize")
    a.put('{"width": 100}', ttr=7)
    task = server("GET", "/tasks?type=resize").json()["items"][0]
    equal((task["input"], task["metadata"]), ({"width": 100}, {"beanstalk": {"ttr": 7}}))
    server.submit("resize", input={"width": 5})
    a("watch resize")
    equal(a.reserve()[1], b'{"width": 100}')
    job, body = a.reserve()
    equal(json.loads(body), {"width": 5})
    equal(a.yaml(f"stats-job {job}")["ttr"], "60")


def test_order(place):
    """The lowest number first, then the oldest."""
    _, connect = serve(place)
    a = connect()
    pris = [5, 0, LAST, 1024, 0, 1023, LAST - 2, 2**31, 5, 2**31 - 1]
    jobs = [(pri, a.put("x", pri=pri)) for pri in pris]
    equal(a.job("peek-ready")[0], sorted(jobs)[0][1])
    for pri, job in sorted(jobs):
        equal(a.reserve(0)[0], job)
        if pri < LAST:
            equal(a.yaml(f"stats-job {job}")["pri"], str(pri))
        equal(a(f"delete {job}"), "DELETED")


def test_tubes_are_case_sensitive(place):
    server, connect = serve(place)
    a, b = connect(), connect()
    names = ["mail", "Mail", "MAIL", "mAil", "a+b/c;d.e$f_g(h)", "Z" * 200, "z" * 200]
    jobs = {}
    for name in names:
        equal(a(f"use {name}"), f"USING {name}")
        equal(a("list-tube-used"), f"USING {name}")
        jobs[name] = a.put(name)
    equal(sorted(set(a.yaml("list-tubes"))), sorted(names + ["default"]))
    types = {t["type"] for t in server("GET", "/tasks").json()["items"]}
    is_true({"mail", "mail~8"} <= types, types)
    equal(len(types), len(names))
    for name in names:
        b(f"watch {name}")
        equal(b("ignore default"), "WATCHING 1")
        equal(b.reserve(0), (jobs[name], name.encode()))
        equal(b.reserve(0), "TIMED_OUT")
        equal(b.yaml(f"stats-job {jobs[name]}")["tube"], name)
        b("watch default")
        equal(b(f"ignore {name}"), "WATCHING 1")
    equal(b("ignore default"), "NOT_IGNORED")
    equal(b.yaml("list-tubes-watched"), ["default"])


def test_bad_lines(place):
    _, connect = serve(place)
    a = connect()
    for line, answer in [
            ("", "UNKNOWN_COMMAND"), ("PUT 1 1 1 1", "UNKNOWN_COMMAND"), ("put", "BAD_FORMAT"),
            ("put 1 2 3", "BAD_FORMAT"), ("put -1 0 0 1", "BAD_FORMAT"), ("put x 0 0 1", "BAD_FORMAT"),
            ("put 4294967296 0 0 1", "BAD_FORMAT"), ("put 1 0 0 99999999999999999999", "BAD_FORMAT"),
            ("reserve now", "BAD_FORMAT"), ("reserve-with-timeout", "BAD_FORMAT"),
            ("reserve-with-timeout -1", "BAD_FORMAT"), ("delete", "BAD_FORMAT"), ("delete x", "BAD_FORMAT"),
            ("delete 0", "NOT_FOUND"), ("delete 18446744073709551615", "NOT_FOUND"),
            ("delete 18446744073709551616", "BAD_FORMAT"), ("use -x", "BAD_FORMAT"),
            ("use " + "x" * 201, "BAD_FORMAT"), ("use a b", "BAD_FORMAT"), ("watch ä", "BAD_FORMAT"),
            ("x" * 222, "UNKNOWN_COMMAND"), ("x" * 223, "BAD_FORMAT"), ("y" * 100000, "BAD_FORMAT"),
            ("ignore nothing", "WATCHING 1"), ("stats-tube nothing", "NOT_FOUND"),
            ("stats-job 1", "NOT_FOUND"), ("kick-job 1", "NOT_FOUND"), ("reserve-job 1", "NOT_FOUND"),
            ("pause-tube nothing 1", "NOT_FOUND"), ("peek-ready", "NOT_FOUND"),
            ("peek-delayed", "NOT_FOUND"), ("peek-buried", "NOT_FOUND"), ("kick 1", "KICKED 0")]:
        equal(a(line), answer, line[:80])
    a.send("use x\n")
    equal(a.line(), "BAD_FORMAT")
    a.send(b"put 1 0 1 3\r\nabcd\r\n")
    equal(a.line(), "EXPECTED_CRLF")
    equal(a.line(), "BAD_FORMAT", "what is left of the body")
    most = int(a.yaml("stats")["max-job-size"])
    equal(a.put(b"x" * (most + 1)), "JOB_TOO_BIG")
    job = a.put(b"\0" * most)
    equal(a.job(f"peek {job}"), (job, b"\0" * most))
    a.send("quit\r\n")
    equal(a.line(), None)


def test_pipelined_and_in_pieces(place):
    _, connect = serve(place)
    a = connect()
    a.send(b"use t\r\nput 1 0 1 1\r\na\r\nput 1 0 1 2\r\nbb\r\nwatch t\r\nreserve\r\nreserve\r\n")
    equal([a.line() for _ in range(4)][0], "USING t")
    equal(a.job_answer()[1], b"a")
    equal(a.job_answer()[1], b"bb")
    for byte in b"put 1 0 1 4\r\n\r\n\r\n\r\n":
        a.send(bytes([byte]))
    is_true(a.line().startswith("INSERTED "))


def test_release_bury_kick(place):
    server, connect = serve(place)
    a = connect()
    first, second = a.put("1"), a.put("2")
    equal(a.reserve()[0], first)
    equal(a(f"release {first} 2000 0"), "RELEASED")
    equal(a.job("peek-ready")[0], second, "the first one is less urgent now")
    equal(a.reserve()[0], second)
    equal(a(f"bury {second} 5"), "BURIED")
    equal(a.job("peek-buried"), (second, b"2"))
    equal(a.yaml(f"stats-job {second}")["state"], "buried")
    equal(a.reserve()[0], first)
    equal(a(f"bury {first} 2000"), "BURIED")
    equal(a.job("peek-buried")[0], second, "the first one that was buried")
    equal(a.reserve(0), "TIMED_OUT")
    failed = server("GET", "/tasks?status=failed").json()["items"]
    equal([t["error"]["kind"] for t in failed], ["buried", "buried"])
    equal(a("kick 1"), "KICKED 1")
    equal(a.job("peek-ready")[0], second)
    equal(a(f"kick-job {first}"), "KICKED")
    equal(a(f"kick-job {first}"), "NOT_FOUND", "it is ready")
    equal(a("kick 10"), "KICKED 0")
    equal([a.reserve()[0] for _ in range(2)], [second, first])
    stats = a.yaml(f"stats-job {first}")
    equal({name: stats[name] for name in ("state", "pri", "reserves", "releases", "buries", "kicks", "timeouts")},
          {"state": "reserved", "pri": "2000", "reserves": "3", "releases": "1", "buries": "1", "kicks": "1",
           "timeouts": "0"})
    equal(a(f"bury {second} 1"), "BURIED")
    equal(a(f"delete {second}"), "DELETED")
    equal(a.job("peek-buried"), "NOT_FOUND")


def test_delays(place):
    _, connect = serve(place)
    a = connect()
    far, near, soon = a.put("far", delay=3000), a.put("near", delay=2000), a.put("soon", delay=1)
    equal(a.job("peek-ready"), "NOT_FOUND")
    stats = a.yaml(f"stats-job {near}")
    equal((stats["state"], stats["delay"]), ("delayed", "2000"))
    is_true(1900 < int(stats["time-left"]) <= 2000, stats)
    equal(a.reserve(30), (soon, b"soon"))
    equal(a.job("peek-delayed"), (near, b"near"))
    equal(a(f"release {soon} 9 1000"), "RELEASED")
    equal(a.job("peek-delayed"), (soon, b"soon"))
    equal(a.yaml("stats-tube default")["current-jobs-delayed"], "3")
    equal(a(f"kick-job {near}"), "KICKED")
    equal(a.reserve(0), (near, b"near"))
    equal(a("kick 1"), "KICKED 1")
    equal(a.reserve(0), (soon, b"soon"))
    equal(a.job(f"reserve-job {far}"), (far, b"far"))
    equal(a(f"delete {far}"), "DELETED")
    equal(a(f"delete {near}"), "DELETED")
    last = a.put("x", delay=500)
    equal(a(f"delete {last}"), "DELETED")


def test_reserve_job(place):
    _, connect = serve(place)
    a, b = connect(), connect()
    jobs = [a.put(str(n)) for n in range(3)]
    equal(a.job(f"reserve-job {jobs[1]}"), (jobs[1], b"1"))
    equal(b.job(f"reserve-job {jobs[1]}"), "NOT_FOUND")
    equal(a(f"bury {jobs[1]} 0"), "BURIED")
    equal(b.job(f"reserve-job {jobs[1]}"), (jobs[1], b"1"))
    equal([a.reserve()[0] for _ in range(2)], [jobs[0], jobs[2]])


def test_ttr(place):
    server, connect = serve(place)
    a, b = connect(), connect()
    job = a.put("x", ttr=2)
    equal(a.reserve()[0], job)
    equal(b.reserve(0), "TIMED_OUT")
    equal(a.reserve(), "DEADLINE_SOON")
    equal(a(f"touch {job}"), "TOUCHED")
    begin = time.monotonic()
    equal(b.reserve(30)[0], job, "its time to run is over")
    is_true(time.monotonic() - begin > 1, "the touch has begun it again")
    equal(a(f"delete {job}"), "NOT_FOUND")
    equal(b.yaml(f"stats-job {job}")["timeouts"], "1")
    equal(b.yaml("stats")["job-timeouts"], "1")
    ready = a.put("y", ttr=1)
    equal(a.reserve(), (ready, b"y"))
    other = a.put("z")
    equal(a.reserve(), (other, b"z"), "a ready job comes before the warning")
    is_true(len(server("GET", "/tasks").json()["items"]) == 3)


def test_a_closed_connection_returns_its_jobs(place):
    _, connect = serve(place)
    a, b, c = connect(), connect(), connect()
    jobs = [a.put(str(n), delay=0) for n in range(3)]
    equal([b.reserve()[0] for _ in jobs], jobs)
    got = []
    waiting = threading.Thread(target=lambda: got.append(c.reserve()))
    waiting.start()
    wait_until(lambda: a.yaml("stats-tube default")["current-waiting"] == "1", "c waits")
    b.close()
    waiting.join(60)
    equal(got, [(jobs[0], b"0")])
    equal([a.reserve(30)[0] for _ in range(2)], jobs[1:])
    c.send("reserve\r\n")  # the job comes after the client has gone: it isn't lost
    wait_until(lambda: a.yaml("stats-tube default")["current-waiting"] == "1", "c waits again")
    c.close()
    late = a.put("late")
    equal(a.reserve(30)[0], jobs[0])
    equal(a.reserve(30)[0], late)


def test_waits(place):
    _, connect = serve(place)
    a, b = connect(), connect()
    begin = time.monotonic()
    equal(a.reserve(1), "TIMED_OUT")
    is_true(0.9 < time.monotonic() - begin < 30)
    for name in ("x", "y"):
        a(f"watch {name}")
    a.send("reserve\r\n")
    b("use y")
    job = b.put("for y")
    equal(a.job_answer(), (job, b"for y"))


def test_pause(place):
    _, connect = serve(place)
    a, b = connect(), connect()
    a("use p")
    job = a.put("x")
    equal(b("watch p"), "WATCHING 2")
    equal(a("pause-tube p 1000"), "PAUSED")
    equal(b.reserve(0), "TIMED_OUT")
    equal(b.job(f"peek {job}")[0], job)
    stats = a.yaml("stats-tube p")
    equal((stats["pause"], stats["cmd-pause-tube"], stats["current-jobs-ready"]), ("1000", "1", "1"))
    b.send("reserve-with-timeout 50\r\n")
    wait_until(lambda: a.yaml("stats-tube default")["current-waiting"] == "1", "b waits")
    equal(a("pause-tube p 0"), "PAUSED")
    wait_until(lambda: a.yaml(f"stats-job {job}")["state"] == "reserved", "the pause has ended")
    equal(b.job_answer()[0], job)
    equal(b(f"delete {job}"), "DELETED")
    b("ignore default")
    b.send("reserve-with-timeout 50\r\n")
    equal(a("pause-tube p 1"), "PAUSED")
    job = a.put("y")
    equal(b.job_answer()[0], job, "a pause ends by itself")


def test_stats(place):
    _, connect = serve(place)
    a = connect()
    a("use s")
    a("watch s")
    for pri in (1, 1023, 1024, 5000):
        a.put("x", pri=pri)
    a.put("x", delay=100)
    a.reserve()
    equal({name: value for name, value in a.yaml("stats-tube s").items() if name.startswith(("current", "total"))},
          {"current-jobs-urgent": "1", "current-jobs-ready": "3", "current-jobs-reserved": "1",
           "current-jobs-delayed": "1", "current-jobs-buried": "0", "total-jobs": "5", "current-using": "1",
           "current-watching": "1", "current-waiting": "0"})
    stats = a.yaml("stats")
    equal({name: stats[name] for name in ("cmd-put", "cmd-reserve", "current-connections", "current-producers",
                                          "current-workers", "current-jobs-ready", "draining")},
          {"cmd-put": "5", "cmd-reserve": "1", "current-connections": "1", "current-producers": "1",
           "current-workers": "1", "current-jobs-ready": "3", "draining": "false"})


def test_restarts_keep_jobs(place):
    """Once stopped in good order, once killed."""
    server, connect = serve(place)
    a = connect()
    jobs = [a.put(f"{n}", pri=n) for n in range(5)]
    equal(a.reserve()[0], jobs[0])
    equal(a(f"bury {jobs[0]} 0"), "BURIED")
    equal(a.reserve()[0], jobs[1])
    equal(a(f"release {jobs[1]} 1 1000"), "RELEASED")
    a.close()
    server.stop()
    server, connect = serve(place)
    a = connect()
    equal([a.job(f"peek-{which}")[0] for which in ("buried", "delayed", "ready")], jobs[:3])
    equal(a.reserve()[0], jobs[2])
    server.kill()
    server, connect = serve(place)
    a = connect()
    equal(a.reserve()[0], jobs[3])
    equal(a.job(f"peek {jobs[2]}"), (jobs[2], b"2"))
    equal(a.reserve(), (jobs[4], b"4"))
    equal(a.reserve(60)[0], jobs[2], "the lease is over")


def test_draining(place):
    server, connect = serve(place, "--drain", "50s")
    a, b = connect(), connect()
    job = a.put("x")
    equal(a.reserve()[0], job)
    b.send("watch other\r\nignore default\r\nreserve\r\n")
    equal([b.line(), b.line()], ["WATCHING 2", "WATCHING 1"])
    server.process.send_signal(signal.SIGTERM)
    equal(b.line(), None, "waits end")
    wait_until(lambda: a.put("y") == "DRAINING", "the listener drains")
    equal(a(f"delete {job}"), "DELETED")
    server.stop()
    equal(a.line(), None)


def test_other_workers_see_the_same_tasks(place):
    server, connect = serve(place)
    a = connect()
    a("use shared")
    job = a.put("body", ttr=100)
    task = server.claim(types=["shared"])[0]
    equal(a.yaml(f"stats-job {job}")["state"], "reserved")
    equal(a(f"delete {job}"), "NOT_FOUND")
    server.act(task["id"], "fail", workerId="w", error={"message": "no", "retryable": False})
    equal(a.job("peek-buried"), (job, b"body"))
    equal(a(f"kick-job {job}"), "KICKED")
    a("watch shared")
    equal(a.reserve()[0], job)
    server.act(task["id"], "cancel")
    wait_until(lambda: a(f"touch {job}") == "NOT_FOUND", "the listener notices the cancel")


def test_addresses(place):
    place.faina("serve", "--listen", "127.0.0.1:0", "--beanstalk", "0.0.0.0:0", code=1)
    path = place.path("b.sock")
    server = place.serve("--beanstalk", f"unix:{path}")
    wait_until(lambda: server.log("listening for beanstalkd clients"), "the address")
    a = Beanstalk(f"unix:{path}")
    job = a.put("x")
    equal(a.reserve(), (job, b"x"))


def test_many_clients(place):
    """Each job once, whatever the clients do."""
    server, connect = serve(place)
    done, failures = [], []
    count, clients = 400, 16
    putting = connect()
    putting("use crowd")
    jobs = {putting.put(str(n), pri=random.randrange(3)) for n in range(count)}

    def work(seed):
        rng = random.Random(seed)
        try:
            a = connect()
            a("watch crowd")
            while True:
                got = a.reserve(0)
                if not isinstance(got, tuple):
                    if len(done) >= count:
                        return
                    continue
                what = rng.random()
                if what < 0.1:
                    a.close()
                    a = connect()
                    a("watch crowd")
                elif what < 0.2:
                    equal(a(f"release {got[0]} {rng.randrange(3)} 0"), "RELEASED")
                else:
                    equal(a(f"delete {got[0]}"), "DELETED")
                    done.append(got[0])
        except Exception as why: # pylint: disable=broad-except
            failures.append(why)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    equal(failures, [])
    equal((len(done), set(done)), (count, jobs))
    equal(server("GET", "/stats").json()["byStatus"]["completed"], count)


if __name__ == "__main__":
    run(globals(), on_postgres=True)
