#!/usr/bin/env python3
"""examples/vault: archives in and out byte by byte, kills in between, bad input, damaged stores.

On SQLite and PostgreSQL. VAULT_ENTRIES sets the size of the large archive (100,000 entries), and
VAULT_DISTINCT how many of them have contents of their own (200; more take a flush to disk each).
VAULT_KILLS is the number of kills at random times (2); FA_SEED chooses the times.
"""
import hashlib
import io
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import tarfile
import time

from helper_cli import BIN, BUILD, PATIENCE, ROOT, Skip, contains, environment, equal, is_true, run

SERVER = os.environ.get("FA_POSTGRES_URL")
PLUGIN = f"{BUILD}/vault.so"
EXAMPLE = f"{ROOT}/examples/vault"
IS_PLAIN = os.environ.get("FA_FLAVOUR", "plain") == "plain"
ENTRIES = int(os.environ.get("VAULT_ENTRIES", "100000" if IS_PLAIN else "5000"))
DISTINCT = int(os.environ.get("VAULT_DISTINCT", "200"))
KILLS = int(os.environ.get("VAULT_KILLS", "2"))
ENDED = ("completed", "failed", "dead_letter", "cancelled")


def sha(data):
    return hashlib.sha256(data).hexdigest()


def wait_for(fact, what, seconds=PATIENCE, step=0.02):
    end = time.monotonic() + seconds
    while not (got := fact()):
        is_true(time.monotonic() < end, f"waited for {what}")
        time.sleep(step)
    return got


class Vault:
    """A store, its files, and a worker with the plugin."""

    def __init__(self, cli, url="sqlite:faina.db", **settings):
        if not os.path.exists(PLUGIN):
            raise Skip(f"{PLUGIN} is not built: libarchive-dev is missing")
        self.cli, self.url, self.worker = cli, url, None
        self.store = cli.path("store/default")
        for name in ("files", "handlers"):
            os.makedirs(cli.path(name), mode=0o755, exist_ok=True)
        shutil.copy(PLUGIN, cli.path("handlers/vault.so"))
        env = {"VAULT_STORE": cli.path("store"), "VAULT_FILES": cli.path("files"), **settings}
        cli.write("handlers/vault.json", json.dumps({"env": env}))

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.worker:
            self.worker.kill()
            self.worker.communicate()
        if self.url.startswith("postgres"):
            name = self.url.split("schema=")[1]
            subprocess.run(["psql", "-X", "-q", SERVER, "-c",
                            f'SET client_min_messages = error; DROP SCHEMA "{name}" CASCADE'], check=False)

    def start(self, *flags):
        self.worker = subprocess.Popen(
            [BIN, "worker", "--url", self.url, "--lease", "2s", "--concurrency", "4", *flags],
            cwd=self.cli.folder, env=environment(), stderr=subprocess.PIPE, text=True)
        for line in self.worker.stderr:
            if "is ready" in line:
                break
        return self

    def kill(self):
        self.worker.kill()
        self.worker.communicate()
        self.worker = None

    def call(self, *args, code=0):
        return self.cli(*args, "--url", self.url, code=code)

    def submit(self, kind, data, *flags):
        return self.call("submit", kind, json.dumps(data), *flags).out.strip()

    def get(self, task):
        return self.call("get", task).json()

    def end_of(self, task):
        until = time.monotonic() + PATIENCE + DISTINCT / 100
        while True:
            self.call("wait", task, "--timeout", "20s", code=None)
            got = self.get(task)
            if got["status"] in ENDED:
                return got
            is_true(time.monotonic() < until, got)

    def output(self, kind, data):
        task = self.end_of(self.submit(kind, data))
        equal(task["status"], "completed", task)
        return task["output"]

    def refusal(self, kind, data, *flags, status="failed"):
        task = self.end_of(self.submit(kind, data, *flags))
        equal(task["status"], status, task)
        return task["error"]["message"]

    def write(self, name, data):
        return self.cli.write(f"files/{name}", data)

    def ingest(self, name):
        return self.output("ingest.container", {"sourcePath": name})

    def reconstruct(self, ref, name):
        return self.output("reconstruct.container", {"containerRef": ref, "outputPath": name})

    def settle(self):
        """Waits until everything that was started has ended."""
        waiting = "pending,claimed,running,blocked,background"
        wait_for(lambda: not self.call("ls", "--status", waiting).json()["items"], "an idle store")

    def listing(self):
        """Every file of the object store with its contents' hash; not the index."""
        found = {}
        for where, _, names in os.walk(self.store):
            for name in names:
                path = os.path.join(where, name)
                if "index." not in name:
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.store)] = sha(file.read())
        return found

    def object(self, digest):
        return f"{self.store}/objects/{digest[:2]}/{digest}"

    def staged(self):
        return [name for _, _, names in os.walk(f"{self.store}/staging") for name in names]


