#!/usr/bin/env python3
"""On a terminal: tables that fit, colours, questions, progress bars, the caret below a mistake."""
import re
import socket
import sqlite3
import unicodedata

from helper_cli import contains, equal, is_true, run

SHORT = re.compile(r"^[0-9a-f]{10}\b", re.M) # an id in a table
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def fill(cli):
    cli("resource", "set", "gpu", "1")
    cli.submit("mail.send", '{"to":"ann"}', "--name", "ein langer Name über 日本語 und mehr " * 3)
    cli.submit("a-type-with-a-long-name.and.more.of.it", "--resource", "gpu")
    task = cli.submit("fails", "--max-attempts", "1")
    cli("claim", task, "-w", "w")
    cli("fail", task, "-w", "w", "--error", "a long story about what went wrong " * 5)
    cli("cancel", cli.submit("x"))
    return task


def test_tables_fit_the_terminal(cli):
    task = fill(cli)
    for columns in (40, 60, 80, 100, 132, 200):
        for args in (("ls",), ("events", task), ("stats",), ("stats", "--namespace", "*"),
                     ("resource", "ls"), ("team", "ls")):
            text = cli.on_terminal(*args, width=columns).plain()
            if args[0] in ("events", "stats"):
                continue # their first column alone may be wider
            for line in text.splitlines():
                is_true(width(line) <= max(columns, 36) or line.startswith("No room for "), columns,
                        args, line, width(line))
        equal(len(SHORT.findall(cli.on_terminal("ls", width=columns).plain())), 4)


def test_long_text_is_cut_with_a_mark(cli):
    fill(cli)
    text = cli.on_terminal("ls", width=90).plain()
    contains(text, "…")
    is_true("  \n" not in text and not re.search(r" +$", text, re.M), repr(text))
    wide = cli.on_terminal("ls", width=900).plain()
    is_true("…" not in wide, wide)
    contains(wide, "日本語")
    for line in wide.splitlines()[1:]:
        contains(line, "now" if "now" in line else " ago")


def test_stats_never_hides_a_number_silently(cli):
    fill(cli)
    contains(cli.on_terminal("stats", width=45).plain(), "No room for ")
    contains(cli("stats", "-o", "table", env={"COLUMNS": "45"}).err, "No room for ")
    contains(cli.on_terminal("stats", width=120).plain(), "CANCELLED")


def test_stats_cuts_a_long_type_rather_than_numbers(cli):
    cli.submit("t" * 76)
    text = cli.on_terminal("stats", width=80).plain()
    contains(text, "ttt…")
    contains(text, "COMPLETED")
    is_true("No room" not in text, text)
    is_true(all(width(line) <= 80 for line in text.splitlines()), text)
    contains(cli.on_terminal("stats", width=40).plain(), "t" * 23 + "…") # no less than this


def test_columns_that_do_not_fit_are_named(cli):
    cli("token", "create", "--scope", "read,submit,work,admin", "--name", "someone")
    last = cli.on_terminal("token", "ls").plain().splitlines()[-1]
    equal(last, "No room for EXPIRES; -o json shows all.")
    is_true("No room" not in cli.on_terminal("token", "ls", width=200).plain())
    contains(cli("token", "ls", "-o", "table", env={"COLUMNS": "80"}).err, "No room for EXPIRES")
    # A file or a pipe has room for all.
    piped = cli("token", "ls", "-o", "table")
    contains(piped.out, "EXPIRES")
    equal(piped.err, "")
    is_true("No room" not in cli.on_terminal("token", "ls", "-o", "json").plain())
    # Once, below all pages of a list.
    cli("submit", "--bulk", stdin=('{"type":"x","name":"' + "n" * 60 + '"}\n') * 1001)
    text = cli.on_terminal("ls", "--all", width=40).plain()
    equal(len(re.findall("^ID ", text, re.M)), 2)
    equal(text.count("No room for "), 1)
    is_true(text.splitlines()[-1].endswith("NAME; -o json shows all."), text[-200:])


def test_colours_only_on_a_terminal(cli):
    fill(cli)
    contains(cli.on_terminal("ls").out, "\x1b[31mdead_letter\x1b[0m")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        is_true("\x1b" not in cli.on_terminal("ls", env=env).out)
    contains(cli.on_terminal("ls", env={"NO_COLOR": ""}).out, "\x1b[31m")
    is_true("\x1b" not in cli("ls", "-o", "table").out)
    contains(cli.on_terminal("get", "nonsense").out, "\x1b[31mfaina:")


def test_columns_variable(cli):
    fill(cli)
    text = cli.on_terminal("ls", width=200, env={"COLUMNS": "60"}).plain()
    is_true(max(map(width, text.splitlines()[:-1])) <= 60, text)


