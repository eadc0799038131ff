#!/usr/bin/env python3
"""Completions and the manual page: they parse, and agree with the program."""
import os
import re
import shutil
import socket
import subprocess
import time

from helper_cli import (BIN, PATIENCE, ROOT, Skip, contains, environment, equal, is_served, is_true, run,
                        verbs)

FILES = {"bash": "faina.bash", "zsh": "_faina", "fish": "faina.fish"}
# The scripts run the program that is in the path.
os.environ["PATH"] = f"{os.path.dirname(os.path.abspath(BIN))}:{os.environ['PATH']}"


def test_completions_are_as_the_program_prints_them(cli):
    for shell, name in FILES.items():
        with open(f"{ROOT}/completions/{name}", encoding="utf-8") as file:
            equal(file.read(), cli("completion", shell).out)


def test_completions_parse(cli):
    for shell, command in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]),
                           ("fish", ["fish", "--no-execute"])):
        if not shutil.which(shell):
            raise Skip(f"no {shell} here")
        done = subprocess.run([*command, f"{ROOT}/completions/{FILES[shell]}"], text=True,
                              capture_output=True, check=False)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), shell)


def complete(cli, *words):
    """What bash puts in place of the last word, or of its part behind the last : or =."""
    parts = [part for word in words for part in re.findall("[@:=]+|[^@:=]+", word) or [""]]
    quoted = " ".join(f"'{part}'" for part in parts)
    script = (f"source {ROOT}/completions/faina.bash; COMP_LINE='{' '.join(words)}'; "
              f"COMP_WORDS=({quoted}); COMP_CWORD={len(parts) - 1}; "
              f"_faina faina '{re.split('[:=]', words[-1])[-1]}'; "
              f"printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script], cwd=cli.folder, capture_output=True, text=True,
                          check=True)
    equal(done.stderr, "")
    return done.stdout.split()


def test_bash_completes(cli):
    cli.write("tasks.jsonl", "")
    equal(complete(cli, "faina", "su"), ["submit"])
    equal(complete(cli, "faina", "no-such-verb", ""), [])
    equal(complete(cli, "faina", "ls", "--all", "--al"), [])
    equal(complete(cli, "faina", "--url", "memory:", "expl"), ["explain"])
    equal(complete(cli, "faina", "team", ""), ["ls", "get", "create", "set", "rm"])
    equal(complete(cli, "faina", "submit", "x", "--prio"), ["--priority"])
    equal(complete(cli, "faina", "db", "purge", "--older"), ["--older-than"])
    equal(complete(cli, "faina", "ls", "--status", "dead"), ["dead_letter"])
    equal(complete(cli, "faina", "ls", "-o", "j"), ["json", "jsonl"])
    equal(complete(cli, "faina", "completion", "z"), ["zsh"])
    equal(complete(cli, "faina", "ls", "--status=dead"), ["dead_letter"])
    equal(complete(cli, "faina", "submit", "--bulk", "--prio"), ["--priority"])
    equal(complete(cli, "faina", "--namespace", ""), [])


def fill(cli):
    """Names of each kind, of which each begins with "the"."""
    cli.submit("the.type")
    cli.submit("the-other")
    cli.submit("not offered")
    cli("submit", "hidden", "--namespace", "away")
    cli("cron", "set", "the.hour", "@hourly", "x")
    cli("resource", "set", "the:*", "3")
    cli("resource", "set", "the:gpu", "2")
    cli.write("w.json", '{"workflow":"the.flow","triggers":[{"name":"t","on":"e","task":{"type":"x"}}]}')
    cli("workflow", "apply", "w.json")


TYPES = ["the-other", "the.type"]
ENGINE_NAMES = (
    (("pause", "t"), TYPES), (("resume", "the."), ["the.type"]), (("submit", "t"), TYPES),
    (("submit", "the.type", "t"), []), (("ls", "--type", "t"), TYPES), (("ls", "-t", "t"), TYPES),
    (("ls", "--type=the-"), ["the-other"]), (("claim", "--types", "the.type,the-"), ["the.type,the-other"]),
    (("history", "t"), TYPES), (("history", "the.type", "t"), []), (("failures", "--type", "the."), ["the.type"]),
    (("pause", "--namespace", "away", "h"), ["hidden"]), (("--namespace=away", "pause", "h"), ["hidden"]),
    (("cron", "run", "t"), ["the.hour"]), (("cron", "set", "t"), ["the.hour"]),
    (("cron", "rm", "x", "t"), ["the.hour"]), (("ls", "--schedule", "t"), ["the.hour"]),
    (("workflow", "get", "t"), ["the.flow"]), (("workflow", "joins", "t"), ["the.flow"]),
    (("ls", "--origin", "t"), ["the.flow"]), (("ls", "--resource", "t"), ["the:gpu"]),
    (("submit", "x", "-r", "the:"), ["the:gpu"]), (("resource", "rm", "t"), ["the:gpu"]),
    (("ls", "--status", "pending,comp"), ["pending,completed"]), (("worker", "l"), ["ls"]),
    (("team", "get", "t"), []), (("get", "t"), []),
)


