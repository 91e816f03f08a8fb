#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The libraries export what the public headers declare, and nothing else.

Usage: tools/check_symbols.py LIBRARY...      (libweir.so, libweir-jobs.so, libweir.a, libweir-jobs.a)

 - Shared: every exported symbol is weir_*, carries its library's version, and is declared WEIR_API in a public header,
   with a Doxygen comment right above. The version tag itself is no function.
 - Static: every global symbol is weir_* or weiri_*, so that linking them takes no name from the user's program.
 - Every WEIR_API function of the headers is exported by exactly one of the shared libraries.
 - Every WEIR_API function is called by at least one test.
"""
import re
import subprocess
import sys

from sources import Findings, files, read, without_comments

DECLARATION = re.compile(r"^WEIR_API\b[^;{]*?\b(weir_\w+)\s*\(", re.M)

findings = Findings("check_symbols")


def declared():
    """Maps each WEIR_API function to the header and line of its declaration."""
    functions = {}
    for header in files(".h", under="include"):
        text = read(header)
        for match in DECLARATION.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            functions[match.group(1)] = (header, line)
            above = text[:match.start()].rstrip()
            comment = above[above.rfind("/*"):]
            if not above.endswith("*/") or not comment.startswith("/**"):
                findings.add(header, line, f"{match.group(1)} has no comment right above it")
    return functions


def symbols(library, *options):
    listing = subprocess.run(["nm", "--format=posix", "--defined-only", "--extern-only", *options, library],
                             check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in listing.splitlines() if len(line.split()) > 1]


def check_shared(library, functions, exporters):
    for symbol in symbols(library, "--dynamic", "--with-symbol-versions"):
        name, _, version = symbol.replace("@@", "@").partition("@")
        if re.fullmatch(r"LIBWEIR(_JOBS)?_\d+", name):
            continue
        if name not in functions:
            findings.add(library, 0, f"exports {name}, which no public header declares")
        elif not version:
            findings.add(library, 0, f"{name} has no symbol version")
        else:
            exporters.setdefault(name, []).append(library)


# What every program with probes has, weak and the same in all.
PROBE_BASE = "_.stapsdt.base"


def check_static(library):
    for name in symbols(library):
        if not name.startswith(("weir_", "weiri_")) and name != PROBE_BASE:
            findings.add(library, 0, f"has the global symbol {name}, which may collide with a user's")


def called_by_tests():
    paths = [path for path in files("_test.c", under="src")] + files(".c", ".cpp", ".inc", under="tests")
    return set(re.findall(r"\b(weir_\w+)\s*\(", "\n".join(without_comments(read(path)) for path in paths)))


libraries = sys.argv[1:]
if not libraries:
    sys.exit(__doc__)
functions = declared()
exporters = {}
for library in libraries:
    if library.endswith(".a"):
        check_static(library)
    else:
        check_shared(library, functions, exporters)
tested = called_by_tests()
for name, (header, line) in sorted(functions.items()):
    where = exporters.get(name, [])
    if len(where) != 1:
        findings.add(header, line, f"{name} is exported by {len(where)} of the libraries, not by one")
    if name not in tested:
        findings.add(header, line, f"no test calls {name}")
findings.end(f"{len(functions)} functions: declared, documented, exported once, called by a test; nothing else is exported")
