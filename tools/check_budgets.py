#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""No room has more lines than tools/budgets.txt allows.

Usage: tools/check_budgets.py

A line of that file is a folder, its budget and, where the folder has more lines than that, its ceiling. Lines are those
of .c and .h files without *_test.c, folders below included. A finding is

 - a folder with more lines than both its budget and its ceiling;
 - a ceiling that is 100 or more lines above what the folder has: it is lowered with the folder, so that it only falls.
   Less than that is left, so that several changes can be merged without meeting in this file;
 - a folder that does not exist, and a room of src/ without a line.
"""
import re

from sources import BELOW, ROOT, Findings, files, read

PAGE = "tools/budgets.txt"
SLACK = 100
ROW = re.compile(r"(\S+) +(\d+)(?: +(\d+))?")

findings = Findings("check_budgets")
rooms = {f"src/{room}" for room in BELOW}
above = 0


def lines_of(folder):
    paths = [path for path in files(".c", ".h", under=folder) if not path.name.endswith("_test.c")]
    return sum(len(read(path).splitlines()) for path in paths)


rows = 0
for number, line in enumerate(read(PAGE).splitlines(), 1):
    if line.startswith("#"):
        continue
    match = ROW.fullmatch(line)
    if match is None:
        findings.add(PAGE, number, f"not understood: {line}")
        continue
    rows += 1
    folder, budget, ceiling = match.group(1), int(match.group(2)), int(match.group(3) or 0)
    rooms.discard(folder)
    if not (ROOT / folder).is_dir():
        findings.add(PAGE, number, f"there is no folder {folder}")
        continue
    lines = lines_of(folder)
    most = max(budget, ceiling)
    above += lines > budget
    if lines > most:
        findings.add(PAGE, number, f"{folder} has {lines} lines; at most {most} are allowed")
    elif ceiling - lines >= SLACK:
        least = f"lower it to {lines}" if lines > budget else "take it away"
        findings.add(PAGE, number, f"the ceiling of {folder} is {ceiling}, and it has {lines} lines: {least}")
for room in sorted(rooms):
    findings.add(PAGE, 1, f"{room} has no budget")
findings.end(f"{rows} folders within their budgets or ceilings; {above} above their budgets")
