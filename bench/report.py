#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Prints the samples of one or more benchmark runs as tables.

Usage: bench/report.py [--cpu] FILE...

First every figure, the median of its rounds with the least and the greatest, and how weir's first subject of the
workload compares. Then the targets of targets.json: a ratio of two medians, and whether it is met. --cpu judges by
processor time, where there is one, instead of the clock: for single-threaded workloads on a machine with other work.
"""
import json
import os
import statistics
import sys


def read_targets():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)["targets"]


def read_lines(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines.extend(json.loads(line) for line in file)
    return lines


def number(value):
    """A figure with three significant digits and no exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.5f}"


def gather(lines):
    """{workload: {subject: {metric: [values]}}} in order of appearance."""
    figures = {}
    for line in lines:
        if "workload" not in line:
            continue
        subject = figures.setdefault(line["workload"], {}).setdefault(line["subject"], {})
        for metric, value in line["metrics"].items():
            subject.setdefault(metric, []).append(value)
    return figures


def median(figures, name, by_cpu=False):
    """The median that "workload/subject:metric" names; None where there are no samples."""
    path, metric = name.split(":")
    workload, subject = path.split("/")
    metrics = figures.get(workload, {}).get(subject, {})
    values = by_cpu and metric == "ns" and metrics.get("cpu_ns") or metrics.get(metric)
    return statistics.median(values) if values else None


def print_table(rows, left):
    """Columns as wide as they need; the first `left` of them flush left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if i < left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def show_figures(figures):
    rows = [("workload", "subject", "metric", "median", "min", "max", "x weir")]
    for workload, subjects in figures.items():
        first = next((subject for subject in sorted(subjects) if subject.split("-")[0] == "weir"), None)
        for subject in sorted(subjects, key=lambda name: (name.split("-")[0] != "weir", name)):
            for metric, values in subjects[subject].items():
                own = median(figures, f"{workload}/{first}:{metric}") if first else None
                middle = statistics.median(values)
                rows.append((workload, subject, metric, number(middle), number(min(values)), number(max(values)),
                             f"{middle / own:.2f}" if own else "-"))
    print_table(rows, 3)


def has_cpu(figures, name):
    return name is None or median(figures, name.replace(":ns", ":cpu_ns")) is not None


def judge(figures, target, by_cpu):
    """The row of one target, and True, False or None for met, missed or no figure."""
    by_cpu = by_cpu and has_cpu(figures, target["ours"]) and has_cpu(figures, target.get("peer"))
    ours = median(figures, target["ours"], by_cpu)
    theirs = median(figures, target["peer"], by_cpu) if "peer" in target else None
    if "peer" in target:
        ratio = None
        if ours is not None and theirs is not None:
            ratio = theirs / ours if "at_least" in target and ours > 0 else ours / theirs if theirs > 0 else None
        figure = "-" if ratio is None else f"{ratio:.2f} x"
        want = f">= {target['at_least']} x" if "at_least" in target else f"<= {target['at_most']} x"
    else:
        ratio = ours
        figure = "-" if ours is None else number(ours)
        want = f"<= {target['at_most']}"
    met = None
    if ratio is not None:
        met = ratio >= target["at_least"] if "at_least" in target else ratio <= target["at_most"]
    return (target["row"], "-" if ours is None else number(ours), "-" if theirs is None else number(theirs), figure,
            want, {True: "met", False: "MISSED", None: "no figure"}[met]), met


def show_targets(figures, targets, partial, by_cpu):
    rows = [("target, by processor time" if by_cpu else "target", "ours", "peer", "figure", "wanted", "")]
    counts = {True: 0, False: 0, None: 0}
    for target in targets:
        row, met = judge(figures, target, by_cpu)
        counts[met] += 1
        if met is not None or not partial:
            rows.append(row)
    print()
    print_table(rows, 1)
    print(f"\n{counts[True]} targets met, {counts[False]} missed, {counts[None]} without a figure"
          + (" (part of the workloads ran)" if partial else ""))


def show_disturbance(lines):
    """Samples during which other processes were at work are worth less, and the reader must know."""
    shares = [line["others"] for line in lines if "others" in line]
    if not shares:
        return
    noisy = {}
    for line in lines:
        if line.get("others", 0) > 0.1:
            noisy[line["workload"]] = noisy.get(line["workload"], 0) + 1
    print(f"\nother processes used {statistics.mean(shares):.2f} processors on average; more than 0.1 during "
          f"{sum(noisy.values())} of {len(shares)} samples" + (":" if noisy else ""))
    if noisy:
        print("  " + ", ".join(f"{workload} {count}" for workload, count in noisy.items()))


def show(lines, targets, partial, by_cpu):
    for line in lines:
        if "machine" in line:
            facts = line["machine"]
            print(f"{facts['processors']} x {facts['processor']}, Linux {facts['kernel']}, load {facts['load']:.2f}")
            for name in line.get("skipped", []):
                print(f"SKIPPED: {name}")
    figures = gather(lines)
    show_figures(figures)
    show_targets(figures, targets, partial, by_cpu)
    show_disturbance(lines)


def main():
    arguments = sys.argv[1:]
    by_cpu = arguments[:1] == ["--cpu"]
    if by_cpu:
        arguments = arguments[1:]
    if not arguments:
        sys.exit(__doc__)
    show(read_lines(arguments), read_targets(), False, by_cpu)


if __name__ == "__main__":
    main()
