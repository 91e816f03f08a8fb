#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The table of docs/internals/locking.md names every lock of the libraries, and none that is not there.

Usage: tools/check_locks.py

A lock is a member of a struct in src/ whose type is one of LOCKS; the table names it `struct.member`. The locks that
base's own locks and parkers are made of under the schedule explorer are no locks of weir's (BUILDING_BLOCKS).
"""
import re

from sources import Findings, files, read, without_comments

TABLE = "docs/internals/locking.md"
LOCKS = "weiri_mutex|weiri_lock|weiri_lock_file"
BUILDING_BLOCKS = {"src/base/lock.h", "src/base/park.h"}

STRUCT = re.compile(r"^struct\s+(?:WEIRI_CAPABILITY\([^)]*\)\s*)?(\w+)\s*\{\n(.*?)^\}", re.M | re.S)
MEMBER = re.compile(rf"^\s+struct (?:{LOCKS}) (\w+)\b[^;]*;", re.M)

findings = Findings("check_locks")
found = {}
for path in files(".h", ".c", under="src"):
    if str(path) in BUILDING_BLOCKS or path.name.endswith("_test.c"):
        continue
    text = without_comments(read(path))
    for struct in STRUCT.finditer(text):
        for member in MEMBER.finditer(struct.group(2)):
            line = text.count("\n", 0, struct.start(2) + member.start(1)) + 1
            found[f"{struct.group(1)}.{member.group(1)}"] = (path, line)

named = {}
for number, line in enumerate(read(TABLE).split("\n"), 1):
    if re.match(r"\| [0-9–] \|", line):
        for name in re.findall(r"`(\w+\.\w+)`", line.split("|")[2]):
            named[name] = number

for name, (path, line) in sorted(found.items()):
    if name not in named:
        findings.add(path, line, f"{name} is not in the table of {TABLE}")
for name, line in sorted(named.items()):
    if name not in found:
        findings.add(TABLE, line, f"there is no lock {name}")
findings.end(f"{len(found)} locks, all in the table")
