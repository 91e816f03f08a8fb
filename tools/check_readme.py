#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The examples that Markdown files show are the ones that are built and run.

Usage: tools/check_readme.py

A code block after a line `<!-- examples/FILE -->` must be the text of that file without its licence head (and, in a
script, without the `#!` line). README.md must have at least one C and one shell example of that kind.
"""
import re

from sources import ROOT, Findings, files, read

BLOCK = re.compile(r"^<!-- (examples/\S+) -->\n\n?```(\w+)\n(.*?)^```$", re.M | re.S)
MARK = re.compile(r"^<!-- examples/\S+ -->$", re.M)
HEAD = re.compile(r"\A(?:#!.*\n)?(?:/\*|#) Copyright[^\n]*\n[^\n]*SPDX-License-Identifier: MIT(?: \*/)?\n\n?")

findings = Findings("check_readme")
count = 0
languages = {}
for document in files(".md"):
    text = read(document)
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != len(MARK.findall(text)):
        findings.add(document, 1, "an <!-- examples/... --> line has no code block after it")
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        name, language, shown = block.groups()
        languages.setdefault(str(document), set()).add(language)
        count += 1
        if not (ROOT / name).is_file():
            findings.add(document, line, f"there is no {name}")
        elif HEAD.sub("", read(name), count=1) != shown:
            findings.add(document, line, f"the code block is not the text of {name}")
for language in ("c", "sh"):
    if language not in languages.get("README.md", set()):
        findings.add("README.md", 1, f"has no {language} example that is run")
findings.end(f"{count} examples are those of examples/")
