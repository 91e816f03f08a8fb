#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Prints which C files clang-tidy has not seen as they are: a pattern for tools/tidy.sh.

Usage: tools/changed.py

These are the files that differ from the commit of the last `make tidy` of the whole tree (tests/verified/tidy), and all
that include a file that differs, in however many steps. Where there is no such commit, or the checks themselves have
changed, the pattern matches every file.
"""
import re
import subprocess

from sources import ROOT, files, read

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
FOLDERS = ["include", "src", "tests"]


def since_last():
    """The paths that have changed since the last whole run; None: it is not known."""
    try:
        commit = re.search(r"^commit: (\w+)$", read("tests/verified/tidy"), re.M)[1]
    except OSError:
        return None
    changed = subprocess.run(f"git diff --name-only {commit} && git ls-files --others --exclude-standard", shell=True,
                             cwd=ROOT, capture_output=True, text=True, check=False)
    return set(changed.stdout.split()) if changed.returncode == 0 else None


def included(path):
    """The files of ours that a file includes."""
    for name in INCLUDE.findall(read(path)):
        for folder in FOLDERS + [path.parent]:
            if (ROOT / folder / name).exists():
                yield str((ROOT / folder / name).resolve().relative_to(ROOT))
                break


changed = since_last()
if changed is None or any(path.endswith((".clang-tidy", "tidy.sh", "WeirCompile.cmake")) for path in changed):
    print(".")
else:
    includers = {str(path): set(included(path)) for path in files(".c", ".h", ".inc")}
    grown = True
    while grown:
        more = {path for path, names in includers.items() if path not in changed and names & changed}
        changed |= more
        grown = bool(more)
    sources = sorted(path for path in changed if path.endswith(".c"))
    print("/(" + "|".join(map(re.escape, sources)) + ")$" if sources else "^$")