def test_json_on_a_terminal_is_for_reading(cli):
    task = cli.submit("x")
    text = cli.on_terminal("get", task, "-o", "json").out
    contains(text, f'\n  "id": "{task}"')
    equal(len(cli.on_terminal("get", task, "-o", "jsonl").out.splitlines()), 1)


def test_transitions_in_a_line(cli):
    task = cli.submit("x", "--max-attempts", "2")

    def line(*args):
        return cli.on_terminal(*args).plain().strip()

    equal(line("claim", "-w", "w"), f"claimed {task} (attempt 1 of 2)\n  x")
    equal(line("start", task, "-w", "w"), f"running {task} (attempt 1 of 2)")
    equal(line("progress", task, "40%", "half", "-w", "w"), f"running {task} (attempt 1 of 2, 40 %)")
    contains(line("fail", task, "--error", "boom", "-w", "w"), f"pending {task} (attempt 1 of 2 made")
    line("claim", task, "-w", "w")
    equal(line("fail", task, "--error", "boom", "-w", "w"),
          f"dead_letter {task} (after 2 attempts: boom)")
    equal(line("retry", task), f"pending {task}")
    equal(line("cancel", task), f"cancelled {task}")
    equal(line("rm", task), "removed 1 task")
    equal(line("claim", "-w", "w"), "Nothing to claim.")
    equal(line("ls"), "No tasks.")
    equal(line("submit", "x"), cli("ls").json()["items"][0]["id"])
    equal(line("pause", "x"), "paused x")
    contains(line("explain", cli("ls").json()["items"][0]["id"]), "paused")


def test_a_claim_shows_what_there_is_to_do(cli):
    short = cli.submit("mail.send", '{"to": "ann\\u0007",\n"n":1}')
    shown = cli.on_terminal("claim", "-w", "w").plain().splitlines()
    equal(shown[1:], ['  mail.send {"to": "ann\\u0007", "n":1}'])
    cli("release", short, "-w", "w")
    equal(cli.on_terminal("claim", short, "-w", "w").plain().splitlines()[1:], shown[1:])
    cli.submit("a", '"' + "日本" * 100 + '"')
    cli.submit("b")
    lines = cli.on_terminal("claim", "-w", "w", "-n", "2", width=60).plain().splitlines()
    equal(len(lines), 4)
    is_true(lines[1].startswith('  a "日本') and lines[1].endswith("…") and width(lines[1]) <= 60, lines)
    equal(lines[3], "  b")


def test_records(cli):
    task = fill(cli)
    text = cli.on_terminal("get", task).plain()
    for part in (f"id            {task}", "status        dead_letter (after 1 attempt: a long",
                 "attempts      1 of 1", "(now)"):
        contains(text, part) if part != "(now)" else is_true("(now)" in text or " ago)" in text)
    contains(cli.on_terminal("db", "status").plain(), "schema        version")
    contains(cli.on_terminal("doctor").plain(), "but there are warnings.")


def test_what_is_due_in_a_moment_is_not_due_now(cli):
    for _ in range(20): # the wait is random, and may be over before it is looked at
        task = cli.submit("x", "--max-attempts", "2")
        cli("claim", task, "-w", "w")
        failed = cli.on_terminal("fail", task, "--error", "boom", "-w", "w").plain()
        text = cli.on_terminal("get", task).plain()
        is_true("due now" not in failed + text, failed, text)
        if "due in" in text:
            contains(text, "pending (attempt 1 of 2 made, due in ")
            is_true(re.search(r"^run at .*Z \((in \d+|now|\d+ s ago)", text, re.M), text)
            break
    else:
        raise AssertionError("the task was never seen before its time")
    text = cli.on_terminal("get", cli.submit("x", "--delay", "5m")).plain()
    is_true(re.search(r"pending \(due in (5 min|4 min 5\d s)\)", text), text)


def test_a_list_shows_due_times(cli):
    cli.submit("ready")
    title = cli.on_terminal("ls").plain().splitlines()[0]
    equal(title.split(), ["ID", "STATUS", "AGE", "TYPE", "TRIES"])
    delayed = cli.submit("mail.send.much.later", "--delay", "5m")
    later = cli.submit("x", "--delay", "3h")
    for columns in (80, 120):
        text = cli.on_terminal("ls", width=columns).plain()
        equal(text.splitlines()[0].split()[:5], ["ID", "STATUS", "AGE", "TYPE", "DUE"])
        rows = {line.split()[0]: line for line in text.splitlines()}
        is_true(re.search(r" in (5 min|4 min 5\d s)( |$)", rows[delayed[-10:]]), rows[delayed[-10:]])
        is_true(re.search(r" in (3 h|2 h 59 min)( |$)", rows[later[-10:]]), rows[later[-10:]])
        equal([line.split()[-2] for line in text.splitlines() if " ready " in line], ["-"], text)


