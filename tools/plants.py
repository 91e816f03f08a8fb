# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The planted bugs of tests/schedules/plants.txt: reading them, and putting one into the text of a file."""
from sources import read

PATH = "tests/schedules/plants.txt"


class Wrong(Exception):
    """What is wrong with the list, or with what it is to change; .line says where."""

    def __init__(self, line, what):
        super().__init__(what)
        self.line = line


class Plant:
    """One entry: its name, what is wrong, the scenario, and hunks by file, each a list of (mark, text)."""

    def __init__(self, line, is_bug, name, sentence):
        self.line, self.is_bug, self.name, self.sentence = line, is_bug, name, sentence
        self.program = self.test = None
        self.hunks = []  # (file, line of the list, [(mark, text)])

    def files(self):
        return list(dict.fromkeys(file for file, _, _ in self.hunks))

    def apply(self, file, text):
        """The text of the file with the bug in it."""
        for hunk_file, line, hunk in self.hunks:
            if hunk_file == file:
                text = replace(file, text, line, hunk)
        return text


def replace(file, text, line, hunk):
    lines = text.split("\n")
    filled = [(number, words.strip()) for number, words in enumerate(lines) if words.strip()]
    wanted = [words for mark, words in hunk if mark != "+"]
    found = [at for at in range(len(filled) - len(wanted) + 1)
             if all(filled[at + i][1] == words for i, words in enumerate(wanted))]
    if len(found) != 1:
        raise Wrong(line, f"{file} has these lines {len(found)} times, not once; plant the mistake in what it has now")
    changed, at = [], found[0]
    for mark, words in hunk:
        if mark == "+":
            changed.append(words)
        else:
            if mark == " ":
                changed.append(words)
            at += 1
    return "\n".join(lines[:filled[found[0]][0]] + changed + lines[filled[at - 1][0] + 1:])


def read_plants():
    plants, file, hunk = [], None, None
    for number, line in enumerate(read(PATH).split("\n"), 1):
        word, _, rest = line.partition(" ")
        if line == "" or line.startswith("#"):
            hunk = None
        elif word in ("bug", "control"):
            name, _, sentence = rest.partition(": ")
            plants.append(Plant(number, word == "bug", name, sentence))
        elif word == "test" and plants:
            plants[-1].program, _, plants[-1].test = rest.partition(" ")
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
            raise Wrong(number, f"not understood: {line}")
    return plants
