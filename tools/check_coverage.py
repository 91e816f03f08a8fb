#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every line of src/base and src/queue is reached by a test or listed in docs/coverage.md, and 95 % of their branches are.

Usage: tools/check_coverage.py REPORT      (REPORT: of gcovr --json, as `make coverage` makes it)

A line of the list is named by its file, its function and its text; all of the same text in one function are meant. One
that is listed and reached after all is an error, too, unless its reason begins with "by chance". Not counted as branches
are those of assertions, whose other side is a bug of ours.
"""
import json
import re
import sys
from pathlib import Path

from sources import Findings, read

LIST = "docs/coverage.md"
ROOMS = ("src/base/", "src/queue/")
BRANCHES_LEAST = 95.0
ROW = re.compile(r"^\| `(src/[^`]+)` \| `(\w+)` \| (.+) \| ([^|]+) \|$")
UNCOUNTED = re.compile(r"\bWEIRI_(DEBUG_)?ASSERT\(")


def read_list(findings):
    """The lines listed, as (file, function, text) to where they are; 0: they may be reached, too."""
    listed = {}
    for number, line in enumerate(read(LIST).split("\n"), 1):
        row = ROW.match(line)
        if row:
            for text in re.findall(r"`([^`]+)`", row[3]):
                listed[(row[1], row[2], text.replace("\\|", "|"))] = 0 if row[4].startswith("by chance") else number
        elif line.startswith("| `"):
            findings.add(LIST, number, "not understood; a row is | `file` | `function` | `line`, `line` | why |")
    return listed


def uncounted_lines(text):
    """The numbers of the lines of statements whose branches are not counted."""
    found, is_inside = set(), False
    for number, line in enumerate(text, 1):
        is_inside = is_inside or UNCOUNTED.search(line) is not None
        if is_inside:
            found.add(number)
            is_inside = not line.rstrip().endswith((";", "{", "}"))
    return found


def function_names(text):
    """The function that each line of .clang-format's C is in; "" outside. (An inline function is not in the report.)"""
    names, head, name = [""], "", ""
    for line in text:
        if line == "{":
            name = re.search(r"(?:^|[ *])([a-z]\w*)\(", head)[1] if "(" in head else ""
        head = line if re.match(r"[A-Za-z]", line) else head
        names.append(name)
        name = "" if line.startswith("}") else name
    return names


def judge(entry, listed, findings, sums):
    file = entry["file"]
    text = read(file).split("\n")
    uncounted = uncounted_lines(text)
    names = function_names(text)
    for line in entry["lines"]:
        if line.get("gcovr/noncode"):
            continue
        number = line["line_number"]
        key = (file, names[number], text[number - 1].strip())
        sums["lines"] += 1
        sums["lines reached"] += line["count"] > 0
        if line["count"] == 0 and key not in listed:
            findings.add(file, number, f"no test reaches this line of {key[1]}(): {key[2]}")
        if line["count"] == 0:
            sums["unreached"].add(key)
        if number not in uncounted:
            sums["branches"] += len(line["branches"])
            sums["branches reached"] += sum(branch["count"] > 0 for branch in line["branches"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = Findings("check_coverage")
    listed = read_list(findings)
    sums = {"lines": 0, "lines reached": 0, "branches": 0, "branches reached": 0, "unreached": set()}
    for entry in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"]:
        if entry["file"].startswith(ROOMS):
            judge(entry, listed, findings, sums)
    for key, number in listed.items():
        if number and key not in sums["unreached"]:
            findings.add(LIST, number, f"{key[0]}, {key[1]}(): there is no such line, or a test reaches it: {key[2]}")
    if sums["lines"] == 0:
        sys.exit("check_coverage: the report has no line of " + " or ".join(ROOMS))
    share = 100 * sums["branches reached"] / sums["branches"]
    if share < BRANCHES_LEAST:
        findings.add(LIST, 1, f"only {share:.1f} % of the branches are reached, not {BRANCHES_LEAST:.0f} %")
    print(f"lines {sums['lines reached']} of {sums['lines']}, the others are listed; "
          f"branches {share:.1f} % ({sums['branches reached']} of {sums['branches']})")
    findings.end("every line is reached or listed")


main()
