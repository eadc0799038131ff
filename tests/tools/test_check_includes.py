#!/usr/bin/env python3
"""tools/check-includes and tools/check-style find what they are there for."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import ROOT, check, equal, finish  # noqa: E402

TOP = "/*\n * A file.\n */\n"


def guarded(path, text):
    if not path.endswith(".h") or not path.startswith("src/"):
        return text
    guard = "FA_" + path[len("src/"):].replace("/", "_").replace(".", "_").upper()
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"


def findings(tool, files, *options, is_guarded=True):
    """What the tool says about a tree that holds only these files."""
    temp = tempfile.mkdtemp()
    os.mkdir(f"{temp}/tools")
    for name in ("check-includes", "check-style", "embed-sql"):
        shutil.copy(f"{ROOT}/tools/{name}", f"{temp}/tools/{name}")
    shutil.copy(f"{ROOT}/.clang-format", temp)
    files = {"include/faina/faina.h": "", "src/base/bytes.h": "", "src/model/states.h": "",
             "src/service/service.h": "", "src/wire/wire.h": "", "src/server/post.h": "", "src/store/engine.h": "",
             "src/store/db/db.h": "", "src/cli/cli.h": "", **files}
    for path, text in files.items():
        os.makedirs(os.path.dirname(f"{temp}/{path}"), exist_ok=True)
        with open(f"{temp}/{path}", "w", encoding="utf-8") as file:
            file.write(text if path.endswith(".sql") else TOP + (guarded(path, text) if is_guarded else text))
    done = subprocess.run([f"{temp}/tools/{tool}", *options], capture_output=True, text=True, check=False)
    equal(f"{tool}: the exit code fits", done.returncode, 1 if done.stdout else 0)
    return done.stdout.splitlines()


def include(tree_path, line):
    return findings("check-includes", {tree_path: line + "\n"}, "--no-compile")


equal("a clean tree", findings("check-includes", {}), [])

for path, line, is_fine in (
        ("src/base/a.c", '#include "base/bytes.h"', True),
        ("src/base/a.c", '#include "model/states.h"', False),
        ("src/json/a.c", "#include <yajl/yajl_parse.h>", True),
        ("src/model/a.c", '#include "base/bytes.h"', True),
        ("src/model/a.c", '#include "service/service.h"', False),
        ("src/model/a.c", "#include <yajl/yajl_parse.h>", False),
        ("src/json/yaml.c", "#include <yaml.h>", True),
        ("src/json/a.c", "#include <yaml.h>", False),
        ("src/store/a.c", '#include "service/service.h"', True),
        ("src/store/a.c", '#include "server/post.h"', False),
        ("src/store/a.c", '#include "generated/sql_statements.h"', True),
        ("src/store/a.c", "#include <sqlite3.h>", False),
        ("src/store/db/sqlite/a.c", "#include <sqlite3.h>", True),
        ("src/store/db/sqlite/a.c", '#include "store/db/db.h"', True),
        ("src/store/db/sqlite/a.c", '#include "service/service.h"', False),
        ("src/service/a.c", '#include "store/engine.h"', False),
        ("src/api/open.c", '#include "service/service.h"\n#include "store/engine.h"', True),
        ("src/service/service.c", '#include "service/service.h"\n#include "store/db/db.h"', False),
        ("src/cli/a.c", '#include "service/service.h"', True),
        ("src/cli/a.c", '#include "store/engine.h"', False),
        ("src/cli/a.c", "#include <sqlite3.h>", False),
        ("src/other/a.c", "", False),
        ("src/base/a.c", '#include "bytes.h"', False),
        ("examples/a.c", '#include "base/bytes.h"', False),
        ("include/faina/faina.h", '#include "base/bytes.h"', False)):
    found = include(path, line)
    check(f"{path} with {line}: {'allowed' if is_fine else 'refused'}",
          bool(found) != is_fine and all(f.startswith(path + ":") for f in found), found)

found = findings("check-includes", {"src/base/bytes.c": '#include <stdio.h>\n#include "base/bytes.h"\n'})
equal("the own header comes first", found, ['src/base/bytes.c:4: "base/bytes.h" comes first'])
found = findings("check-includes", {"src/base/a.h": "size_t a(void);\n"})
check("a header must compile alone",
      len(found) == 1 and found[0].startswith("src/base/a.h:1: does not compile alone"), found)

equal("style: a clean tree", findings("check-style", {"src/base/a.c": "int a;\n"}), [])
for path, text, wanted in (
        ("src/base/a.c", "int  a;\n", ":4: not as clang-format writes it (`make format`)"),
        ("src/base/a.c", "int a = atoi(b);\n", ":4: no atoi(); use strtol with checks"),
        ("tests/unit/a.c", "/* FIX" + "ME later */\n", ":4: finish it, or make an issue of it"),
        ("src/base/a.c", "/* " + "x" * 100 + " */\n", ":4: 106 columns, more than 100"),
        ("src/store/db/queries/a.sql", "SELECT 1;\n", ":1: no comment on top: what it does, which index "
                                                 "it uses, what it locks")):
    found = findings("check-style", {path: text})
    check(f"style: {wanted}", path + wanted in found, found)
found = findings("check-style", {"src/base/a.h": "#ifndef FA_A_H\n#define FA_A_H\n#endif\n"},
                 is_guarded=False)
check("style: a guard follows the path", "src/base/a.h:1: the guard of this header is FA_BASE_A_H" in found,
      found)
for files, wanted in (
        ({"src/base/a.c": "", "src/model/a.h": ""}, ["src/model/a.h:1: src/base has a file of this name, too"]),
        ({"src/base/a.c": "struct fa_a {\n    int a;\n};\n", "src/base/b.c": "struct fa_a {\n    int a;\n};\n"},
         ["src/base/b.c:1: src/base/a.c has a struct fa_a, too"]),
        ({"src/base/a.c": "struct a {\n    int a;\n};\n", "src/base/b.c": "struct a {\n    int a;\n};\n"}, [])):
    found = [line for line in findings("check-style", files) if "too" in line]
    equal(f"style: unique names: {sorted(files)}", found, wanted)
found = findings("check-style", {"src/base/a.c": "/* Some" + "body waits. */\n"})
equal("style: words", [line for line in found if "word" in line],
      ['src/base/a.c:4: another word than "Some' + 'body": see docs/glossary.md'])
for path, text, wanted in (
        ("src/base/a.c", "/* It is to" + "ld later. */\n", ['src/base/a.c:4: another word than "to' + 'ld": see docs/glossary.md']),
        ("src/base/a.c", "int rest_of_ne" + "ws;\n",
         ["src/base/a.c:4: another name than rest_of_ne" + "ws: see docs/glossary.md"]),
        ("src/base/a.c", "int guest_count;\n", ["src/base/a.c:4: another name than guest_count: see docs/glossary.md"]),
        ("src/base/a.c", "/* A guest. */\nint a;\n", []),
        ("src/base/a.c", 'const char *a = "happened";\n', []),
        ("src/store/db/sqlite/migrations/0001_a.sql", "-- Nobo" + "dy.\nSELECT 1;\n", []),
        ("bench/a.py", "# Nobo" + "dy.\n", ['bench/a.py:4: another word than "Nobo' + 'dy": see docs/glossary.md']),
        ("tools/a", "# Nobo" + "dy.\n", ['tools/a:4: another word than "Nobo' + 'dy": see docs/glossary.md'])):
    found = [line for line in findings("check-style", {path: text}) if "another" in line]
    equal(f"style: words in {path}: {text.strip()}", found, wanted)
found = findings("check-style", {"tests/a.h": "#ifndef X_H\n#define X_H\n#endif\n",
                                 "tests/b.h": "#ifndef X_H\n#define X_H\n#endif\n"}, is_guarded=False)
equal("style: two headers share a guard", [line for line in found if ", too" in line],
      ["tests/b.h:1: tests/a.h has the guard X_H, too"])
found = findings("check-style", {"src/base/a.h": "struct a {\n    int a;\n};\n"})
equal("style: a tag in a header has a prefix", [line for line in found if "begins" in line],
      ["src/base/a.h:1: struct a is in a header, so its name begins with fa_"])
for text in ("int a; /* no atoi() here */\n", 'const char *a = "system(1)";\n',
             "int my_system(int a);\n"):
    equal(f"style: {text.strip()} is fine", findings("check-style", {"src/base/a.c": text}), [])
finish()
