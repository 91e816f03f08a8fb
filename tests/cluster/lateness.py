#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""How late jobs began, by the fault that they waited in.

Usage: tests/cluster/lateness.py DUE RUNS FAULTS

Files of lines: DUE `TIME BODY`, a job's run time, or the end of its put where that was later; RUNS `TIME BODY`, the
beginning of a run, of which the first counts; FAULTS `FIRST LAST NAME`. A job is the first fault's that was between its
run time and its run.
"""
import collections
import sys


def by_fault(due, first_runs, faults):
    """The lateness of each job in seconds, by the name of its fault; jobs of no fault by `none`."""
    late = collections.defaultdict(list)
    for body, at in due.items():
        if body in first_runs:
            ran = max(at, first_runs[body])
            name = next((name for first, last, name in sorted(faults) if at <= last and first <= ran), "none")
            late[name].append(ran - at)
    return late


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def print_table(late):
    print(f"{'late, in ms':<14}{'jobs':>7}{'p50':>8}{'p99':>8}{'most':>8}")
    for name, values in sorted(late.items(), key=lambda item: (item[0] != "none", item[0])):
        figures = [percentile(values, 0.5), percentile(values, 0.99), max(values)]
        print(f"{name:<14}{len(values):>7}" + "".join(f"{figure * 1000:>8.0f}" for figure in figures))


def read_times(path):
    times = {}
    with open(path) as file:
        for line in file:
            at, _, body = line.rstrip("\n").partition(" ")
            times[body] = min(float(at), times.get(body, float("inf")))
    return times


def main():
    with open(sys.argv[3]) as file:
        lines = [line.split(None, 2) for line in file.read().splitlines()]
    faults = [(float(first), float(last), name) for first, last, name in lines]
    print_table(by_fault(read_times(sys.argv[1]), read_times(sys.argv[2]), faults))


if __name__ == "__main__":
    main()
