#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every row of docs/conformance.md names a test, and every test it names exists.

Usage: tools/check_conformance.py

 - `suite:case` in the last column of a table is the case of tests/conformance/SUITE_test.c, or, where the suite has dots,
   of the unit test at that path (src/queue/poll_test.c is queue.poll). Every row of every table has one at least.
 - In a table whose last column says "for keys and embedded items" every row has one that runs for each kind of item.
 - In a table whose first column is "client-go" the cases of a row begin with the name of the Go test: TestAddTwoFireEarly
   is add_two_fire_early.
"""
import re

from sources import ROOT, Findings, read

TABLES = "docs/conformance.md"
CASE = re.compile(r"^TEST(\w*)\(\s*(\w+),", re.M)
REFERENCE = re.compile(r"`([\w.]+):(\w+)`")
FOR_EACH_KIND = {"_EACH", "_EACH_WITH", "_BOTH"}

findings = Findings("check_conformance")
suites = {}


def cases(suite):
    """Maps the cases of a suite to their macros; None where there is no such suite."""
    if suite not in suites:
        path = suite.replace(".", "/") if "." in suite else f"conformance/{suite}"
        places = [ROOT / top / f"{path}_test.c" for top in ("src", "tests")]
        found = [place for place in places if place.is_file()]
        suites[suite] = {name: macro for macro, name in CASE.findall(found[0].read_text())} if found else None
    return suites[suite]


def snake(go_name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", go_name.removeprefix("Test")).lower()


def check_row(line, header, cells):
    references = REFERENCE.findall(cells[-1])
    if not references:
        findings.add(TABLES, line, "the row names no test")
    kinds = False
    for suite, case in references:
        known = cases(suite)
        if known is None:
            findings.add(TABLES, line, f"there is no suite {suite}")
        elif case not in known:
            findings.add(TABLES, line, f"{suite} has no case {case}")
        else:
            kinds = kinds or known[case] in FOR_EACH_KIND
            if header[0] == "client-go" and not case.startswith(snake(cells[0])):
                findings.add(TABLES, line, f"{case} is not named after {cells[0]}")
    if references and "for keys and embedded items" in header[-1] and not kinds:
        findings.add(TABLES, line, "no test of the row runs for keys and embedded items")
    return len(references)


rows = 0
named = 0
header = None
for number, text in enumerate(read(TABLES).split("\n"), 1):
    if not text.startswith("|"):
        header = None
        continue
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    if header is None:
        header = cells
    elif not re.fullmatch(r"[|\- ]+", text):
        rows += 1
        named += check_row(number, header, cells)
findings.end(f"{rows} rows, {named} tests named, all there")
