#!/usr/bin/env python3
"""A server whose disk is full: it says so, refuses new tasks, and lets work end. Needs root."""
import os
import subprocess

from helper_server import Skip, equal, is_true, run, wait_until

BIG = "x" * 200000


class Disk:
    """A small file system of its own."""

    def __init__(self, place, size):
        self.path = place.path("disk")
        os.mkdir(self.path)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "none", self.path],
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Skip("a file system can't be mounted here")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)

    def write(self, name, size):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(b"\0" * size)


def fill(server):
    """Submits until the server refuses, and goes on refusing."""
    ids, refused = [], 0
    while refused < 5:
        answer = server("POST", "/tasks", {"type": "big", "input": BIG})
        if answer.status == 201:
            refused = 0
            ids.append(answer.json()["id"])
        else:
            equal((answer.status, answer.code(), answer.headers["Retry-After"]),
                  (503, "unavailable", "1"))
            is_true("disk is full" in answer.json()["detail"], answer)
            refused += 1
    return ids


def test_it_says_so_and_goes_on(place):
    with Disk(place, 48) as disk:
        disk.write("ballast", 16 << 20)
        server = place.serve(url=f"sqlite:{disk.path}/faina.db")
        held = server.held()["id"]
        equal(server("GET", "./readyz", status=200).json(), {"status": "ready"})
        equal(server.metric("faina_store_full"), 0)
        ids = fill(server)
        refusal = server("GET", "./readyz", status=503)
        is_true("disk is full" in refusal.json()["detail"], refusal)
        is_true(disk.path not in refusal.body.decode(), refusal)
        equal(server.metric("faina_store_full"), 1)
        server("GET", "./healthz", status=200)
        is_true("disk is full" in server("GET", "/info", status=200).json()["full"])
        # Everything that ends work goes on.
        server.act(held, "heartbeat", workerId="w")
        server.act(held, "complete", workerId="w", output={"sent": True})
        claimed = server.claim(limit=5)
        equal(len(claimed), 5)
        server("POST", "/outcomes", {"workerId": "w", "items": [
            {"id": task["id"], "status": "completed"} for task in claimed]}, 200)
        for task in ids[5:40]:
            server.act(task, "cancel")
        equal(server("GET", f"/tasks/{ids[6]}", status=200).json()["status"], "cancelled")
        # A purge makes room inside the file, and so do others on the disk.
        purged = server("POST", "/tasks:purge", {"status": ["cancelled"]}, 200).json()
        equal(purged["removed"], 35)
        server("PUT", "/workers/me", {}, 200)
        server("PUT", "/workers/me", {}, 200)
        server("POST", "/tasks", {"type": "big", "input": BIG}, 201)
        fill(server)
        os.remove(os.path.join(disk.path, "ballast"))
        wait_until(lambda: server("GET", "./readyz").status == 200, "it is full for ever")
        equal(server.metric("faina_store_full"), 0)
        server("POST", "/tasks", {"type": "big", "input": BIG}, 201)
        is_true(os.path.exists(f"{disk.path}/faina.db.reserve"))
        server.stop()


run(globals())
