#!/usr/bin/env python3
"""libfaina.so exports what faina.h declares, and nothing else."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import BUILD, ROOT, check, equal, finish  # noqa: E402


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


library = f"{BUILD}/libfaina.so.0"
with open(f"{ROOT}/include/faina/faina.h", encoding="utf-8") as file:
    header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
code = re.sub(r"^#(?:.*\\\n)*.*$", "", header, flags=re.M)

declared = set(re.findall(r"\bFAINA_API\b[^;]*?\b(\w+)\s*\(", code))
unmarked = set(re.findall(r"^(?!typedef)[a-z][^;{}#]*?\b(faina_\w+)\s*\([^;{}]*\)\s*;", code, re.M)) - declared
exported = {line.split()[-1].split("@")[0]
            for line in output("nm", "-D", "--defined-only", library).splitlines()}

check("the header declares functions", len(declared) > 20, declared)
equal("functions in faina.h without FAINA_API", sorted(unmarked), [])
equal("exported, but not named faina_",
      sorted(name for name in exported if not name.startswith("faina_")), [])
equal("declared, but not exported", sorted(declared - exported), [])
equal("exported, but not declared", sorted(exported - declared), [])

names = set(re.findall(r"^#define (\w+)|^(?:struct|enum) (\w+)|^\s+(FA\w+),", header, re.M))
foreign = sorted(name for row in names for name in row
                 if name and not name.startswith(("faina", "FAINA_")))
equal("names in faina.h that don't start with faina_ or FAINA_", foreign, [])

dynamic = output("readelf", "-dW", library)
check("the soname carries the major version", "soname: [libfaina.so.0]" in dynamic, dynamic)
check("addresses are bound at the start (-z now)", "BIND_NOW" in dynamic or " NOW" in dynamic,
      dynamic)
segments = output("readelf", "-lW", f"{BUILD}/faina")
check("relocations are read-only (-z relro)", "GNU_RELRO" in segments, segments)
check("the stack can't be run", re.search(r"GNU_STACK.* RW ", segments), segments)
check("the program is position independent",
      "DYN" in output("readelf", "-hW", f"{BUILD}/faina"), "not PIE")

members = output("ar", "t", f"{BUILD}/libfaina.a").split()
check("the archive holds objects, not only names of them (a thin archive)",
      open(f"{BUILD}/libfaina.a", "rb").read(8) == b"!<arch>\n", members)
defined = set(re.findall(r" [TD] (\w+)$", output("nm", f"{BUILD}/libfaina.a"), re.M))
equal("declared, but not in the archive", sorted(declared - defined), [])
equal("in the archive, but not named faina_ or fa_",
      sorted(name for name in defined if not name.startswith(("faina_", "fa_"))), [])
finish()