def test_control_characters_do_not_reach_the_terminal(cli):
    """A task's text can't control the terminal on which it is listed."""
    cli.submit("x", '"\\u001b[2J"', "--name", "a")
    task = cli("ls").json()["items"][0]["id"]
    cli("claim", task, "-w", "w")
    cli("fail", task, "-w", "w", "--error", "bad \x1b[2Jnews\x07 \u009b2J")
    for args in (("ls",), ("get", task), ("events", task)):
        out = cli.on_terminal(*args, width=300).out
        is_true("\x1b[2J" not in out and "\x07" not in out and "\u009b" not in out, repr(out))


def test_a_question_before_many_changes(cli):
    cli("submit", "--bulk", stdin='{"type":"x"}\n' * 1234)
    asked = cli.on_terminal("cancel", "--all", replies=[("[y/N]", "n\n")])
    contains(asked.plain(), "Cancel 1,234 tasks? [y/N]")
    contains(asked.plain(), "Nothing was changed.")
    equal(asked.code, 1)
    equal(cli.on_terminal("cancel", "--all", replies=[("[y/N]", "\n")]).code, 1)
    equal(cli("stats").json()["byStatus"]["pending"], 1234)
    done = cli.on_terminal("cancel", "--all", replies=[("[y/N]", "y\n")])
    equal(done.code, 0)
    contains(done.plain(), "cancelled 1,234 tasks")
    is_true("[y/N]" not in cli.on_terminal("retry", "--all", "--status", "cancelled", "--yes").out)
    purged = cli.on_terminal("db", "purge", "--older-than", "0s", replies=[("[y/N]", "n\n")])
    contains(purged.plain(), "Remove up to 0 ended tasks, and those removed from view, permanently")
    equal(purged.code, 1)


def test_progress_bars(cli):
    cli.write("many.jsonl", '{"type":"x"}\n' * 5000)
    bar = cli.on_terminal(shell='"$FAINA" submit --bulk many.jsonl > ids')
    contains(bar.out, "█" if "█" in bar.out else "░")
    contains(bar.plain(), "of 5,000")
    contains(bar.plain(), "stored 5,000 tasks")
    equal(len(open(cli.path("ids"), encoding="ascii").read().split()), 5000)
    bar = cli.on_terminal("cancel", "--all", "--yes")
    contains(bar.plain(), "Cancelling")
    is_true("Cancelling" not in cli("retry", "--all", "--status", "cancelled", "-y").err)


def test_the_place_of_a_mistake(cli):
    text = cli.on_terminal("submit", "x", '{"to": "ann", cc: true}').plain()
    lines = text.splitlines()
    equal(lines[1], '    {"to": "ann", cc: true}')
    equal(lines[2].index("^"), lines[1].index("cc"))
    long_line = "[" + "1," * 500 + "oops," + "2," * 500 + "3]"
    lines = cli.on_terminal("submit", "x", long_line, width=80).plain().splitlines()
    is_true(width(lines[1]) <= 80, lines[1])
    equal(lines[1][lines[2].index("^"):][:4], "oops")
    lines = cli.on_terminal("submit", "x", '{"ä": "日本", x}').plain().splitlines()
    equal(width(lines[1][:lines[1].index("x}")]), lines[2].index("^"))


def test_the_caret_is_below_the_mistake(cli):
    def below(*args, wanted):
        """The text above the caret must begin with `wanted`, whatever is in front of it."""
        lines = cli.on_terminal(*args, width=80).plain().splitlines()
        at = max(i for i, line in enumerate(lines) if line.strip() == "^")
        is_true(all(width(line) <= 80 for line in lines[at - 1:at + 1]), lines)
        before = lines[at - 1].index(wanted)
        equal(width(lines[at - 1][:before]), lines[at].index("^"), lines)

    fronts = ("", "ä", "日本語", "e\u0301", "🎉", "\t", "\t\t日\t", "日" * 60, "é" * 300, "a\tb" * 40)
    for front in fronts:
        below("submit", "x", '{"' + front.replace("\t", " ") + '":\t1,\tbad}', wanted="bad")
        below("workflow", "test", "--match", f"a = '{front}' AND\t== 1", "--data", "{}", wanted="== 1")
        cli.write("w.json", '{"workflow":"w",\n\t"triggers":[{"name":"' + front.replace("\t", " ")
                  + '",\t"wrong":1}]}')
        below("workflow", "apply", "w.json", wanted='"wrong"')
    cli.write("w.yaml", "workflow: w\ntriggers:\n  - { name: 日本語, wrong: 1, on: x, task: { type: y } }\n")
    below("workflow", "test", "w.yaml", wanted="wrong")
    # Not into a file or a pipe.
    is_true("^" not in cli("submit", "x", '{"a": bad}', code=2).err)


