#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every row of docs/conformance.md names a test, and every test it names exists.

Usage: tools/check_conformance.py

 - `suite:case` in the last column of a table is the case of tests/conformance/SUITE_test.c, or, where the suite has dots,
   of the unit test at that path (src/queue/poll_test.c is queue.poll). Every row of every table has one at least.
 - In a table whose last column says "for keys and embedded items" every row has one that runs for each kind of item.
 - In a table whose column is "where a cluster promises less" a row whose cases open a place that can something which a
   cluster cannot names that there, as `WEIR_CAN_KEYS`, and names nothing that its cases do not ask for.
 - In a table whose first column is "client-go" the cases of a row begin with the name of the Go test: TestAddTwoFireEarly
   is add_two_fire_early.
 - In a table whose first column is "rate-envelope-queue" the titles of a row's cases begin with the name of the Go test and
   that of the scenario: "TestQueue: Queue stopping ...". Of the suites rate_envelope_... every case is in that table.
 - In a table whose first column is "rate-envelope-queue's" one case of a row has the number of the flaw in its title: (R5).
"""
import re

from sources import ROOT, Findings, read

TABLES = "docs/conformance.md"
CASE = re.compile(r'^TEST(\w*)\(\s*(\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.M)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
REFERENCE = re.compile(r"`([\w.]+):(\w+)`")
LESS = "where a cluster promises less"
FUNCTION = re.compile(r"^(?:TEST_BROKERS\(|static [^;{}()]*?\b(?=\w+\())(\w+)", re.M)
FEATURE = re.compile(r"WEIR_CAN_(\w+)")
OPENED = re.compile(r"place_open_that_can\([^;]*?WEIR_CAN_(\w+)")
FOR_EACH_KIND = {"_EACH", "_EACH_WITH", "_BOTH"}

findings = Findings("check_conformance")
suites = {}
ported = set()  # cases that stand for scenarios of rate-envelope-queue's own tests


def cases(suite):
    """Maps the cases of a suite to their macros and titles; None where there is no such suite."""
    if suite not in suites:
        path = suite.replace(".", "/") if "." in suite else f"conformance/{suite}"
        places = [ROOT / top / f"{path}_test.c" for top in ("src", "tests")]
        found = [place for place in places if place.is_file()]
        suites[suite] = None
        if found:
            suites[suite] = {name: (macro, "".join(STRING.findall(title)))
                             for macro, name, title in CASE.findall(found[0].read_text())}
    return suites[suite]


def features(suite):
    """Maps the functions of a suite of conformance.jobs to the features that a place needs for them, and to all that they
    ask for; those of a case are also those of the function that opens its place."""
    found = {}
    for text in read(f"tests/{suite.replace('.', '/')}_test.c").split("\n}\n"):
        name = FUNCTION.findall(text)
        if name:
            needs, asks = set(OPENED.findall(text)), set(FEATURE.findall(text))
            for helper in re.findall(r"\b(open_\w+)\(&[\w.]+, kind\)", text):
                needs |= found[helper][0]
                asks |= found[helper][1]
            found[name[-1]] = needs, asks
    return found


def check_less(line, cell, references):
    """Holds what a row says of a cluster against what its cases ask for."""
    cluster = re.search(r"\.can = ([^;]*?),\n", read("src/jobs/beanstalkd/cluster.c")).group(1)
    can = set(re.findall(r"WEIRI_CAN\((\w+)\)", cluster))
    needs, asks = set(), set()
    for suite, case in references:
        if suite.startswith("conformance.jobs.") and case in (known := features(suite)):
            needs |= known[case][0] - can
            asks |= known[case][1] - can
    named = set(FEATURE.findall(cell))
    for feature in sorted(needs - named):
        findings.add(TABLES, line, f"a cluster has no WEIR_CAN_{feature}, and the row does not say so")
    for feature in sorted(named - asks):
        findings.add(TABLES, line, f"no case of the row asks for WEIR_CAN_{feature}, or a cluster has it")


def snake(go_name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", go_name.removeprefix("Test")).lower()


def check_peers_row(line, header, cells, references, titles):
    """Of rate-envelope-queue."""
    if header[0] == "rate-envelope-queue":
        ported.update(references)
        name = ": ".join(cell for cell in cells[:2] if cell)
        for title in titles:
            if title != name and not title.startswith(name + ": "):
                findings.add(TABLES, line, f'not the case of "{name}": "{title}"')
    elif header[0] == "rate-envelope-queue's":
        number = re.compile(rf"\([^()]*\b{cells[0]}\b[^()]*\)")
        if not any(number.search(title) for title in titles):
            findings.add(TABLES, line, f"no title of a case names {cells[0]}")


def check_row(line, header, cells):
    references = REFERENCE.findall(cells[-1])
    if not references:
        findings.add(TABLES, line, "the row names no test")
    kinds = False
    titles = []
    for suite, case in references:
        known = cases(suite)
        if known is None:
            findings.add(TABLES, line, f"there is no suite {suite}")
        elif case not in known:
            findings.add(TABLES, line, f"{suite} has no case {case}")
        else:
            kinds = kinds or known[case][0] in FOR_EACH_KIND
            titles.append(known[case][1])
            if header[0] == "client-go" and not case.startswith(snake(cells[0])):
                findings.add(TABLES, line, f"{case} is not named after {cells[0]}")
    check_peers_row(line, header, cells, references, titles)
    if LESS in header:
        check_less(line, cells[header.index(LESS)], references)
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
for path in sorted((ROOT / "tests/conformance").glob("rate_envelope_*_test.c")):
    suite = path.name.removesuffix("_test.c")
    for case in cases(suite):
        if (suite, case) not in ported:
            findings.add(TABLES, 1, f"{suite}:{case} stands for no scenario in the table of rate-envelope-queue")
findings.end(f"{rows} rows, {named} tests named, all there")
