#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Takes interleaved samples of every workload from several benchmark programs and reports them.

Usage: bench/run.py [--quick] [--filter TEXT] [--rounds N] [--pin] [--calm] [--cpu] --json FILE PROGRAM...

A program answers --list and --run as README.md describes. Each sample is a process of its own; in each round
every subject of a workload is sampled once, starting with another one each time. Exit status: 0, or 1 when a
sample failed.
"""
import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # no __pycache__ in the tree
import report  # noqa: E402

SAMPLE_LIMIT_S = 300
# A sample is disturbed when other processes used more than so many processors meanwhile.
DISTURBED = 0.1
CALM_TRIES = 5


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="less work, no long measurements, 3 rounds")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only WORKLOAD/SUBJECT that contain TEXT")
    parser.add_argument("--rounds", type=int, metavar="N", help="samples of each subject (5; quick: 3)")
    parser.add_argument("--pin", action="store_true", help="tie each thread of the programs in C to a processor")
    parser.add_argument("--calm", action="store_true",
                        help="take a disturbed sample again, up to 5 times, and keep the least disturbed")
    parser.add_argument("--cpu", action="store_true", help="judge by processor time: report.py")
    parser.add_argument("--json", required=True, metavar="FILE", help="where the samples go, one line each")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.rounds is None:
        arguments.rounds = 3 if arguments.quick else 5
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    return arguments


def flags(program, arguments):
    options = ["--quick"] if arguments.quick else []
    if arguments.pin and not program.endswith("bench_peers_go"):
        options.append("--pin")
    return options


def catalogue(arguments):
    """The workloads in the programs' order, each with its (program, subject) pairs."""
    workloads = {}
    for program in arguments.programs:
        listed = subprocess.run([program, "--list"] + flags(program, arguments), stdout=subprocess.PIPE,
                                text=True, check=True)
        for line in listed.stdout.splitlines():
            workload, subject = line.split()
            if arguments.filter in f"{workload}/{subject}":
                workloads.setdefault(workload, []).append((program, subject))
    return workloads


def machine(skipped):
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"machine": {"processor": model, "processors": os.cpu_count(), "kernel": platform.release(),
                        "load": os.getloadavg()[0]}, "skipped": skipped}


def busy_seconds():
    """Processor time of the whole machine that was not idle, the hypervisor's share included."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def sample(program, arguments, name):
    """The parsed line of one sample; None, and a message, when it failed."""
    command = [program, f"--run={name}"] + flags(program, arguments)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SAMPLE_LIMIT_S, check=True)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        reason = f"still running after {SAMPLE_LIMIT_S} s"
    except subprocess.CalledProcessError as error:
        reason = f"exit status {error.returncode}"
    except OSError as error:
        reason = str(error)
    except ValueError as error:
        reason = f"not a line of JSON: {error}"
    print(f"FAILED: {name}: {reason}", file=sys.stderr)
    return None


def watched_sample(program, arguments, name):
    """A sample that says, as "others", how many processors other processes used on average meanwhile."""
    start, busy, own = time.monotonic(), busy_seconds(), children_seconds()
    line = sample(program, arguments, name)
    wall = time.monotonic() - start
    others = (busy_seconds() - busy) - (children_seconds() - own)
    if line is not None:
        line["others"] = round(max(0.0, others / wall), 3)
    return line


def best_sample(program, arguments, name):
    """The first undisturbed sample of the tries that there are, else the least disturbed; None when one failed."""
    best = None
    for _ in range(CALM_TRIES if arguments.calm else 1):
        line = watched_sample(program, arguments, name)
        if line is None:
            return None
        if best is None or line["others"] < best["others"]:
            best = line
        if best["others"] <= DISTURBED:
            break
    return best


def main():
    arguments = parse()
    workloads = catalogue(arguments)
    if not workloads:
        sys.exit(f"bench: nothing matches {arguments.filter!r}")
    skipped = [line for line in os.environ.get("BENCH_SKIPPED", "").split("\n") if line]
    lines = [machine(skipped)]
    failures = 0
    total = sum(len(subjects) for subjects in workloads.values()) * arguments.rounds
    taken = 0
    start = time.monotonic()
    with open(arguments.json, "w", encoding="utf-8") as file:
        file.write(json.dumps(lines[0]) + "\n")
        for workload, subjects in workloads.items():
            for number in range(arguments.rounds):
                turn = number % len(subjects)
                for program, subject in subjects[turn:] + subjects[:turn]:
                    name = f"{workload}/{subject}"
                    if sys.stderr.isatty():
                        print(f"\r\033[K{taken}/{total} {name}", end="", file=sys.stderr, flush=True)
                    line = best_sample(program, arguments, name)
                    taken += 1
                    if line is None:
                        failures += 1
                        continue
                    line["round"] = number
                    lines.append(line)
                    file.write(json.dumps(line) + "\n")
                    file.flush()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    report.show(lines, report.read_targets(), arguments.quick or arguments.filter != "", arguments.cpu)
    print(f"\n{taken} samples, {failures} failed, {time.monotonic() - start:.0f} s; every sample is in {arguments.json}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