def test_watch_draws_until_ctrl_c(cli):
    task = cli.submit("x")
    seen = cli.on_terminal("watch", "--interval", "100ms", until=task[-10:])
    equal(seen.code, 0, seen)
    contains(seen.plain(), "1 pending")
    is_true(seen.out.startswith(ENTER) and seen.out.rstrip().endswith(LEAVE), repr(seen.out))
    equal((seen.out.count(ENTER), seen.out.count(LEAVE)), (1, 1))
    is_true("\x1b[?" not in cli.on_terminal("watch", env={"TERM": "dumb"}, until=task[-10:]).out)
    with sqlite3.connect(cli.path("faina.db")) as db: # it was closed in order
        equal(db.execute("SELECT count(*) FROM tasks").fetchone()[0], 1)


def test_watch_restores_the_terminal_on_every_signal(cli):
    cli.submit("x")
    for name in ("INT", "TERM", "HUP", "QUIT", "ABRT", "SEGV"):
        # A shell starts a background process with SIGINT ignored, so this one is started by env.
        seen = cli.on_terminal(shell='env --default-signal "$FAINA" watch --interval 50ms & '
                                     f'sleep 0.5; kill -{name} $!; wait $!; echo "over $?"')
        is_true(seen.out.index(ENTER) < seen.out.index(LEAVE) < seen.out.index("over "), name, seen.out)
        equal((seen.out.count(ENTER), seen.out.count(LEAVE)), (1, 1), name)
        contains(seen.out, {"ABRT": "over 134", "SEGV": "over 139"}.get(name, "over 0"))


def test_watch_stops_and_goes_on(cli):
    cli.submit("x")
    seen = cli.on_terminal(shell='"$FAINA" watch --interval 50ms & sleep 0.5; kill -TSTP $!; sleep 0.5; '
                                 'echo between; kill -CONT $!; sleep 0.5; kill -TERM $!; wait $!')
    parts = seen.out.split("between")
    equal([(part.count(ENTER), part.count(LEAVE)) for part in parts], [(1, 1), (1, 1)], seen.out)


def test_watch_leaves_the_screen_before_an_error(cli):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    # The first token makes the server refuse a client without one.
    seen = cli.on_terminal(shell=f'"$FAINA" serve --no-ui --listen {address} 2> log & server=$!; '
                                 'until grep -q listening log; do sleep 0.1; done; "$FAINA" submit x; '
                                 f'"$FAINA" watch --interval 50ms --url http://{address} & watch=$!; '
                                 'sleep 0.5; "$FAINA" token create --scope read > token; wait $watch; '
                                 'echo "over $?"; kill $server; wait $server')
    is_true(seen.out.rindex(LEAVE) < seen.out.index("faina:") < seen.out.index("over 1"), seen.out)


def test_watch_counts_what_the_flags_leave(cli):
    team = cli("team", "create", "t").out.strip()
    old = cli.submit("a", "--team", team)
    cli("claim", old, "-w", "w", "--lease", "1h")
    cli("submit", "a", "--bulk", stdin="{}\n" * 40)
    cli("submit", "b", "--bulk", stdin="{}\n" * 2000)

    def screen(*args, until="TRIES"):
        shown = cli.on_terminal("watch", "--interval", "5s", *args, until=until)
        equal(shown.code, 0, shown)
        is_true(shown.out.rstrip().endswith(LEAVE), repr(shown.out[-40:]))
        return shown.plain().splitlines()

    all_of_them = screen(until="more")
    equal(all_of_them[0], "2,040 pending, 1 claimed")
    is_true(all_of_them[3].startswith(old[-10:]), all_of_them) # older than all that is listed
    ids = len(SHORT.findall("\n".join(all_of_them)))
    equal(ids, 25) # of 30 lines: counts, an empty one, titles, this, and the cursor
    equal(all_of_them[3 + ids], "... 2,016 more")
    some = screen("-t", "a", until="more")
    equal((some[0], some[28]), ("40 pending, 1 claimed", "... 16 more"))
    is_true(some[3].startswith(old[-10:]), some)
    equal(screen("-s", "claimed")[0], "1 claimed")
    pending = screen("-t", "a", "-s", "pending", until="more")
    equal((pending[0], pending[28]), ("40 pending", "... 15 more"))
    equal(screen("--team", team)[0], "1 claimed")
    few = screen("-t", "a", "-n", "2", until="more")
    equal((few[0], len(few[3:5]), few[5]), ("40 pending, 1 claimed", 2, "... 39 more"))
    equal(screen("-t", "none", until="no tasks")[0], "no tasks")


def test_help_fits_the_terminal(cli):
    for columns in (50, 80):
        for verb in ("submit", "ls", "cancel"):
            text = cli.on_terminal(verb, "--help", width=columns).plain().split("Examples:")[0]
            is_true(max(map(width, text.splitlines())) <= columns, text)


run(globals())
