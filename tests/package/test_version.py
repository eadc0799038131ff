#!/usr/bin/env python3
"""One version everywhere: FAINA_VERSION in faina.h."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import BUILD, FAINA, ROOT, check, equal, finish  # noqa: E402


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


version = output(f"{ROOT}/tools/version")
with open(f"{ROOT}/include/faina/faina.h", encoding="utf-8") as file:
    check("faina.h", f'#define FAINA_VERSION "{version}"\n' in file.read(), version)
with open(f"{BUILD}/meson-info/intro-projectinfo.json", encoding="utf-8") as file:
    equal("meson", json.load(file)["version"], version)
with open(f"{BUILD}/meson-private/faina.pc", encoding="utf-8") as file:
    equal("faina.pc", re.search(r"^Version: (.*)$", file.read(), re.M)[1], version)
check("the library's file", os.path.exists(f"{BUILD}/libfaina.so.{version}"), version)
check("faina version", version in output(FAINA, "version"), output(FAINA, "version"))
with open(f"{ROOT}/CHANGELOG.md", encoding="utf-8") as file:
    titles = re.findall(r"^## (.*)$", file.read(), re.M)
check("CHANGELOG.md names it", any(version in title for title in titles), titles)
finish()
