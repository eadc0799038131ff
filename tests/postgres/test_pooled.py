#!/usr/bin/env python3
"""Behind pgbouncer in transaction mode, where no session is ours."""
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from helper_place import ADMIN, FAINA, PATIENCE, Place, environment  # noqa: E402
from checks import check, equal, finish, skip  # noqa: E402

# Reached by no search_path but the one that we set, and it needs its quotes.
SCHEMA = "Pooled%20it%27s"
QUOTED = '"Pooled it\'s"'


def find_program():
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bouncer:
    """A pgbouncer in front of a place. It doesn't run as root."""

    def __init__(self, place):
        self.place, self.port = place, free_port()
        folder = place.folder.name
        with open(f"{folder}/users", "w", encoding="ascii") as file:
            file.write(f'"{place.name}" "secret"\n')
        with open(f"{folder}/bouncer.ini", "w", encoding="ascii") as file:
            file.write(f"[databases]\n{place.name} = host=127.0.0.1 port={place.port()}\n"
                       "[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                       f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = plain\n"
                       f"auth_file = {folder}/users\npool_mode = transaction\n"
                       "default_pool_size = 3\n")
        user = os.environ.get("FA_POSTGRES_USER") or None
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [find_program(), f"{folder}/bouncer.ini"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user,
            group=pwd.getpwnam(user).pw_gid if user else None, extra_groups=[] if user else None)

    def __enter__(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise AssertionError("pgbouncer doesn't start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def url(self, more=""):
        return self.place.url(port=self.port) + f"?schema={SCHEMA}&pooled=true{more}"


def start_worker(place, url):
    worker = subprocess.Popen([FAINA, "worker", "--handlers", place.handlers(), "--url", url],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              cwd=place.folder.name, env=environment())
    while "is ready" not in worker.stderr.readline():
        assert worker.poll() is None, "the worker doesn't start"
    return worker


def end_worker(worker):
    worker.terminate()
    worker.communicate(timeout=PATIENCE)


def await_end(place, task, seconds):
    """Whether it is completed by then, seen past pgbouncer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if place.psql(f"SELECT status FROM {QUOTED}.tasks WHERE id = '{task}'") == "completed":
            return True
        time.sleep(0.1)
    return False


def test_chores_are_done_without_a_direct_way(place, bouncer):
    """What is due comes in line, and that needs a leader."""
    worker = start_worker(place, bouncer.url())
    _, task, said = place.faina("submit", "x", "--delay", "500ms", url=bouncer.url())
    check("a delayed task is done", await_end(place, task, 30), said)
    equal("somebody leads", place.psql(f"SELECT count(*) FROM {QUOTED}.workers WHERE is_leader"),
          "1")
    end_worker(worker)


def test_a_direct_way_is_used_to_listen(place, bouncer):
    """By the port alone, and by host and port. Who only looks now and then takes 5 s."""
    for direct in (f"&listen_port={place.port()}",
                   f"&listen_host=127.0.0.1&listen_port={place.port()}"):
        worker = start_worker(place, bouncer.url(direct))
        time.sleep(0.5)
        begin = time.monotonic()
        _, task, said = place.faina("submit", "x", url=bouncer.url(direct))
        check("the task is done at once", await_end(place, task, 3), said)
        check("it was told of", time.monotonic() - begin < 3)
        end_worker(worker)


def test_a_wrong_direct_way_is_told(place, bouncer):
    """Such a node would never lead, and never hear anything."""
    code, _, said = place.faina("submit", "x", url=bouncer.url("&listen_port=1"))
    equal("a port where nobody is", code, 6)
    check("... is named", "the direct way for LISTEN" in said and "port 1 " in said, said)


def test_settings_hold_in_each_transaction(place, bouncer):
    """What the role has set is not what a commit is made with."""
    place.psql(f"""CREATE TABLE seen (name text);
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.seen VALUES (current_setting('synchronous_commit')),
                (current_setting('idle_in_transaction_session_timeout')); RETURN NULL; END $$;
        CREATE TRIGGER see AFTER INSERT ON {QUOTED}.task FOR EACH ROW EXECUTE FUNCTION see()""")
    place.faina("submit", "x", url=bouncer.url())
    equal("the engine's own", place.psql("SELECT name FROM seen ORDER BY name"), "5s\non")


def test_nothing_is_left_behind(place, bouncer):
    code, _, said = place.faina("doctor", url=bouncer.url())
    equal("doctor", code, 0)
    equal("what proved the commits of those that have ended",
          place.psql(f"SELECT count(*) FROM {QUOTED}.proof"), "0")
    check("no complaint", not said, said)


def main():
    if not ADMIN or not find_program():
        skip("pgbouncer", "no PostgreSQL server, or no pgbouncer")
        finish()
    with Place() as place, Bouncer(place) as bouncer:
        place.set("synchronous_commit = off")  # before pgbouncer connects for the first time
        code, _, said = place.faina("db", "migrate", url=bouncer.url())
        equal("the schema is made", (code, said), (0, ""))
        test_chores_are_done_without_a_direct_way(place, bouncer)
        test_a_direct_way_is_used_to_listen(place, bouncer)
        test_a_wrong_direct_way_is_told(place, bouncer)
        test_settings_hold_in_each_transaction(place, bouncer)
        test_nothing_is_left_behind(place, bouncer)
    finish()


if __name__ == "__main__":
    main()
