#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Usage: systemd_worker.py PROGRAM: what systemd does to it: starts, reloads, a watchdog, and two ways to stop."""
import os
import re
import resource
import shutil
import socket
import subprocess
import sys

from program import Program

BROKER = f"sqlite:{os.getcwd()}/jobs.db"
WATCHDOG_SECONDS = 2


class Systemd:
    """The other side of sd_notify(3)."""

    def __init__(self, address, **more):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0"))
        environment = dict(os.environ, NOTIFY_SOCKET=address, WATCHDOG_USEC=str(WATCHDOG_SECONDS * 1000000), **more)
        self.program = Program(sys.argv[1], BROKER, "settings", environment=environment)

    def message(self):
        return self.socket.recv(4096).decode()

    def expect(self, *wanted):
        """The next messages but signs of life are these."""
        for pattern in wanted:
            while (message := self.message()) == "WATCHDOG=1":
                pass
            if not re.fullmatch(pattern, message):
                sys.exit(f"found the message: {message!r}\nexpected:          {pattern!r}")
            print(re.sub("[0-9]{2,}", "N", message).replace("\n", " "))

    def expect_hang(self):
        """As many signs of life as there are, and then none for too long: kills it, as systemd does."""
        self.socket.settimeout(WATCHDOG_SECONDS)
        signs = 0
        try:
            while self.message() == "WATCHDOG=1":
                signs += 1
        except TimeoutError:
            print("no sign of life" if signs > 0 else "not a single sign of life")
        self.program.signal("ABRT")
        self.program.end()


def set_up(text):
    with open("settings", "w", encoding="ascii") as file:
        file.write(text)


def put(*files):
    for file in files:
        subprocess.run(["weir", "put", "--quiet", "--ttr=1s", f"--broker={BROKER}", "lines"], input=file.encode(),
                       check=True)


def counts():
    shown = subprocess.run(["weir", "stats", f"--broker={BROKER}", "--json", "lines"], check=True, capture_output=True)
    return " ".join(re.findall(r'"(?:ready|reserved|buried|done)":\s*\d+', shown.stdout.decode()))


def open_files(*names):
    """Waits until each is in work: a worker that opens a pipe waits for its writer."""
    pipes = [open(name, "wb", buffering=0) for name in names]
    for pipe in pipes:
        pipe.write(b"one\ntwo\n")
    return pipes


def close(pipes):
    for pipe in pipes:
        pipe.close()


def check_unit():
    """What the comment says is a unit, where there is a systemd."""
    if shutil.which("systemd-analyze") is None:
        return
    source = os.path.join(os.path.dirname(__file__), "..", "systemd_worker.c")
    with open(source, encoding="ascii") as file:
        unit = "".join(re.findall(r"^ \*     (.*\n)", file.read(), re.M))
    with open("lines.service", "w", encoding="ascii") as file:
        file.write(unit.replace("/usr/local/bin/systemd_worker", sys.argv[1]))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", "./lines.service"],
                          check=False, capture_output=True, text=True)
    assert "ExecStart" in unit and said.stderr == "", unit + said.stderr


check_unit()
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.mkfifo("first")
os.mkfifo("second")
with open("three", "w", encoding="ascii") as three:
    three.write("1\n2\n3\n")

print("-- a start, a fault in the settings, a reload")
set_up("workers 1 limit 30s\n")
systemd = Systemd(f"{os.getcwd()}/notify")
systemd.expect("READY=1\nSTATUS=")
put("three")
systemd.program.expect("three: done: 3 lines")
put("three\0")
systemd.program.expect("three: buried: no name of a file")
for fault in "none", "4x":
    set_up(f"workers {fault} limit 30s\n")
    systemd.program.signal("HUP")
    systemd.expect(r"RELOADING=1\nMONOTONIC_USEC=\d+", "READY=1\nSTATUS=.*")
set_up("workers 2 limit 30s\n")
systemd.program.signal("HUP")
systemd.expect(r"RELOADING=1\nMONOTONIC_USEC=\d+", "READY=1\nSTATUS=")
put("first", "second")
in_work = open_files("first", "second")  # two at once
print("two are in work")

print("-- TERM")
systemd.program.signal("TERM")
systemd.expect("STOPPING=1\nSTATUS=finishing")
put("three")
close(in_work)
systemd.program.end()
print(counts())

print("-- TERM twice")
set_up("workers 2 limit 1s\n")
systemd = Systemd("@weir.example." + str(os.getpid()))
systemd.expect("READY=1\nSTATUS=")
systemd.program.expect("three: done: 3 lines")
put("first")
in_work = open_files("first")
systemd.program.signal("TERM")
systemd.expect("STOPPING=1\nSTATUS=finishing")
systemd.program.signal("TERM")
systemd.expect("STATUS=stopping")
try:
    while True:
        in_work[0].write(b"three\n")  # the file goes on, and the worker ends in the midst of it
except BrokenPipeError:
    systemd.program.end()
print(counts())

print("-- a file that hangs")
systemd = Systemd("@weir.example.hang." + str(os.getpid()))
systemd.expect("READY=1\nSTATUS=")
systemd.expect_hang()
os.remove("first")
os.rename("three", "first")
systemd = Systemd("@weir.example.again." + str(os.getpid()), WATCHDOG_PID="1")
systemd.program.expect("first: done: 3 lines")
systemd.expect("READY=1\nSTATUS=")
systemd.program.signal("TERM")
print(systemd.message().replace("\n", " "))  # and no sign of life before: another process gives them
systemd.program.end()
print(counts())
