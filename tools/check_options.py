#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""No option of the program can be taken for another: each has a case of its own.

The compiler names an enumerator that a switch lacks, if the switch is of the enum and has no default. This check sees
that every reader of options (an option_fn) is such a switch, or the reader of a table with one row.
"""
import re

from sources import Findings, files, read, without_comments

READER = re.compile(r"^\w[^;{]*\(int option, const char \*name,.*?^}$", re.M | re.S)
SHARED = re.compile(r"(?:arguments_run\([^;]*?,\s*|\.set = )(option_flag|NULL),")
ROW = re.compile(r"\bOPTION_(?:FLAG|VALUE)\(|\b[A-Z]+_OPTIONS\b|\bMATCHING_FILTERS\b")

findings = Findings("check_options")
readers = 0
for path in files(".c", under="src/cli"):
    text = without_comments(read(path))
    tables = re.findall(r"struct poptOption \w+_options\[\] = \{.*?^};", text, re.M | re.S)
    rows = sum(len(ROW.findall(table)) for table in tables)

    def tell(at, message):
        findings.add(path, text.count("\n", 0, at) + 1, message)

    for reader in READER.finditer(text):
        body = reader.group(0)
        readers += 1
        if "default:" in body:
            tell(reader.start() + body.index("default:"), "a default takes an option without a case for another")
        if re.search(r"switch \((?!\(enum )", body):
            tell(reader.start() + body.index("switch ("), "a switch of an option that is not of its enum")
        if "switch (" not in body and not body.startswith("int option_flag(") and rows > 1:
            tell(reader.start(), f"a reader that does not ask which of {rows} options it has")
    for call in SHARED.finditer(text):
        if rows > (call.group(1) == "option_flag"):
            tell(call.start(), f"{call.group(1)} reads {rows} options")
findings.end(f"{readers} readers of options have a case for each")
