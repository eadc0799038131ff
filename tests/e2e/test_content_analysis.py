#!/usr/bin/env python3
"""examples/content-analysis as its README shows it: with a server, and without."""
import json
import os
import shutil
import subprocess
import time

from helper_cli import BIN, PATIENCE, ROOT, contains, environment, equal, is_true, run

DOCUMENT = {"album": "Harbour", "title": "Tide Table", "artist": "The Longshore", "cover": "16 x 9"}


def prepare(cli):
    shutil.copytree(f"{ROOT}/examples/content-analysis", cli.folder, dirs_exist_ok=True)
    for name in ("workflows", "handlers"):  # whatever the umask of the checkout was
        os.chmod(cli.path(name), 0o755)
        for file in os.listdir(cli.path(name)):
            os.chmod(cli.path(f"{name}/{file}"), 0o755)


def upload(cli, file, album, **env):
    done = subprocess.run(["./upload", file, album], cwd=cli.folder, text=True,
                          env=environment(FAINA=BIN, **env), capture_output=True, timeout=PATIENCE,
                          check=False)
    equal(done.returncode, 0, done.stdout, done.stderr)
    return json.loads(done.stdout)


def documents(cli):
    if not os.path.exists(cli.path("content-index.jsonl")):
        return []
    with open(cli.path("content-index.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def types(cli, status, **env):
    items = cli("ls", "--status", status, env=env).json()["items"]
    return sorted(task["type"] for task in items)


def test_step_by_step(cli):
    prepare(cli)
    cli("workflow", "apply", "workflows/content-analysis.yaml")
    song = upload(cli, "samples/song.mp3", "Harbour")
    equal(len(song["tasks"]), 1)
    again = upload(cli, "samples/song.mp3", "Harbour")
    equal((again["existing"], again["tasks"]), (True, song["tasks"]))
    cover = upload(cli, "samples/cover.png", "Harbour")
    equal(upload(cli, "README.md", "Harbour")["tasks"], [])
    cli("worker", "--handlers", "handlers", "--idle-exit", "1s")
    equal(types(cli, "completed"), ["build.search", "extract.exif", "extract.id3"])
    equal(documents(cli), [DOCUMENT])
    built = cli("ls", "--type", "build.search").json()["items"][0]
    equal(built["origin"]["trigger"], "post-enrichment")
    is_true(cli.get(song["tasks"][0])["priority"] == 150 and
            cli.get(cover["tasks"][0])["priority"] == 100)
    why = cli("workflow", "why", cover["id"]).json()
    equal([(t["trigger"], t["result"]) for t in why["triggers"]],
          [("mp3", "not matched"), ("image", "matched")])
    state = cli("workflow", "joins").json()["items"][0]
    equal((state["round"], state["last"]["outcome"]), (2, "fired"))


def test_with_a_server(cli):
    prepare(cli)
    env = environment(FAINA_WORKFLOWS="workflows", FAINA_HANDLERS="handlers")
    with subprocess.Popen([BIN, "serve", "--workers", "2", "--listen", "127.0.0.1:0"],
                          cwd=cli.folder, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = (json.loads(line) for line in server.stderr)
            url = next(line["address"] for line in lines if line["message"] == "listening")
            upload(cli, "samples/cover.png", "Harbour", FAINA_URL=url)
            upload(cli, "samples/song.mp3", "Harbour", FAINA_URL=url)
            begin = time.monotonic()
            while "build.search" not in types(cli, "completed", FAINA_URL=url):
                is_true(time.monotonic() - begin < PATIENCE)
                time.sleep(0.05)
            equal(documents(cli), [DOCUMENT])
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)
    equal(server.returncode, 0)


def test_a_file_that_is_not_what_it_says(cli):
    prepare(cli)
    cli("workflow", "apply", "workflows/content-analysis.yaml")
    shutil.copy(cli.path("README.md"), cli.path("no.mp3"))
    upload(cli, "no.mp3", "Harbour")
    upload(cli, "samples/cover.png", "Harbour")
    cli("worker", "--handlers", "handlers", "--idle-exit", "1s")
    equal((types(cli, "failed"), types(cli, "completed")), (["extract.id3"], ["extract.exif"]))
    equal(documents(cli), [])
    equal(cli("workflow", "joins").json()["items"][0]["last"]["outcome"], "dropped")


def test_the_readme_shows_these_commands(_cli):
    with open(f"{ROOT}/README.md", encoding="utf-8") as file:
        tour = file.read()
    with open(f"{ROOT}/examples/content-analysis/README.md", encoding="utf-8") as file:
        own = file.read()
    for command in ("faina workflow apply", "upload samples/song.mp3 Harbour",
                    "upload samples/cover.png Harbour", "faina worker --handlers handlers"):
        contains(own, command)
        contains(tour, command.replace("faina worker --handlers handlers", "faina worker"))


run(globals())
