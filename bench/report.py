#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Prints the table of targets.json from the samples of one or more runs of bench/run.py.

Usage: bench/report.py SAMPLES...
"""
import json
import pathlib
import statistics
import sys


def read_rows():
    return json.loads(pathlib.Path(__file__).with_name("targets.json").read_text(encoding="utf-8"))


def read_samples(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines.extend(json.loads(line) for line in file)
    return lines


def split(figure):
    """"WORKLOAD/SUBJECT:METRIC" as sample and metric; a metric that is not named is "ns"."""
    name, _, metric = figure.partition(":")
    return name, metric or "ns"


def median(samples, figure):
    """The median of a figure over the rounds; None where there is no sample."""
    name, metric = split(figure)
    values = [sample["metrics"][metric] for sample in samples if sample["name"] == name]
    return statistics.median(values) if values else None


def number(value):
    """Three significant digits without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def judge(samples, row):
    """The cells of a row. Its ratio is the greater the better for at_least, the smaller the better for at_most."""
    ours = median(samples, row["weir"])
    peer = median(samples, row["peer"]) if "peer" in row else None
    floor = f">= {row['at_least']}" if "at_least" in row else f"<= {row['at_most']}"
    ratio = None
    if ours and peer:
        ratio = peer / ours if "at_least" in row else ours / peer
    value = ratio if "peer" in row else ours
    verdict = "no figure"
    if value is not None:
        met = value >= row["at_least"] if "at_least" in row else value <= row["at_most"]
        verdict = "met" if met else "NOT MET"
    unit = f" {row['unit']}" if "unit" in row else ""
    return (row["row"], "-" if ours is None else number(ours) + unit, "-" if peer is None else number(peer),
            "-" if ratio is None else f"{ratio:.2f} x", floor + (" x" if "peer" in row else unit), verdict)


def show(samples, rows):
    table = [("workload", "weir ns", "peer ns", "ratio", "floor", "")] + [judge(samples, row) for row in rows]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for row in table:
        figures = "  ".join(cell.rjust(width) for cell, width in zip(row[1:5], widths[1:]))
        print(f"{row[0].ljust(widths[0])}  {figures}  {row[5]}".rstrip())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    show(read_samples(sys.argv[1:]), read_rows())