def test_bash_completes_names_of_the_engine(cli):
    fill(cli)
    for words, names in ENGINE_NAMES:
        # Behind a colon bash replaces only the rest.
        equal(sorted(complete(cli, "faina", *words)),
              [name.split(":")[-1] if ":" in words[-1] else name for name in names], words)


def test_names_come_from_a_server(cli):
    fill(cli)
    server = cli.start("serve", "--listen", "unix:" + cli.path("s"), "--no-ui")
    try:
        end = time.monotonic() + PATIENCE
        while not is_served(cli) and time.monotonic() < end:
            time.sleep(0.05)
        for url in ((), ("--url", "unix:" + cli.path("s"))):
            done = cli("complete-word", *url, "pause", "")
            equal(sorted(done.out.split()), [*TYPES, "words"], url)
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE)


def test_completion_is_silent_and_quick_without_an_engine(cli):
    with socket.socket() as silent: # accepts connections, and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        urls = ("sqlite:none.db", f"http://127.0.0.1:{silent.getsockname()[1]}", "http://127.0.0.1:1",
                "postgres://127.0.0.1:1/x", f"postgres://127.0.0.1:{silent.getsockname()[1]}/x", "nonsense")
        for url in urls:
            begin = time.monotonic()
            done = cli("complete-word", "--url", url, "pause", "")
            equal((done.out, done.err), ("words\n", ""), url)
            is_true(time.monotonic() - begin < (5 if "-asan" in BIN or "-tsan" in BIN else 2), url)
    equal(os.listdir(cli.folder), []) # nothing was created
    with open(cli.path("bad.db"), "w", encoding="ascii") as file:
        file.write("not a store " * 1000)
    equal(cli("complete-word", "--url", "sqlite:bad.db", "pause", "").err, "")


def test_bash_completes_files(cli):
    cli.write("tasks.jsonl", "")
    cli.write("tests.yaml", "")
    os.mkdir(cli.path("tools"))
    all_three = ["tasks.jsonl", "tests.yaml", "tools"]
    for words, offered in (
            (("submit", "x", "@ta"), ["@tasks.jsonl"]),
            (("submit", "x", "@"), ["@tasks.jsonl", "@tests.yaml", "@tools/"]),
            (("submit", "x", "ta"), []),
            (("complete", "id", "@te"), ["@tests.yaml"]),
            (("submit", "x", "--metadata", "@ta"), ["@tasks.jsonl"]),
            (("submit", "x", "--metadata=@ta"), ["@tasks.jsonl"]),
            (("submit", "--bulk", "ta"), ["tasks.jsonl"]),
            (("submit", "--bulk=ta"), ["tasks.jsonl"]),
            (("workflow", "apply", "tests.yaml", "ta"), ["tasks.jsonl"]),
            (("workflow", "test", "te"), ["tests.yaml"]),
            (("serve", "--tls-cert", "t"), all_three),
            (("serve", "--tls-key", "te"), ["tests.yaml"]),
            (("worker", "--handlers", "t"), ["tools"]),
            (("worker", "--archive=t"), ["tools"]),
            (("db", "copy", "sqlite:ta"), ["tasks.jsonl"]),
            (("db", "copy", "sqlite:tasks.jsonl", "sqlite:te"), ["tests.yaml"]),
            (("db", "copy", "pos"), ["postgres://"]),
            (("--url", "sqlite:t"), all_three),
            (("ls", "t"), []),
    ):
        equal(sorted(complete(cli, "faina", *words)), offered, words)


def test_bash_completes_as_it_is_typed(cli):
    """With the word breaks of a real one, which cuts words at @, : and =."""
    cli.write("tasks one.jsonl", "")
    os.mkdir(cli.path("tools"))
    cli.write("rc", f"source {ROOT}/completions/faina.bash\nPS1='ready> '\nfaina() {{ printf '<%s>' \"$@\"; }}\n")
    typed = (("submit x @ta\t", "<submit><x><@tasks one.jsonl>"),
             ("submit x @tasks\\ o\t", "<submit><x><@tasks one.jsonl>"),
             ("submit x @to\t", "<submit><x><@tools/>"),
             ("submit x -m \"@ta\t", "<submit><x><-m><@tasks one.jsonl>"),
             ("workflow apply 'tasks o\t", "<workflow><apply><tasks one.jsonl>"),
             ("submit --bulk=ta\t", "<submit><--bulk=tasks one.jsonl>"),
             ("db copy sqlite:to\t", "<db><copy><sqlite:tools/>"),
             ("worker --handl\t to\t", "<worker><--handlers><tools/>"))
    for line, got in typed:
        shown = cli.on_terminal(shell="exec bash --noprofile --rcfile rc -i", width=200,
                                replies=(("ready> ", f"faina {line}\n"), (">", "exit\n")))
        contains(shown.plain(), got)


