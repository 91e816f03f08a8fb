#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Takes the samples that the rows of targets.json need, and prints the table.

Usage: bench/run.py [--quick] [--filter TEXT] [--rounds N] [--json FILE] FOLDER

FOLDER holds bench_weir and, where there is Go, bench_peers_go. Each sample is a process of its own; README.md has the
method. Exit status: 0, also where a floor is not met; 1 when a sample failed.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the tree
import report  # noqa: E402
import servers  # noqa: E402

SAMPLE_LIMIT_S = 300
# Samples of jobs: they have servers, and a folder on the disk.
SERVED = ("cluster_", "store_")
SLOW = "_slow_"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="3 rounds, and no rows that take long")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only rows whose text or weir's sample contains TEXT")
    parser.add_argument("--rounds", type=int, metavar="N", help="samples of each subject (5; quick: 3)")
    parser.add_argument("--json", metavar="FILE", help="where the samples go (FOLDER/samples.jsonl)")
    parser.add_argument("folder", metavar="FOLDER", help="where the programs are")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 5)
    arguments.json = arguments.json or os.path.join(arguments.folder, "samples.jsonl")
    return arguments


def subjects_of(rows):
    """The names of the samples, by workload, so that the subjects of one workload take turns."""
    workloads = {}
    for row in rows:
        for figure in (row["weir"], row.get("peer")):
            if figure is not None:
                name, _ = report.split(figure)
                workloads.setdefault(name.split("/")[0], {})[name] = None
    return [list(names) for names in workloads.values()]


PEERS = {"client-go": "go", "controller-runtime": "go", "dq": "dq", "persist-queue": "persist_queue"}


def program_of(name, folder):
    subject = name.split("/")[1]
    peer = next((PEERS[peer] for peer in PEERS if subject.startswith(peer)), None)
    return os.path.join(folder, f"bench_peers_{peer}" if peer else "bench_weir")


@contextlib.contextmanager
def servers_for(name, folder):
    """What the environment of a sample has beside ours. Jobs' samples end with _fN: their servers flush every N ms; with
    "slow" in the name each flush of the sample and its servers takes 4 ms longer."""
    workload = name.split("/")[0]
    if workload.startswith(SERVED):
        slow = os.path.join(os.path.abspath(folder), "libbench_slow_disk.so")
        more = {"LD_PRELOAD": slow} if SLOW in workload else {}
        with servers.running(folder, int(workload.rpartition("_f")[2]), more) as settings:
            yield settings | more
    else:
        yield {}


def take(program, name, folder):
    """One sample; None, and a message, when it failed. A program does not know which of its samples are slow."""
    if sys.stderr.isatty():
        print(f"\r\033[K{name}\r", end="", file=sys.stderr, flush=True)
    try:
        with servers_for(name, folder) as settings:
            done = subprocess.run([program, name.replace(SLOW, "_")], stdout=subprocess.PIPE, text=True,
                                  timeout=SAMPLE_LIMIT_S, check=True, env=os.environ | settings)
        return json.loads(done.stdout) | {"name": name}
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        print(f"FAILED: {name}: {error}", file=sys.stderr)
        return None


def main():
    arguments = parse()
    rows = [row for row in report.read_rows() if arguments.filter in row["row"] + " " + row["weir"]]
    to_sample = [row for row in rows if not (arguments.quick and row.get("slow"))]
    if not servers.are_installed():
        print("bench: jobs are left out: beanstalkd or redis-server is not installed", file=sys.stderr)
        to_sample = [row for row in to_sample if not row["weir"].startswith(SERVED)]
    samples = []
    failures = 0
    with open(arguments.json, "w", encoding="utf-8") as file:
        for names in subjects_of(to_sample):
            for turn in range(arguments.rounds):
                first = turn % len(names)
                for name in names[first:] + names[:first]:
                    program = program_of(name, arguments.folder)
                    if not os.path.exists(program):
                        continue
                    sample = take(program, name, arguments.folder)
                    if sample is None:
                        failures += 1
                        continue
                    samples.append(sample)
                    file.write(json.dumps(sample | {"round": turn}) + "\n")
                    file.flush()
    report.show(samples, rows)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
