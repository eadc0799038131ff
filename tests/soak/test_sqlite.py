#!/usr/bin/env python3
"""Clients of one server on a SQLite file, over TCP, through a proxy and over its Unix socket, while it
is killed, stopped past the leases, drained and cut off. helper_soak.py has the settings.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from helper_soak import Soak, run_soak, seed  # noqa: E402

soak = Soak("sqlite", seed(), strict=True)
soak.add_node(f"sqlite:{soak.folder}/soak.db")
soak.sockets = [f"{soak.folder}/soak.db.sock"]
run_soak(soak)