def on_postgres(cli, name):
    if not SERVER or not shutil.which("psql"):
        raise Skip("no PostgreSQL")
    schema = f"vault_{name}_{os.getpid()}_{random.randrange(1 << 30)}"
    return Vault(cli, SERVER + ("&" if "?" in SERVER else "?") + f"schema={schema}")


# ------------------------------------------------------------------------------------------
# Archives
# ------------------------------------------------------------------------------------------


def entry(archive, name, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def archive_of(files, **more):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **more) as archive:
        for name, data in files:
            entry(archive, name, data)
    return out.getvalue()


def hostile():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry(archive, "../../escape", b"up")
        entry(archive, "/tmp/vault-absolute", b"absolute")
        entry(archive, "a/../../b", b"around")
        entry(archive, "device", type=tarfile.CHRTYPE, devmajor=1, devminor=3)
        entry(archive, "block", type=tarfile.BLKTYPE, devmajor=8, devminor=0)
        entry(archive, "fifo", type=tarfile.FIFOTYPE)
        entry(archive, "link", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        entry(archive, "link/through", b"through the link")
        entry(archive, "hard", type=tarfile.LNKTYPE, linkname="../../escape")
        entry(archive, "", b"no name")
        entry(archive, 'quote"back\\slash\nline', b"odd name")
        entry(archive, "deep/" * 3000 + "x", b"long name")
        entry(archive, "again", b"up")
    return out.getvalue()


def sparse(cli):
    """4 GiB with a few bytes in it, in the dialects of GNU tar."""
    path = cli.path("sparse")
    with open(path, "wb") as file:
        file.truncate(4 << 30)
        file.seek(1000000)
        file.write(b"one")
        file.seek(3 << 30)
        file.write(b"two")
    for name, flags in (("old.tar", ["--format=gnu"]), ("pax.tar", ["--format=posix"]),
                        ("pax01.tar", ["--format=posix", "--sparse-version=0.1"])):
        subprocess.run(["tar", "-C", cli.folder, "-S", *flags, "-cf", cli.path(f"files/{name}"),
                        "sparse"], check=True)
        yield name
    os.unlink(path)


def dialects(cli):
    """The names of archives in files/, one of each kind."""
    rng = random.Random(1)
    files = [(f"d/{n}" + "x" * rng.randrange(150), rng.randbytes(rng.choice((0, 1, 511, 512, 513, 70000))))
             for n in range(40)]
    plain = archive_of(files, format=tarfile.USTAR_FORMAT) if max(len(n) for n, _ in files) < 100 \
        else archive_of(files, format=tarfile.GNU_FORMAT)
    dirty = bytearray(archive_of([("a", b"x"), ("b", b"y" * 600)]))
    dirty[513:1024] = rng.randbytes(511)  # what is behind the last byte of a file need not be zeros
    made = {
        "gnu.tar": plain,
        "pax.umlauts.tar": archive_of([(f"straße/{n}" + "ü" * 100, b"%d" % n) for n in range(3)],
                                      format=tarfile.PAX_FORMAT,
                                      pax_headers={"comment": "global"}),
        "padding.tar": bytes(dirty),
        "trailing.tar": plain + rng.randbytes(100001),
        "two.tar": plain + archive_of([("second", b"archive")]),
        "short.tar": archive_of([("a", b"1")])[:1024 + 512],  # one zero block at its end, not two
        "nothing.tar": bytes(10240),
        "large.tar": archive_of([("large", rng.randbytes(3 << 20)), ("small", b"s")]),
        "hostile.tar": hostile(),
    }
    for name, data in made.items():
        cli.write(f"files/{name}", data)
        yield name
    yield from sparse(cli)


def raw_archive(path, entries, distinct):
    """Many small files, quickly."""
    head = bytearray(tarfile.TarInfo("n" * 20).tobuf())
    blocks = [(b"content %d" % n).ljust(512, b"\0") for n in range(distinct)]
    with open(path, "wb") as file:
        for n in range(entries):
            size = len(blocks[n % distinct].rstrip(b"\0"))
            head[0:20] = b"many/%015d" % n
            head[124:136] = b"%011o\0" % size
            head[148:156] = b" " * 8
            head[148:156] = b"%06o\0 " % sum(head)
            file.write(head)
            file.write(blocks[n % distinct])
        file.write(bytes(1024))


# ------------------------------------------------------------------------------------------
# Byte identity
# ------------------------------------------------------------------------------------------


def check_dialects(vault):
    above = sorted(os.listdir(vault.cli.folder))
    names = list(dialects(vault.cli))
    tasks = [vault.submit("ingest.container", {"sourcePath": name}) for name in names]
    refs = []
    for name, task in zip(names, tasks):
        task = vault.end_of(task)
        equal(task["status"], "completed", name, task)
        with open(vault.cli.path(f"files/{name}"), "rb") as file:
            equal(task["output"]["containerRef"], sha(file.read()), name)
        refs.append(task["output"]["containerRef"])
    tasks = [vault.submit("reconstruct.container", {"containerRef": ref, "outputPath": f"{name}.copy"})
             for name, ref in zip(names, refs)]
    for name, task in zip(names, tasks):
        task = vault.end_of(task)
        equal((task["status"], task["output"]),
              ("completed", {"outputPath": f"{name}.copy", "verified": True}), task)
        equal(subprocess.run(["cmp", vault.cli.path(f"files/{name}"), vault.cli.path(f"files/{name}.copy")],
                             check=False).returncode, 0, name)
    # Nothing was extracted, and a hole of 4 GiB takes no room.
    equal([name for name in os.listdir(vault.cli.folder) if name not in above],
          [name for name in os.listdir(vault.cli.folder) if name in ("store",) and name not in above])
    is_true(not os.path.exists("/tmp/vault-absolute"))
    is_true(max(os.path.getsize(os.path.join(where, name))
                for where, _, files in os.walk(vault.store) for name in files) < 10 << 20)
    equal(vault.staged(), [])
    for where, _, files in os.walk(f"{vault.store}/objects"):
        for name in files:
            with open(os.path.join(where, name), "rb") as file:
                equal(sha(file.read()), name)
    return refs


def test_every_dialect_is_reconstructed(cli):
    with Vault(cli) as vault:
        refs = check_dialects(vault)
        leaves = vault.output("rebuild.sql", {"tenantId": "default"})
        equal(leaves["manifestCount"], len(set(refs)))
        count = sum(len(names) for _, _, names in os.walk(f"{vault.store}/objects"))
        equal(leaves["leafCount"], count)
        # Once more changes nothing.
        before = vault.listing()
        equal(vault.ingest("hostile.tar")["leafCount"], 7)
        equal(vault.listing(), before)


def test_every_dialect_is_reconstructed_on_postgres(cli):
    with on_postgres(cli, "dialects") as vault:
        check_dialects(vault)


def test_a_hundred_thousand_entries(cli):
    with Vault(cli) as vault:
        path = cli.path("files/many.tar")
        raw_archive(path, ENTRIES, DISTINCT)
        done = vault.ingest("many.tar")
        equal(done["leafCount"], DISTINCT)
        vault.reconstruct(done["containerRef"], "many.copy")
        equal(subprocess.run(["cmp", path, cli.path("files/many.copy")], check=False).returncode, 0)
        with sqlite3.connect(f"{vault.store}/index.db") as index:
            equal(index.execute("SELECT count(*), count(DISTINCT hash) FROM entry").fetchone(),
                  (ENTRIES, DISTINCT))
        print(f"{DISTINCT} different files")


# ------------------------------------------------------------------------------------------
# Bad input
# ------------------------------------------------------------------------------------------


def test_bad_archives_change_nothing(cli):
    with Vault(cli) as vault:
        good = archive_of([("a", b"first"), ("b", os.urandom(3000)), ("c", b"last")])
        overflow = bytearray(good)
        overflow[124:136] = b"\x80" + b"\x7f" * 11  # 2^94 bytes, in base 256
        overflow[148:156] = b" " * 8
        overflow[148:156] = b"%06o\0 " % sum(overflow[:512])
        cases = {
            "in-a-header.tar": (good[:700], "truncated"),
            "in-a-file.tar": (good[:1024 + 512 + 700], "truncated"),
            "between.tar": (good[:1024], "truncated: it ends without an end mark"),
            "empty.tar": (b"", "not a tar archive"),
            "noise.tar": (os.urandom(5000), "not a tar archive"),
            "zipped.tar": (__import__("gzip").compress(good), "not a tar archive"),
            "overflow.tar": (bytes(overflow), ""),
            "checksum.tar": (good[:1024] + b"\1" + good[1025:], "damaged"),
        }
        tasks = {}
        for name, (data, _) in cases.items():
            vault.write(name, data)
            tasks[name] = vault.submit("ingest.container", {"sourcePath": name})
        for name, (_, message) in cases.items():
            task = vault.end_of(tasks[name])
            equal((task["status"], task["attempts"]), ("failed", 1), name, task)
            contains(task["error"]["message"], message)
        wait_for(lambda: not vault.staged(), "the staging folders to be removed")
        equal(vault.listing(), {})


def test_bad_paths_and_inputs(cli):
    with Vault(cli) as vault:
        vault.write("good.tar", archive_of([("a", b"1")]))
        cli.write("outside.tar", archive_of([("a", b"1")]))
        os.symlink(cli.path("outside.tar"), cli.path("files/link.tar"))
        os.mkfifo(cli.path("files/pipe"))
        ref = vault.ingest("good.tar")["containerRef"]
        absolute = vault.ingest(cli.path("files/good.tar"))
        equal(absolute, {"containerRef": ref, "leafCount": 1})
        vault.write("taken", b"mine")
        for kind, data, message in (
                ("ingest.container", {"sourcePath": "missing.tar"}, "No such file"),
                ("ingest.container", {"sourcePath": "../outside.tar"}, "is not below the folder"),
                ("ingest.container", {"sourcePath": cli.path("outside.tar")}, "is not below the folder"),
                ("ingest.container", {"sourcePath": "link.tar"}, "is not below the folder"),
                ("ingest.container", {"sourcePath": "."}, "not a regular file"),
                ("ingest.container", {"sourcePath": "pipe"}, "not a regular file"),
                ("ingest.container", {}, "sourcePath"),
                ("ingest.container", [1], "not a JSON object"),
                ("reconstruct.container", {"containerRef": "f00", "outputPath": "x"}, "SHA-256"),
                ("reconstruct.container", {"containerRef": "0" * 64, "outputPath": "x"}, "there is no container"),
                ("reconstruct.container", {"containerRef": ref, "outputPath": "../x"}, "is not below"),
                ("reconstruct.container", {"containerRef": ref, "outputPath": "no/x"}, "No such file"),
                ("reconstruct.container", {"containerRef": ref, "outputPath": "."}, "does not name a file"),
                ("reconstruct.container", {"containerRef": ref, "outputPath": "taken"}, "exists already"),
                ("reconstruct.container", {"containerRef": ref}, "outputPath"),
                ("rebuild.sql", {"tenantId": "another"}, "tenantId is another"),
                ("enrichment", {"leafRef": "0" * 64}, "there is no leaf"),
                ("enrichment", {"leafRef": "all"}, "neither"),
                ("build.search", {"hash": "../../x"}, "SHA-256")):
            contains(vault.refusal(kind, data), message)
        with open(cli.path("files/taken"), "rb") as file:
            equal(file.read(), b"mine")
        equal(sorted(os.listdir(cli.path("files"))), ["good.tar", "link.tar", "pipe", "taken"])
        vault.reconstruct(ref, "copy.tar")
        vault.reconstruct(ref, "copy.tar")  # the same bytes again


def test_changed_bytes_are_named(cli):
    with Vault(cli) as vault:
        files = {name: os.urandom(2000) for name in "abc"}
        vault.write("x.tar", archive_of(files.items()))
        ref = vault.ingest("x.tar")["containerRef"]
        leaf = sha(files["b"])
        with open(f"{vault.store}/index.db", "rb") as file:
            index = file.read()

        def both(message, name):
            contains(vault.refusal("reconstruct.container", {"containerRef": ref, "outputPath": "y"}), message)
            contains(vault.refusal("rebuild.sql", {}), message)
            is_true(not os.path.exists(cli.path("files/y")), name)
            with open(f"{vault.store}/index.db", "rb") as file:
                equal(file.read(), index)

        def change(path, edit):
            with open(path, "rb") as file:
                old = file.read()
            os.chmod(path, 0o600)
            with open(path, "wb") as file:
                file.write(edit(old))
            return lambda: open(path, "wb").write(old) and None

        flip = lambda old: old[:1000] + bytes([old[1000] ^ 1]) + old[1001:]
        for edit in (flip, lambda old: old[:-1], lambda old: old + b"x"):
            undo = change(vault.object(leaf), edit)
            both(f"leaf {leaf} was changed", "a leaf")
            undo()
        undo = change(f"{vault.store}/skeletons/{ref}", flip)
        both("the skeleton", "the skeleton")
        undo()
        manifest = f"{vault.store}/manifests/{ref}.jsonl"
        for edit in (lambda old: old.replace(b'"size":2000', b'"size":1999', 1),
                     lambda old: old[:old.rindex(b"\n", 0, -1) + 1], lambda old: old + b"{}\n",
                     lambda old: b"[" * 100000, lambda old: b""):
            undo = change(manifest, edit)
            both(f"the manifest of container {ref} was changed", "the manifest")
            undo()
        os.unlink(vault.object(leaf))
        both(f"leaf {leaf} is missing", "a missing leaf")
        # The archive, ingested again, repairs the store.
        equal(vault.ingest("x.tar")["containerRef"], ref)
        vault.reconstruct(ref, "y")
        equal(vault.output("rebuild.sql", {}), {"leafCount": 3, "manifestCount": 1})
        # A damaged index is no reason for a rebuild to fail.
        cli.write("store/default/index.db", b"no database" * 1000)
        vault.output("rebuild.sql", {})
        with open(f"{vault.store}/index.db", "rb") as file:
            equal(file.read(), index)


# ------------------------------------------------------------------------------------------
# The model server
# ------------------------------------------------------------------------------------------


class StandIn:
    def __init__(self, mode=""):
        self.process = subprocess.Popen([f"{EXAMPLE}/ollama-stand-in", "0"], text=True,
                                        stdout=subprocess.PIPE, env=environment(MODE=mode))
        self.address = f"127.0.0.1:{self.process.stdout.readline().strip()}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_model_servers(cli):
    modes = {"slow": "did not answer within 1 s", "prose": "not a JSON object",
             "partial": "no array keywords", "html": "not a JSON object", "deep": "not a JSON object",
             "large": "larger than", "broken": "status 500", "cut": ""}
    leaf = sha(b"a harbour and its ferries")
    with Vault(cli) as vault:
        vault.write("x.tar", archive_of([("x.txt", b"a harbour and its ferries")]))
        vault.ingest("x.tar")
        vault.settle()
        before = vault.listing()
        vault.kill()
        for mode, message in modes.items():
            with StandIn(mode) as server:
                with Vault(cli, VAULT_OLLAMA=f"http://{server.address}", VAULT_MODEL_TIMEOUT="1") as vault:
                    contains(vault.refusal("enrichment", {"leafRef": leaf}, "--max-attempts", "1",
                                           status="dead_letter"), message)
        away = f"127.0.0.1:{free_port()}"
        with Vault(cli, VAULT_OLLAMA=f"http://{away}") as vault:
            contains(vault.refusal("enrichment", {"leafRef": leaf}, "--max-attempts", "1",
                                   status="dead_letter"), "can't be reached")
        equal(vault.listing(), before)
        # With a check of the service nothing is tried: the task waits until the server is there.
        vault = Vault(cli, VAULT_OLLAMA=f"http://{away}")
        vault.start("--service", f"ollama=tcp:{away}")
        task = vault.submit("enrichment", {"leafRef": leaf}, "--resource", "ollama")
        time.sleep(0.5)
        equal((vault.get(task)["status"], vault.get(task)["attempts"]), ("pending", 0))
        vault.kill()
        with StandIn() as server:
            vault = Vault(cli, VAULT_OLLAMA=f"http://{server.address}")
            with vault:
                done = vault.end_of(task)
                equal(done["output"]["metadata"],
                      {"title": "x.txt", "summary": done["output"]["metadata"]["summary"],
                       "keywords": ["ferries", "harbour"]}, done)
                equal(vault.output("enrichment", {"leafRef": "pending"}),
                      {"metadata": {"enriched": 0, "failed": 0}})
                is_true(f"notes/{leaf[:2]}/{leaf}.enrichment" in vault.listing())


# ------------------------------------------------------------------------------------------
# Kills
# ------------------------------------------------------------------------------------------


def many_files(count=1500):
    rng = random.Random(2)
    return [(f"f/{n}", rng.randbytes(rng.randrange(4000))) for n in range(count)] + \
        [("large", rng.randbytes(20 << 20))]


def check_kills(vault):
    """One in the middle of an ingest, one in that of a rebuild."""
    files = many_files()
    vault.write("k.tar", archive_of(files))
    with open(vault.cli.path("files/k.tar"), "rb") as file:
        ref = sha(file.read())
    with vault:
        task = vault.submit("ingest.container", {"sourcePath": "k.tar"})
        wait_for(lambda: len(vault.staged()) > 100, "some leaves", step=0.001)
        vault.kill()
        is_true(not os.path.exists(f"{vault.store}/manifests/{ref}.jsonl"), "killed too late")
        vault.start()
        done = vault.end_of(task)
        equal(done["status"], "completed", done)
        is_true(done["attempts"] > 1, done)
        equal(done["output"], {"containerRef": ref, "leafCount": len({sha(data) for _, data in files})})
        for _, data in files:
            with open(vault.object(sha(data)), "rb") as file:
                equal(file.read(), data)
        vault.reconstruct(ref, "copy.tar")
        equal(subprocess.run(["cmp", vault.cli.path("files/k.tar"), vault.cli.path("files/copy.tar")],
                             check=False).returncode, 0)
        wait_for(lambda: not vault.staged(), "the staging folder to be removed")

        counts = vault.output("rebuild.sql", {})
        with open(f"{vault.store}/index.db", "rb") as file:
            index = file.read()
        objects = vault.listing()
        task = vault.submit("rebuild.sql", {})
        wait_for(lambda: os.path.exists(f"{vault.store}/index.db.new"), "the rebuild", step=0.001)
        vault.kill()
        with open(f"{vault.store}/index.db", "rb") as file:
            equal(file.read(), index)
        vault.start()
        done = vault.end_of(task)
        equal((done["status"], done["output"]), ("completed", counts), done)
        with open(f"{vault.store}/index.db", "rb") as file:
            equal(file.read(), index)
        equal(vault.listing(), objects)
        is_true(not os.path.exists(f"{vault.store}/index.db.new"))


def test_kills(cli):
    check_kills(Vault(cli))


def test_kills_on_postgres(cli):
    check_kills(on_postgres(cli, "kills"))


def test_kills_at_any_time(cli):
    rng = random.Random(int(os.environ.get("FA_SEED", "1")))
    with Vault(cli) as vault:
        for n in range(KILLS):
            files = [(f"{n}/{k}", rng.randbytes(rng.randrange(3000))) for k in range(300)]
            data = archive_of(files)
            vault.write(f"{n}.tar", data)
            task = vault.submit("ingest.container", {"sourcePath": f"{n}.tar"})
            time.sleep(rng.random() * 0.4)
            vault.kill()
            vault.start()
            done = vault.end_of(task)
            equal((done["status"], done["output"]),
                  ("completed", {"containerRef": sha(data),
                                 "leafCount": len({sha(content) for _, content in files})}), done)
            vault.reconstruct(sha(data), f"{n}.copy")
            with open(cli.path(f"files/{n}.copy"), "rb") as file:
                is_true(file.read() == data, n)
        equal(vault.output("rebuild.sql", {})["manifestCount"], KILLS)
    print(f"{KILLS} kills in an ingest")


def test_only_the_plugin_is_killed(cli):
    """The worker goes on; it starts the plugin again, which finds what it left."""
    with Vault(cli) as vault:
        vault.write("k.tar", archive_of(many_files()))
        task = vault.submit("ingest.container", {"sourcePath": "k.tar"})
        wait_for(lambda: len(vault.staged()) > 100, "some leaves", step=0.001)
        for line in subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(vault.worker.pid)],
                                   capture_output=True, text=True, check=True).stdout.splitlines():
            if "plugin-host" in line:
                os.kill(int(line.split()[0]), signal.SIGKILL)
        done = vault.end_of(task)
        equal((done["status"], done["attempts"]), ("completed", 2), done)


