#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""What every text of the tree must keep to.

Usage: tools/check_text.py

 - UTF-8, lines ended by a newline alone, none ending in a space, the last one ended too; no tab but in Makefiles and Go.
 - C files start with the two-line licence head; scripts have it within their first lines.
 - No leftovers: notes to do something later have no place in the tree.
 - Nothing about one person's machine: no absolute path of a home or a checkout.
 - Lines of Markdown files have at most 120 columns, but rows of tables and links that stand alone in their line.
 - Links of Markdown files to files of the tree lead somewhere.
"""
import re

from sources import ROOT, Findings, files

C_HEAD = "/* Copyright (c) 2026 the weir authors\n * SPDX-License-Identifier: MIT */\n"
SCRIPT_HEAD = "# Copyright (c) 2026 the weir authors\n# SPDX-License-Identifier: MIT\n"
BINARY = (".png", ".db", ".gz", ".bin")
# Put together here so that this file does not find itself.
LEFTOVERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
HOMES = re.compile(r"(?<![\w.~-])/(" + "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "Us" + "ers"]) + r")/\w")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
COLUMNS = 120
# What cannot be broken: a row of a table, and a link or picture alone in its line.
UNBROKEN = re.compile(r"\||\s*(?:[-*] )?!?\[[^\]]*\]\([^)]*\)\S*$")

findings = Findings("check_text")


def check_lines(path, text):
    may_have_tabs = path.name == "Makefile" or path.suffix in (".mk", ".go", ".mod", ".sum")
    if text and not text.endswith("\n"):
        findings.add(path, text.count("\n") + 1, "the last line is not ended")
    for number, line in enumerate(text.split("\n"), 1):
        if line.endswith("\r"):
            findings.add(path, number, "carriage return")
        elif line.endswith((" ", "\t")):
            findings.add(path, number, "space at the end of the line")
        if "\t" in line and not may_have_tabs:
            findings.add(path, number, "tab")
        if LEFTOVERS.search(line):
            findings.add(path, number, "a note to do something later: do it, or file an issue")
        if HOMES.search(line):
            findings.add(path, number, "the absolute path of one machine")


def check_head(path, text):
    if path.suffix in (".c", ".h", ".cpp"):
        if not text.startswith(C_HEAD):
            findings.add(path, 1, "does not start with the licence head")
    elif path.suffix in (".py", ".sh") or text.startswith("#!"):
        if SCRIPT_HEAD not in "".join(text.splitlines(keepends=True)[:4]):
            findings.add(path, 1, "has no licence head")


def check_width(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not UNBROKEN.match(line):
            findings.add(path, number, f"the line has {len(line)} columns, more than {COLUMNS}")


def check_links(path, text):
    for match in LINK.finditer(text):
        if not (ROOT / path.parent / match.group(1)).exists():
            line = text.count("\n", 0, match.start()) + 1
            findings.add(path, line, f"the link leads nowhere: {match.group(1)}")


paths = [path for path in files() if path.suffix not in BINARY]
for path in paths:
    try:
        text = (ROOT / path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        findings.add(path, 1, f"not UTF-8: {error.reason} at byte {error.start}")
        continue
    check_lines(path, text)
    check_head(path, text)
    if path.suffix == ".md":
        check_width(path, text)
        check_links(path, text)
findings.end(f"{len(paths)} files")
