#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Includes go one way: base <- queue <- pool <- jobs <- view <- http <- cli; context, cron, isolate, parallel and metrics are on base only.

Usage: tools/check_includes.py

 - A room of src/ includes internal headers ("room/file.h") of itself and of the rooms below it, and public headers of
   those rooms. The program (view, http, cli) includes no internal header but its own. In jobs the same holds of its
   parts: core <- the back ends <- the public calls <- consume; the header of consumers is consume's alone, and so on
   (HEADER_PARTS in tools/sources.py).
 - A public header includes public headers of its own room and below, and standard C; nothing of the system.
 - In the libraries only src/base calls threads, clocks and randomness of the system.
 - Unit tests beside their sources may also include the harness ("support/...").
 - src/base may include "support/explorer/...": where the schedule explorer takes its place (WEIRI_EXPLORER).
"""
import posixpath
import re

from sources import BELOW as ROOMS_BELOW, HEADER_PARTS, PARTS, PUBLIC, ROOT, Findings, files, read, without_comments

# The rooms of the program, which see all public headers.
PROGRAM = {"view", "http", "cli"}

ROOM_OF_HEADER = {header: room for room, headers in PUBLIC.items() for header in headers}
# weir.h is the sum of libweir, so it stands above all its rooms.
ROOM_OF_HEADER["weir"] = "libweir"
BELOW = {**ROOMS_BELOW, "libweir": set(ROOMS_BELOW) - {"jobs"} - PROGRAM}

STANDARD_C = {"stdbool.h", "stddef.h", "stdint.h", "stdarg.h", "limits.h", "string.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SYSTEM_CALLS = re.compile(
    r"\b(pthread_\w+|thrd_\w+|mtx_\w+|cnd_\w+|clock_gettime|clock_nanosleep|nanosleep|usleep|sleep|time|gettimeofday"
    r"|timespec_get|rand|random|srand|getrandom|arc4random)\s*\(")

findings = Findings("check_includes")


def includes(text):
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == "<", match.group(2)


def check_public_name(path, line, name, allowed):
    """name is the X of <weir/X.h>; allowed are the rooms whose headers may be included."""
    room = ROOM_OF_HEADER.get(name)
    if room is None:
        findings.add(path, line, f"<weir/{name}.h> belongs to no room: add it to PUBLIC in tools/sources.py")
    elif room not in allowed:
        findings.add(path, line, f"<weir/{name}.h> is of room {room}, which may not be used here")


def check_public_header(path):
    room = ROOM_OF_HEADER.get(path.stem)
    if room is None:
        findings.add(path, 1, "belongs to no room: add it to PUBLIC in tools/sources.py")
        return
    for line, is_system, name in includes(read(path)):
        if not is_system:
            findings.add(path, line, f'public headers include <weir/...>, not "{name}"')
        elif name.startswith("weir/"):
            check_public_name(path, line, name[5:-2], BELOW[room] | {room})
        elif name not in STANDARD_C:
            findings.add(path, line, f"<{name}> is not among the standard headers a public header may include")


def check_source(path):
    room = path.parts[1]
    if room not in BELOW:
        findings.add(path, 1, f"src/{room} is no known room: add it to BELOW in tools/sources.py")
        return
    is_test = path.name.endswith("_test.c")
    folder = path.parent.relative_to("src").as_posix()
    if room == "jobs" and folder not in PARTS:
        findings.add(path, 1, f"src/{folder} is no known part of jobs: add it to PARTS in tools/sources.py")
        return
    internal = PARTS[folder] | {folder} if folder in PARTS else BELOW[room] | {room}
    if is_test:
        internal |= {"support"} | (PARTS.keys() if room == "jobs" else set())
    public = set(PUBLIC) | {"libweir"} if room in PROGRAM else BELOW[room] | {room}
    text = read(path)
    for line, is_system, name in includes(text):
        if is_system and name.startswith("weir/"):
            check_public_name(path, line, name[5:-2], public)
            if folder in PARTS and not is_test and folder not in HEADER_PARTS.get(name[5:-2], {folder}):
                findings.add(path, line, f"part {folder} may not include <{name}>")
        elif not is_system and "/" not in name:
            findings.add(path, line, f'"{name}" is not named by its room')
        elif not is_system and room == "base" and name.startswith("support/explorer/"):
            continue
        elif not is_system and posixpath.dirname(name) not in internal:
            findings.add(path, line, f'room {folder} may not include "{name}"')
        elif not is_system and not any((ROOT / top / name).is_file() for top in ("src", "tests")):
            findings.add(path, line, f'there is no "{name}"')
    if room not in {"base"} | PROGRAM and not is_test:
        code = without_comments(text)
        for match in SYSTEM_CALLS.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            findings.add(path, line, f"{match.group(1)}() is called in src/base only")


headers = files(".h", under="include")
for header in headers:
    check_public_header(header)
sources = files(".c", ".h", under="src")
for source in sources:
    check_source(source)
findings.end(f"{len(headers)} public headers and {len(sources)} sources, every include goes down")
