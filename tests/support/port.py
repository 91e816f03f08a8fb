# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Ports of the loopback for servers that scripts start: the leases of tests/support/port.c."""
import fcntl
import os
import random
import socket

FOLDER = "/tmp/weir-test-ports"
_leases = []


def lease_port():
    """A port that no other test is given until this process ends."""
    os.makedirs(FOLDER, mode=0o1777, exist_ok=True)
    while True:
        port = random.randrange(20000, 30000)
        try:
            lock = os.open(f"{FOLDER}/{port}", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        _leases.append(lock)
        return port
