#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every pointer of an option struct says whose what it points to is.

Usage: tools/check_ownership.py

In the structs weir_…_options of the public headers the comment of each pointer but those to functions says "copied",
"borrowed" (and until when) or "taken".
"""
import re

from sources import Findings, files, read

STRUCT = re.compile(r"^struct (weir_\w*options) \{\n(.*?)^\};", re.M | re.S)
# A member with the comment before it or behind it.
MEMBER = re.compile(r"(?P<before>/\*\*(?!<).*?\*/\s*)?(?P<code>[^;/]+);(?P<behind>\s*/\*\*<.*?\*/)?", re.S)
OWNERSHIP = re.compile(r"\b(copied|borrowed|taken)\b", re.I)

findings = Findings("check_ownership")
count = 0
for header in files(".h", under="include"):
    text = read(header)
    for struct in STRUCT.finditer(text):
        for member in MEMBER.finditer(struct.group(2)):
            code = member.group("code")
            if "*" not in code or "_fn *" in code:
                continue
            count += 1
            if not OWNERSHIP.search((member.group("before") or "") + (member.group("behind") or "")):
                line = text.count("\n", 0, struct.start(2) + member.start("code")) + 1
                findings.add(header, line, f"{' '.join(code.split())} of {struct.group(1)}: expected \"copied\", "
                                           "\"borrowed\" or \"taken\" in its comment")
findings.end(f"{count} pointers of option structs say whose they are")
