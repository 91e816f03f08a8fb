#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Usage: controller.py PROGRAM: files that come, change and go, faults, and more events than the kernel keeps."""
import os
import shutil
import sys

from program import Program


def write(path, text):
    """At one moment: the controller must not find half of it."""
    with open(".new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(".new", path)


def read(name):
    with open(f"actual/{name}", encoding="ascii") as file:
        return file.read()


def start():
    return Program(sys.argv[1], "desired", "actual")


os.mkdir("desired")
os.mkdir("actual")

print("-- at the start")
write("desired/mail", "1")
write("desired/web", "1")
write("actual/old", "1")
program = start()
program.expect("mail: published", "old: withdrawn", "web: published")
assert sorted(os.listdir("actual")) == ["mail", "web"]

print("-- changes")
write("desired/db", "1")
program.expect("db: published")
os.rename("desired/db", "desired/cache")
program.expect("db: withdrawn", "cache: published")
write("actual/web", "changed by somebody")
program.expect("web: published")
os.remove("actual/mail")
program.expect("mail: published")

os.link("desired/web", "desired/link")
program.expect("link: published")
longest = "n" * 255
write(f"desired/{longest}", "1")
program.expect(f"{longest}: published")

print("-- a fault, which ends without an event")
os.mkdir("actual/.part")
write("desired/web", "2")
for _ in range(3):
    program.expect("web: cannot be published")
os.rmdir("actual/.part")
while program.process.stdout.readline() == "web: cannot be published\n":
    pass
assert read("web") == "2"
print("web: published")

print("-- more events than the kernel keeps")
with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as limit:
    times = int(limit.read()) // 2 + 1
program.signal("STOP")
os.waitpid(program.process.pid, os.WUNTRACED)
for _ in range(times):
    for name in "mail", "web":
        os.close(os.open(f"desired/{name}", os.O_WRONLY))
for name in "mail", "web", "last":
    write(f"desired/{name}", f"{name}, whose event is lost")
program.signal("CONT")
program.expect("mail: published", "web: published", "last: published")
for name in "mail", "web", "last":
    assert read(name) == f"{name}, whose event is lost"

print("-- the end")
program.signal("TERM")
program.end()
Program(sys.argv[1], "desired", "none").end()
program = start()
write("desired/mail", "3")
program.expect("mail: published")
program.signal("INT")
program.end()

print("-- a folder is gone")
for gone in "desired", "actual":
    os.makedirs("gone/desired")
    os.makedirs("gone/actual")
    write("gone/actual/old", "1")
    program = Program(sys.argv[1], "gone/desired", "gone/actual")
    program.expect("old: withdrawn")
    os.rmdir(f"gone/{gone}")
    program.end()
    shutil.rmtree("gone")
