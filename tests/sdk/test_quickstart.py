#!/usr/bin/env python3
"""The programs of docs/quickstart.md and of the libraries' READMEs run as they are written, and the manual is built
without a warning."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/tests/support")
from checks import BUILD, FAINA, check, equal, finish, skip  # pylint: disable=C0413

PATIENCE = 120


def blocks():
    """The code of each language, by its heading."""
    with open(f"{ROOT}/docs/quickstart.md", encoding="utf-8") as file:
        parts = re.split(r"^### (.*)\n", file.read(), flags=re.M)[1:]
    return {name: re.search(r"```\w+\n(.*?)```", body, re.S)[1]
            for name, body in zip(parts[::2], parts[1::2])}


def readme_block(folder):
    """The program in the README of a library."""
    with open(f"{ROOT}/sdk/{folder}/README.md", encoding="utf-8") as file:
        return re.search(r"```\w+\n(.*?)```", file.read(), re.S)[1]


# The README for Go has what is inside of main.
GO_MAIN = """package main

import (
	"context"
	"log"

	"faina.example/faina"
)

type Mail struct{ To string }

func main() {
	ctx := context.Background()
	%s
	if err != nil {
		log.Fatal(err)
	}
}
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def install(folder, env, *words):
    """As the page says, without a network."""
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True,
                          env={**env, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull,
                               "npm_config_offline": "true", "npm_config_cache": f"{folder}/npm"})
    check(" ".join(words), done.returncode == 0, done.stdout + done.stderr)


def python(folder, code, env):
    install(folder, env, sys.executable, "-m", "venv", "venv")
    os.symlink(f"{ROOT}/sdk", f"{folder}/sdk")
    install(folder, env, "venv/bin/pip", "install", "./sdk/python")
    write(f"{folder}/quickstart.py", code)
    return ["venv/bin/python", "quickstart.py"], env


def typescript(folder, code, env):
    shutil.copytree(f"{ROOT}/sdk/typescript", f"{folder}/sdk/typescript",
                    ignore=shutil.ignore_patterns("node_modules"))
    install(folder, env, "npm", "install", "./sdk/typescript")
    write(f"{folder}/quickstart.mjs", code)
    return ["node", "quickstart.mjs"], env


def go(folder, code, env):
    env = {**env, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local",
           "GOCACHE": f"{BUILD}/go-cache"}
    write(f"{folder}/main.go", code)
    write(f"{folder}/go.mod", "module quickstart\n\ngo 1.19\n")
    os.symlink(f"{ROOT}/sdk", f"{folder}/sdk")
    install(folder, env, "go", "mod", "edit", "-require=faina.example/faina@v0.0.0",
            "-replace=faina.example/faina=./sdk/go")
    install(folder, env, "go", "build", "-o", "quickstart", ".")
    return ["./quickstart"], env


def command(folder, code, env):
    write(f"{folder}/handlers/mail.send", code, 0o755)
    subprocess.run([FAINA, "submit", "mail.send", '{"to":"ann@example.com"}', "--key", "welcome-ann"],
                   cwd=folder, env=env, check=True, capture_output=True)
    return [FAINA, "worker", "--handlers", "handlers"], env


WAYS = {"Python": (python, "python3"), "TypeScript": (typescript, "npm"), "Go": (go, "go"),
        "Command": (command, "jq")}


def start_server(folder, env):
    server = subprocess.Popen([FAINA, "serve", "--url", "memory:", "--listen", "127.0.0.1:0"],  # pylint: disable=R1732
                              cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        entry = json.loads(line)
        if entry.get("message") == "listening":
            return server, entry["address"]
    sys.exit("the server did not start")


def ls(env):
    done = subprocess.run([FAINA, "ls", "-o", "json"], env=env, check=True, capture_output=True,
                          text=True)
    return json.loads(done.stdout)["items"]


def run_quickstart(name, code):
    way, program = WAYS[name]
    if not shutil.which(program):
        skip(name, f"no {program}")
        return
    with tempfile.TemporaryDirectory(prefix="faina-quickstart-") as folder:
        env = {key: value for key, value in os.environ.items() if not key.startswith("FAINA_")}
        server, address = start_server(folder, env)
        env["FAINA_URL"] = address
        try:
            words, its_env = way(folder, code, env)
            worker = subprocess.Popen(words, cwd=folder, env=its_env)  # pylint: disable=R1732
            until = time.monotonic() + PATIENCE
            while not any(task["status"] == "completed" for task in ls(env)):
                if worker.poll() is not None or time.monotonic() > until:
                    break
                time.sleep(0.05)
            tasks = ls(env)
            equal(f"{name}: tasks", [(task["type"], task["status"], task["output"])
                                     for task in tasks],
                  [("mail.send", "completed", {"sent": "ann@example.com"})])
            worker.send_signal(signal.SIGTERM)
            worker.wait(PATIENCE)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE)


def main():
    code = blocks()
    equal("languages", sorted(code), sorted(WAYS))
    for name in WAYS:
        run_quickstart(name, code[name])
    run_quickstart("Python", readme_block("python"))
    run_quickstart("TypeScript", readme_block("typescript"))
    run_quickstart("Go", GO_MAIN % readme_block("go"))
    if shutil.which("mkdocs"):
        done = subprocess.run([f"{ROOT}/tools/build-docs"], check=False, capture_output=True, text=True)
        equal("the manual", (done.returncode, done.stderr), (0, ""))
    else:
        skip("the manual", "no mkdocs")
    finish()


if __name__ == "__main__":
    main()
