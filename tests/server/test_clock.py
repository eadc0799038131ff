#!/usr/bin/env python3
"""A system clock that was set back while the engine was closed: what `faina doctor`, the server's
log, GET /info and the metrics report."""
import json
import sqlite3

from helper_server import equal, is_true, run, wait_until

HOUR = 3600


def set_back(place, seconds):
    """The same as a clock that was ahead until now: the store has worked until a later time."""
    place.faina("submit", "x")
    database = sqlite3.connect(place.path("faina.db"))
    with database:
        equal(database.execute("UPDATE log SET at_us = at_us + ?", (seconds * 1000000,)).rowcount, 1)
    database.close()


def clock_checks(place):
    checks = json.loads(place.faina("doctor", "-o", "json").stdout)["checks"]
    return [check for check in checks if check["name"] == "clock"]


def test_a_clock_that_was_set_back_an_hour(place):
    set_back(place, HOUR)
    server = place.serve()
    server.submit("x")
    clock = server("GET", "/info", status=200).json()["clock"]
    equal(clock["jumps"], 1)
    is_true(-HOUR * 1000 - 1000 < clock["lastJumpMs"] < -HOUR * 900, clock)
    is_true(HOUR * 800 < clock["offsetMs"] <= -clock["lastJumpMs"], clock)
    is_true(HOUR * 0.8 < server.metric("faina_clock_offset_seconds") <= HOUR)
    equal(server.metric("faina_clock_jumps_total"), 1)
    wait_until(lambda: server.log("the system clock has jumped"), "the jump is logged")
    line = server.log("the system clock has jumped")[0]
    is_true(line["level"] == "warn" and line["seconds"] < 0 and line["engineAheadSeconds"] > 0, line)
    first, second = clock_checks(place)[:2]
    is_true(first["level"] == "warning" and "set back by" in first["message"], first)
    is_true("ahead of the system clock" in second["message"], second)
    is_true(server.metric('faina_oldest_ready_seconds{type="x"}') >= 0)


def test_a_clock_that_was_wrong_by_a_year(place):
    set_back(place, 366 * 24 * HOUR)
    server = place.serve()
    server.submit("x")
    clock = server("GET", "/info", status=200).json()["clock"]
    equal(clock["jumps"], 1)
    equal(clock["offsetMs"] // 1000, 0)
    equal(len([check for check in clock_checks(place) if check["level"] == "warning"]), 1)
    server.stop()
    equal(clock_checks(place)[0]["level"], "ok")


def test_a_clock_that_is_right(place):
    place.faina("submit", "x")
    server = place.serve()
    equal(server("GET", "/info", status=200).json()["clock"],
          {"offsetMs": 0, "jumps": 0, "lastJumpMs": 0, "lastJumpAt": None})
    is_true(all(check["level"] == "ok" for check in clock_checks(place)), clock_checks(place))


run(globals())
