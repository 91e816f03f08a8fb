#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Files and functions stay small enough to be read in one go.

Usage: tools/check_sizes.py

A C file over 400 lines or a function over 70 is told; a file over 600 or a function over 100 is an error. A function's
length is from its opening brace to its closing one; both stand in the first column, as .clang-format has it.
"""
from sources import Findings, files, read

FILE_TOLD, FILE_MOST = 400, 600
FUNCTION_TOLD, FUNCTION_MOST = 70, 100

findings = Findings("check_sizes")
told = 0


def judge(path, line, what, length, limits):
    global told
    if length > limits[1]:
        findings.add(path, line, f"{what} has {length} lines; at most {limits[1]} are allowed")
    elif length > limits[0]:
        told += 1
        print(f"{path}:{line}: note: {what} has {length} lines; {limits[0]} would be better")


def check(path):
    lines = read(path).splitlines()
    judge(path, 1, "the file", len(lines), (FILE_TOLD, FILE_MOST))
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            judge(path, start, "the function", number - start + 1, (FUNCTION_TOLD, FUNCTION_MOST))
            start = None


paths = files(".c", ".h", ".cpp")
for path in paths:
    check(path)
findings.end(f"{len(paths)} files within {FILE_MOST} lines, functions within {FUNCTION_MOST}; {told} notes")
