# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The lists of planted bugs: reading them, and putting one into the text of a file."""
from sources import ROOT, read

EXPLORED = "tests/schedules/plants.txt"  # found by scenarios of the schedule explorer
PATHS = [EXPLORED, "tests/models/plants.txt"]  # the others by models and unit tests


class Wrong(Exception):
    """What is wrong with a list, or with what it is to change; .path and .line say where."""

    def __init__(self, path, line, what):
        super().__init__(what)
        self.path, self.line = path, line


class Plant:
    """One entry: its name, what is wrong, the test, and hunks by file, each a list of (mark, text)."""

    def __init__(self, path, line, is_bug, name, sentence):
        self.path, self.line, self.is_bug, self.name, self.sentence = path, line, is_bug, name, sentence
        self.program = self.test = None
        self.hunks = []  # (file, line of the list, [(mark, text)])

    @property
    def is_explored(self):
        return self.path == EXPLORED

    def source(self):
        """The file of the test."""
        name = self.program.replace(".", "/") + "_test.c"
        return f"tests/{name}" if (ROOT / "tests" / name).exists() else f"src/{name}"

    def files(self):
        return list(dict.fromkeys(file for file, _, _ in self.hunks))

    def apply(self, file, text):
        """The text of the file with the bug in it."""
        for hunk_file, line, hunk in self.hunks:
            if hunk_file == file:
                text = replace(self.path, file, text, line, hunk)
        return text


def replace(path, file, text, line, hunk):
    lines = text.split("\n")
    filled = [(number, words.strip()) for number, words in enumerate(lines) if words.strip()]
    wanted = [words for mark, words in hunk if mark != "+"]
    found = [at for at in range(len(filled) - len(wanted) + 1)
             if all(filled[at + i][1] == words for i, words in enumerate(wanted))]
    if len(found) != 1:
        raise Wrong(path, line, f"{file} has these lines {len(found)} times, not once; plant the mistake in what it has now")
    changed, at = [], found[0]
    for mark, words in hunk:
        if mark == "+":
            changed.append(words)
        else:
            if mark == " ":
                changed.append(words)
            at += 1
    return "\n".join(lines[:filled[found[0]][0]] + changed + lines[filled[at - 1][0] + 1:])


def read_list(path):
    plants, file, hunk = [], None, None
    for number, line in enumerate(read(path).split("\n"), 1):
        word, _, rest = line.partition(" ")
        if line == "" or line.startswith("#"):
            hunk = None
        elif word in ("bug", "control"):
            name, _, sentence = rest.partition(": ")
            plants.append(Plant(path, number, word == "bug", name, sentence))
        elif word == "test" and plants:
            program, _, plants[-1].test = rest.partition(" ")
            plants[-1].program = f"schedules.{program}" if path == EXPLORED else program
        elif word == "file" and plants:
            file, hunk = rest, None
        elif line == "@@":
            hunk = None
        elif line[0] in " -+" and plants and file:
            if hunk is None:
                hunk = []
                plants[-1].hunks.append((file, number, hunk))
            hunk.append((line[0], line[1:].strip()))
        else:
            raise Wrong(path, number, f"not understood: {line}")
    return plants


def read_plants():
    return [plant for path in PATHS for plant in read_list(path)]
