#!/usr/bin/env python3
"""The dashboard and the alerts of packaging/monitoring use metrics that a running server has."""
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/tests/support")
from checks import FAINA, check, finish  # pylint: disable=C0413

# Names that Prometheus derives from a histogram.
DERIVED = re.compile(r"_(bucket|sum|count)$")


def metrics_of_a_server():
    with subprocess.Popen([FAINA, "serve", "--url", "memory:", "--listen", "127.0.0.1:0"],
                          stderr=subprocess.PIPE, text=True) as server:
        try:
            for line in server.stderr:
                entry = json.loads(line)
                if entry.get("message") == "listening":
                    with urllib.request.urlopen(entry["address"] + "/metrics", timeout=60) as answer:
                        return answer.read().decode()
        finally:
            server.send_signal(signal.SIGTERM)
    return ""


def expressions():
    """(where, PromQL) of the dashboard and of the alerts."""
    with open(f"{ROOT}/packaging/monitoring/grafana.json", encoding="utf-8") as file:
        for panel in json.load(file)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], target["expr"]
    with open(f"{ROOT}/packaging/monitoring/alerts.yaml", encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"\s+expr: (.*)", line):
                yield "alerts.yaml", match[1]


def main():
    text = metrics_of_a_server()
    known = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    check("the server has metrics", len(known) > 10, text)
    count = 0
    for where, expression in expressions():
        for name in re.findall(r"faina_[a-z_]+", expression):
            check(f"{where}: {name}", name in known or DERIVED.sub("", name) in known, expression)
            count += 1
    check("there are expressions", count > 20, count)
    finish()


if __name__ == "__main__":
    main()