def test_a_cancelled_ingest_stops(cli):
    with Vault(cli) as vault:
        vault.write("k.tar", archive_of(many_files(4000)))
        task = vault.submit("ingest.container", {"sourcePath": "k.tar"})
        wait_for(lambda: len(vault.staged()) > 10, "some leaves", step=0.001)
        vault.call("cancel", task)
        wait_for(lambda: not vault.staged(), "the staging folder to be removed")
        equal(vault.get(task)["status"], "cancelled")


# ------------------------------------------------------------------------------------------
# The whole example
# ------------------------------------------------------------------------------------------


def test_the_example_as_its_readme_shows_it(cli):
    """`make run EXAMPLE=vault`, and what follows from it in the workflow."""
    if not os.path.exists(PLUGIN):
        raise Skip(f"{PLUGIN} is not built: libarchive-dev is missing")
    address = f"127.0.0.1:{free_port()}"
    with subprocess.Popen([f"{EXAMPLE}/run", BIN, "serve"], cwd=cli.folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(FAINA_LISTEN=address, VAULT_OLLAMA=f"127.0.0.1:{free_port()}")) as show:
        lines = []
        for line in show.stdout:
            lines.append(line.rstrip("\n"))
            if "Ctrl-C ends it" in line:
                break
        url = f"http://{address}"
        schedule = cli("cron", "ls", "--url", url).json()["items"][0]
        resources = cli("resource", "ls", "--url", url).json()["items"]
        tasks = cli("ls", "--limit", "1000", "--url", url).json()["items"]
        show.send_signal(signal.SIGTERM)
        _, err = show.communicate(timeout=PATIENCE)
    with open(f"{EXAMPLE}/README.md", encoding="utf-8") as file:
        shown = file.read().split("$ make run EXAMPLE=vault\n")[1].split("\n\n")[0].split("\n")
    shown = [line[4:].replace("127.0.0.1:7070", address).replace("/home/ann", os.path.realpath(cli.folder))
             for line in shown]
    equal(lines, shown, err[-3000:])
    equal((schedule["name"], schedule["schedule"]), ("nightlyEnrichment", "0 0 2 * * ?"))
    equal({item["name"]: item["maxConcurrency"] for item in resources}.get("ollama"), 2)
    made = sorted(task["type"] for task in tasks if task["origin"])
    equal(made, ["build.search"] * 4 + ["extract.exif", "extract.id3", "extract.text", "extract.text"] +
          ["scan.virus"] * 4)
    equal({task["status"] for task in tasks}, {"completed"})


run(globals())
