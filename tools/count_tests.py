#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Adds up what ctest ran: test cases, not executables.

Usage: tools/count_tests.py BUILD...

Reads the log of the last ctest run of each build folder. An entry whose output ends in the harness' closing line counts
with the cases it names; any other entry is one case. Prints a line per build and the total, in the form of the closing
line; exit status 1 when anything failed or nothing passed.
"""
import re
import sys
from pathlib import Path

ENTRY = re.compile(r"^\d+/\d+ Testing: (.+?)$(.*?)^Test time = .*?^(Test \w+.*?)$", re.M | re.S)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


def count(build):
    log = (Path(build) / "Testing/Temporary/LastTest.log").read_text(encoding="utf-8", errors="replace")
    passed = failed = skipped = 0
    for entry in ENTRY.finditer(log):
        _, output, verdict = entry.groups()
        closings = CLOSING.findall(output)
        if closings:
            cases = [int(number) for number in closings[-1]]
            passed, failed, skipped = passed + cases[0], failed + cases[1], skipped + cases[2]
            if not verdict.startswith("Test Passed") and cases[1] == 0 and cases[0] > 0:
                failed += 1
        elif verdict.startswith("Test Passed"):
            passed += 1
        elif "kip" in verdict:
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def line(counts):
    return "{} passed, {} failed, {} skipped".format(*counts)


builds = sys.argv[1:]
if not builds:
    sys.exit(__doc__)
counts = [count(build) for build in builds]
for build, one in zip(builds, counts):
    print(f"{Path(build).name + ':':12} {line(one)}")
total = [sum(column) for column in zip(*counts)]
print(line(total))
sys.exit(0 if total[0] > 0 and total[1] == 0 else 1)
