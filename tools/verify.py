#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The long checks, those whose last run no longer holds: what `make verify` does.

Usage: tools/verify.py [--list | STAGE...]     --list: say of each stage whether it is stale; STAGE: run these, stale or not

Each stage is a target of the Makefile. What it came to stands in tests/verified/STAGE with the date, the commit and
the figures; that is written only where the tree was that commit's, before and after. A stage is stale when something
it depends on has changed since that commit: its rooms and the rooms below them, with their public headers, what else
the table names, and what all stages depend on (ALWAYS). A stage that printed a line "SKIPPED: ..." did not run to its
end, and is recorded as skipped, which is as good as stale. All that are to run are run, also after a failure. Output
goes to build/verify/STAGE.log.
"""
import datetime
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from sources import BELOW, PUBLIC, ROOT

ALWAYS = ["tests/support", "cmake", "CMakeLists.txt", "CMakePresets.json", "packaging/deps.txt"]
EVERYTHING = ["include", "src", "tests", "examples", ":!tests/verified"]
# Of jobs, what only a cluster uses.
STORE = [":!src/jobs/beanstalkd", ":!src/jobs/redis"]
# Of jobs, what a model knows, and bugs are planted in.
CORE = ["src/jobs/core"]
PROGRAM = ["jobs", "cli"]

# Stage, target with arguments, rooms, what else it depends on.
STAGES = [
    ("coverage", "coverage", [], EVERYTHING + ["tools/check_coverage.py", "docs/coverage.md"]),
    ("promtool", "promtool", ["metrics", "pool", "http"], ["tests/conformance", "packaging/prometheus", "tools/promtool.sh"]),
    ("scrape", "scrape", PROGRAM, ["tests/prometheus", "packaging/prometheus", "packaging/grafana"]),
    ("croniter", "croniter", ["cron"], ["tests/croniter"]),
    ("campaigns", "campaigns", ["pool", "parallel"], CORE + ["tests/models", "tests/schedules", "tools/campaigns.sh"]),
    ("planted", "planted", ["pool", "parallel"],
     CORE + ["tests/models", "tests/schedules", "tools/planted.py", "tools/plants.py"]),
    ("models", "models", ["pool", "jobs"], STORE + ["tests/promela", "tools/models.py"]),
    ("clocks", "clocks", ["pool"], ["tests/conformance", "tests/stress", "tools/clock_faults.sh"]),
    ("call-faults", "call-faults KINDS=put.", PROGRAM, STORE + [":!src/http", "tools/call_faults.py"]),
    ("bit-flips", "bit-flips ROUNDS=100", PROGRAM, STORE + [":!src/http", "tools/bit_flips.py"]),
    ("stress", "stress", ["pool"], ["tests/stress", "tools/stress.sh"]),
    ("fuzz", "fuzz SECONDS=5", ["cron", "jobs", "http"], ["tests/fuzz", "tools/fuzz.sh"]),
    ("tidy", "tidy", [], EVERYTHING + [".clang-tidy", "tools/tidy.sh"]),
    ("clang", "clang", [], EVERYTHING),
    ("tsan-schedules", "tsan ARGS='-L schedules'", ["pool", "parallel"], ["tests/schedules"]),
    ("tsan-clang", "tsan-clang", [], EVERYTHING),
    ("release", "release", [], EVERYTHING),
    ("interop", "interop", PROGRAM, ["tests/interop"]),
    ("chaos", "chaos", PROGRAM, ["tests/cluster/chaos.py"]),
]
# Those that end with a run of ctest, and the build that it is of.
TESTED = {"clang": "clang", "tsan-schedules": "tsan", "tsan-clang": "tsan-clang", "release": "release"}

RECORDS = ROOT / "tests/verified"
LOGS = ROOT / "build/verify"
FIGURES_MOST = 8
# What cmake and ninja say of a build.
BUILDING = re.compile(r"-- |ninja: |\[\d+/\d+\] |Preset CMake variables|  [A-Z_]+=\"")
# Without what the make that called this was told: `make verify ARGS=planted`.
OF_MAKE = ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in OF_MAKE}


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def clean_commit():
    """The commit that the tree is; None: it is none (records are not of the tree that is verified)."""
    changes = git("status", "--porcelain", "--", ".", ":!tests/verified").stdout
    return None if changes else git("rev-parse", "HEAD").stdout.strip()


def pathspecs(rooms, others):
    wanted = set(rooms).union(*(BELOW[room] for room in rooms))
    headers = [f"include/weir/{header}.h" for room in wanted for header in PUBLIC.get(room, ())]
    return ALWAYS + [f"src/{room}" for room in wanted] + headers + others


def why_stale(name, rooms, others):
    """None: the last run holds."""
    try:
        record = dict(line.split(": ", 1) for line in (RECORDS / name).read_text(encoding="utf-8").split("\n")[:3])
    except OSError:
        return "it has no record"
    if record["result"] != "passed":
        return record["result"]
    commit = record["commit"]
    paths = pathspecs(rooms, others)
    diff = git("diff", "--name-only", commit, "--", *paths)
    if diff.returncode != 0:
        return f"its commit {commit[:12]} is not here"
    changed = (diff.stdout + git("ls-files", "--others", "--exclude-standard", "--", *paths).stdout).split()
    return f"{len(changed)} files changed since {commit[:12]}, such as {changed[0]}" if changed else None


def figures(name, output):
    """The last lines of a stage, which are its figures."""
    if name in TESTED:
        output = subprocess.run([ROOT / "tools/count_tests.py", ROOT / "build" / TESTED[name]], capture_output=True,
                                text=True, check=False).stdout
    lines = output.replace(f"{ROOT}/", "").split("\n")
    return [line.rstrip() for line in lines if line.strip() and not BUILDING.match(line)][-FIGURES_MOST:]


def run(name, target):
    """Runs a stage and writes its record. False: it failed."""
    commit = clean_commit()
    print(f"=== {name}: make {target}", flush=True)
    log = LOGS / f"{name}.log"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(log, "wb") as file:
        status = subprocess.run(f"make {target}", shell=True, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    output = log.read_text(encoding="utf-8", errors="replace")
    skipped = next((line for line in output.split("\n") if line.startswith("SKIPPED: ")), None)
    took = f"{wall:.0f} s, {cpu:.0f} s of processors"
    if status != 0 and skipped is None:
        print("\n".join(output.split("\n")[-60:]))
        print(f"{name}: FAILED after {took}; see {log.relative_to(ROOT)}", flush=True)
        return False
    result = "passed" if skipped is None else skipped.replace("SKIPPED: ", "skipped: ")
    lines = figures(name, output)
    print("\n".join(lines))
    if commit is None or commit != clean_commit():
        print(f"{name}: {result} in {took}; no record: the tree is no commit's", flush=True)
        return True
    text = [f"date: {datetime.date.today()}", f"commit: {commit}", f"result: {result}", f"took: {took}", *lines]
    (RECORDS / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"{name}: {result} in {took}", flush=True)
    return True


def main():
    wanted = sys.argv[1:]
    known = [stage[0] for stage in STAGES]
    if wanted != ["--list"] and set(wanted) - set(known):
        sys.exit(f"{__doc__}\nStages: {', '.join(known)}")
    RECORDS.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = []
    for name, target, rooms, others in STAGES:
        why = why_stale(name, rooms, others)
        if wanted == ["--list"]:
            print(f"{name:15} {'holds' if why is None else 'stale: ' + why}")
        elif (name in wanted if wanted else why is not None) and not run(name, target):
            failed.append(name)
    if failed:
        sys.exit(f"verify: failed: {', '.join(failed)}")


main()