def test_fish_completes(cli):
    if not shutil.which("fish"):
        raise Skip("no fish here")

    def offers(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source {ROOT}/completions/faina.fish; complete -C '{line}'"],
            cwd=cli.folder, capture_output=True, text=True, env=environment(HOME=cli.folder),
            check=False)
        equal(done.stderr, "")
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    contains(offers("faina su"), "submit")
    equal(sorted(offers("faina team ")), ["create", "get", "ls", "rm", "set"])
    contains(offers("faina ls --sta"), "--status")
    is_true("--status" not in offers("faina team ls --sta"))
    cli.write("tasks.jsonl", "")
    os.mkdir(cli.path("tools"))
    for line in ("submit --bulk ta", "workflow apply ta", "serve --tls-cert ta"):
        equal(offers(f"faina {line}"), ["tasks.jsonl"], line)
    equal(offers("faina submit x @ta"), ["@tasks.jsonl"])
    equal(offers("faina submit x --metadata @ta"), ["@tasks.jsonl"])
    equal(offers("faina db copy sqlite:ta"), ["sqlite:tasks.jsonl"])
    equal(offers("faina worker --handlers t"), ["tools/"])
    equal(offers("faina ls ta"), [])
    fill(cli)
    for words, names in ENGINE_NAMES:
        equal(sorted(offers("faina " + " ".join(words))),
              [words[-1].split("=")[0] + "=" + name if "=" in words[-1] else name for name in names], words)


def test_zsh_completes_names_of_the_engine(cli):
    if not shutil.which("zsh"):
        raise Skip("no zsh here")
    fill(cli)
    cli.write(".zshrc", f"PS1='ready> '\nfpath=({ROOT}/completions $fpath)\n"
              "autoload -Uz compinit; compinit -u -D\n"
              "faina() { printf '<%s>' \"$@\"; }\n")
    for typed, got in (("cron run t\t", "<cron><run><the.hour>"), ("ls --origin t\t", "<ls><--origin><the.flow>"),
                       ("resume the.\t", "<resume><the.type>"), ("resource rm t\t", "<resource><rm><the:gpu>")):
        shown = cli.on_terminal(shell="exec zsh -i", width=200, env={"ZDOTDIR": cli.folder},
                                replies=(("ready> ", f"faina {typed}\n"), (">", "exit\n")))
        contains(shown.plain(), got)


def page():
    with open(f"{ROOT}/docs/faina.1.scd", encoding="utf-8") as file:
        return file.read()


def test_the_manual_page_renders(cli):
    if not shutil.which("scdoc") or not shutil.which("man"):
        raise Skip("no scdoc or man here")
    done = subprocess.run(["scdoc"], input=page(), capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    cli.write("faina.1", done.stdout)
    shown = subprocess.run(["man", "--warnings", "-l", "-Tutf8", cli.path("faina.1")], text=True,
                           capture_output=True, env=environment(MANWIDTH="80"), check=False)
    equal((shown.returncode, shown.stderr), (0, ""))
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", shown.stdout)
    for title in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"):
        contains(text, title)


def test_the_manual_page_has_every_verb_and_flag(cli):
    text = page()
    sections = dict(re.findall(r"^\*([a-z-]+(?: [a-z]+)?)\*[^\n]*\n((?:\t[^\n]*\n|\n)*)", text, re.M))
    for verb in verbs():
        is_true(verb in sections, f"no section on {verb}")
        if verb == "bench":
            continue
        help_text = cli(*verb.split(), "--help").out
        own = help_text.split("Flags of every verb:")[0]
        flags = set(re.findall(r"^ .{5}(--[a-z-]+)", own, re.M))
        told = set(re.findall(r"\*(--[a-z-]+)\*", sections[verb]))
        equal(told, flags, verb)
    for flag in ("--output", "--url", "--namespace", "--reason", "--help"):
        contains(text, f"*{flag}*")


def test_the_manual_page_has_every_exit_code(cli):
    codes = re.search(r"# EXIT STATUS\n(.*?)\n# ", page(), re.S)[1]
    equal(re.findall(r"^\*(\d)\*$", codes, re.M), list("0123456"))


def test_examples_in_the_help_are_valid(cli):
    """Each flag in an example belongs to its verb."""
    for verb in verbs():
        if verb == "bench":
            continue
        text = cli(*verb.split(), "--help").out
        for line in text.partition("Examples:\n")[2].splitlines():
            if not line.strip().startswith("faina " + verb):
                continue
            for flag in re.findall(r"(?<= )--[a-z-]+", line):
                is_true(re.search(rf" {flag}\b", text.partition("Examples:")[0]), line, flag)


def test_the_program_is_where_the_tests_look(cli):
    is_true(os.access(BIN, os.X_OK), BIN)
    contains(cli("version").out, "faina ")


run(globals())
