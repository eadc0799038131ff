#!/usr/bin/env python3
"""Clients of three servers on one PostgreSQL database, while servers are killed, stopped past the
leases, drained and cut off, and the database crashes. helper_soak.py has the settings.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from helper_faults import Database, Proxy  # noqa: E402
from helper_soak import Soak, run_soak, seed  # noqa: E402

NODES = 3

try:
    database = Database()
except Exception as why:  # pylint: disable=broad-except
    if type(why).__name__ != "Missing":
        raise
    print(f"skipped: {why}")
    sys.exit(77)
soak = Soak("postgres", seed(), strict=False)
soak.database = database
# The last node reaches the database through a proxy, whose cuts hit the middle of transactions.
cut = Proxy(database.port)
for i in range(NODES):
    url = database.url if i < NODES - 1 else \
        database.url.replace(f":{database.port}/", f":{cut.port}/")
    soak.add_node(url)
soak.proxies.append(cut)
run_soak(soak)
