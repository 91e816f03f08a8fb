#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every bug of the lists (tools/plants.py) can still be planted: its lines stand in the sources, its test exists."""
import sys

import plants
from sources import Findings, ROOT, read


def check(plant, findings):
    source = plant.source()
    if not (ROOT / source).exists() or f"TEST({plant.test}," not in "".join(read(source).split()):
        findings.add(plant.path, plant.line, f"{source} has no test {plant.test}")
    if not plant.sentence or not plant.hunks:
        findings.add(plant.path, plant.line, f"{plant.name}: no sentence, or nothing to change")
    for file in plant.files():
        try:
            plant.apply(file, read(file))
        except (OSError, plants.Wrong) as wrong:
            findings.add(plant.path, getattr(wrong, "line", plant.line), f"{plant.name}: {wrong}")


def main():
    findings = Findings("check_plants")
    try:
        listed = plants.read_plants()
    except plants.Wrong as wrong:
        findings.add(wrong.path, wrong.line, str(wrong))
        listed = []
    names = [plant.name for plant in listed]
    for plant in listed:
        if names.count(plant.name) > 1:
            findings.add(plant.path, plant.line, f"{plant.name} is listed more than once")
        check(plant, findings)
    findings.end(f"{sum(plant.is_bug for plant in listed)} bugs can be planted")


sys.exit(main())
