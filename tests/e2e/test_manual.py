#!/usr/bin/env python3
"""The commands in the manual: the program knows the verb and the flags of each one, and those that need nothing but a
store succeed, page by page, in their order. The JSON in it can be read.

Pages whose commands need more (handlers, servers, other programs) have tests of their own, which run those."""
import glob
import json
import os
import re
import shlex

from helper_cli import ROOT, equal, is_true, run

PAGES = sorted(glob.glob(f"{ROOT}/docs/*.md") + glob.glob(f"{ROOT}/sdk/*/README.md")) + [
    f"{ROOT}/README.md", f"{ROOT}/packaging/README.md"]
LINE = re.compile(r"(?: {4}|)(?:\$ )?(?:[A-Z_]+=\S+ )*faina ([a-z].*)")
# They run on a store of their own, whose tasks are those that the page has submitted before.
ALONE = ("submit", "ls", "explain", "events", "stats", "cron set", "resource set", "redact set", "token create", "pause",
         "resume", "audit ls", "audit verify", "operations", "emit", "history", "failures", "db status", "type set",
         "type ls", "cron ls", "retry --all")
# Needs what only a test of that page makes.
ELSEWHERE = re.compile(r"operations cancel|--(spec|graph|url|hmac|bulk)\b|@|<|--file|\$\w|postgres://|--wait\b|-f\b|--lag\b")
# One story on one store, which test_cli_operations_page.py plays.
STORIES = ("docs/operations.md",)
ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<"}


def code_lines(text):
    """The lines of fenced blocks, and those that are indented."""
    fenced = re.findall(r"^```(?:sh|bash|console|text|)\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    lines = [line for block in fenced for line in block.split("\n")]
    return lines + re.findall(r"^ {4}\S.*$", rest, re.M)


def words_of(command):
    """Of the first command of a line, without its comment. None: it goes on in the next line."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        for word in lexer:
            if word in ENDS:
                break
            words.append(word)
        return words
    except ValueError:
        return None


def commands():
    for page in PAGES:
        with open(page, encoding="utf-8") as file:
            for line in code_lines(file.read()):
                found = LINE.fullmatch(line)
                words = found and words_of(found[1])
                if words and not line.endswith("\\"):
                    yield os.path.relpath(page, ROOT), found[1], words


def test_verbs_and_flags(cli):
    count = 0
    for page, text, words in commands():
        if "$(" in text:  # it ends where the shell's own command begins
            continue
        done = cli(*[word for word in words if word != "--"], "--help", code=None)
        is_true(done.code == 0, f"{page}: faina {text}\n{done.err}")
        count += 1
    is_true(count > 100, f"only {count} commands were found")


def test_those_that_need_only_a_store(cli):
    page_before, task, env, count = None, None, None, 0
    for page, text, words in commands():
        if page in STORIES or not text.startswith(ALONE) or ELSEWHERE.search(text):
            continue
        if page != page_before:
            page_before = page
            env = {"FAINA_URL": f"sqlite:{page.replace('/', '-')}.db"}
            task = cli("submit", "before", env=env).out.strip()
        confirmed = ["--yes"] if "--all" in words else []
        done = cli(*[task if word == "ID" else word for word in words], *confirmed, env=env, code=None)
        is_true(done.code == 0, f"{page}: faina {text}\n{done.err}")
        if words[0] == "submit":
            task = done.out.strip()
        count += 1
    is_true(count > 30, f"only {count} commands were run")


def test_json_can_be_read(_cli):
    for page in PAGES:
        with open(page, encoding="utf-8") as file:
            for block in re.findall(r"^```json\n(.*?)^```", file.read(), re.M | re.S):
                try:
                    json.loads(block)
                except ValueError as error:
                    equal(f"{os.path.relpath(page, ROOT)}: {error}", "", block)


run(globals())
