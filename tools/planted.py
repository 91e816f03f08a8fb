#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Plants each bug of the lists (tools/plants.py) in a copy of the sources, and demands that its test finds it.

Usage: tools/planted.py BUILD [NAME...]      (BUILD: a complete build with cmake; NAME: only these bugs)

What the bug touches is compiled again with it, and linked before the build's own libraries. The test then runs as in a
test run, only longer. Of a scenario of the explorer, found is what fails in a schedule up to the 10,000th. Where the
failure has a seed, the seed must repeat it. Prints where each was found; exit status 1 if one was not.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import plants
from sources import ROOT, read

FOUND_MAX = 10000
# 9,900 seeded schedules and then the search: more than the number above, so that a bug found too late is told so.
SCALE = "3.3"
FOUND = re.compile(r"schedule (\d+), (?:seed (\d+)|of the search): (.*)")
# Of a test of another kind.
FAILED = re.compile(r"FAILED (.*)")
SEED = re.compile(r"# seed (\d+);")
# Of a bug that uses memory which is gone, before a check sees it.
CRASHED = re.compile(r"(ended by signal \d+).*\n# seed (\d+);")


class Build:
    """What a complete build knows: how each object is made, and of what."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {}
        for entry in entries:
            command = shlex.split(entry["command"])
            self.commands[command[command.index("-o") + 1]] = (entry["file"], command)
        self.needs = {}
        listing = subprocess.run(["ninja", "-C", str(self.folder), "-t", "deps"], capture_output=True, text=True, check=True)
        for line in listing.stdout.split("\n"):
            if line.startswith(" "):
                self.needs[current].add(os.path.normpath(self.folder / line.strip()))  # ccache may make it relative
            elif line:
                current = line.partition(":")[0]
                self.needs[current] = set()

    def objects(self, plant):
        """The objects of a test's libraries and of the test itself that the plant's files go into."""
        touched = {str(ROOT / file) for file in plant.files()}
        library = "weir_explored" if plant.is_explored else "weir_jobs_objects"
        part = re.compile(rf"/({library}|test\.{re.escape(plant.program)})\.dir/")
        return [output for output in self.commands
                if part.search(output) and touched & self.needs.get(output, set())]

    def compile(self, output, overlay, target):
        """Compiles what becomes output, with the overlay's files before those of the tree."""
        source, command = self.commands[output]
        in_room = source.startswith(f"{ROOT}/src/")
        planted = str(overlay / Path(source).relative_to(ROOT / "src")) if in_room else source
        command = [planted if word == source and os.path.exists(planted) else word for word in command]
        command[command.index("-o") + 1] = str(target)
        command[1:1] = [f"-I{overlay}"]
        # A bug may leave something unused; and there is nothing to debug.
        command = [word for word in command if word not in ("-g", "-O2", "-Werror")] + ["-w", "-O1"]
        call(command, self.folder)

    def link(self, program, objects, target):
        """Links a test as the build does, with objects (by what each stands for) before its libraries."""
        asked = ["ninja", "-C", str(self.folder), "-t", "commands", "-s", f"tests/test.{program}"]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        command = [word for word in shlex.split(done.stdout.strip().split("\n")[-1]) if word not in (":", "&&")]
        command = [word for word in command if word not in objects]
        command[command.index("-o") + 1] = str(target)
        command[1:1] = map(str, objects.values())
        call(command, self.folder)


def call(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def make(build, plant, folder):
    """The test's program with the bug in it."""
    overlay = folder / "src"
    for file in plant.files():
        copy = overlay / Path(file).relative_to("src")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(plant.apply(file, read(file)), encoding="utf-8")
    outputs = build.objects(plant)
    if not outputs:
        raise RuntimeError(f"nothing in {plant.program} is made of {', '.join(plant.files())}")
    objects = {output: folder / f"{number}.o" for number, output in enumerate(outputs)}
    for output, target in objects.items():
        build.compile(output, overlay, target)
    build.link(plant.program, objects, folder / "program")
    return folder / "program"


def run(program, test, *arguments):
    environment = {**os.environ, "WEIR_TEST_SCALE": SCALE, "WEIR_TEST_TIMEOUT_MULT": SCALE}
    done = subprocess.run([str(program), f"--filter={test}", *arguments], env=environment, capture_output=True,
                          text=True, errors="replace", check=False)
    return done.returncode, done.stdout + done.stderr


def judge_crash(plant, program, output):
    """The same of a run that no check ended."""
    crashed = CRASHED.search(output)
    if crashed is None:
        return False, f"NOT FOUND:\n{output}"
    how, seed = crashed.groups()
    if run(program, plant.test, f"--seed={seed}")[0] == 0:
        return False, f"{how}, seed {seed}\nITS SEED DOES NOT REPEAT IT"
    return True, f"{how}, seed {seed}"


def judge_plain(plant, program, output):
    """The same of a test that is none of the explorer's."""
    seed = SEED.search(output)
    if seed is None:
        return False, f"NOT FOUND:\n{output}"
    if run(program, plant.test, f"--seed={seed[1]}")[0] == 0:
        return False, f"seed {seed[1]}\nITS SEED DOES NOT REPEAT IT"
    failed = FAILED.search(output)
    return True, f"seed {seed[1]:>15}: {failed[1][:80] if failed else CRASHED.search(output)[1]}"


def judge(plant, program):
    """A line about what came of it, and whether it is what it should be."""
    status, output = run(program, plant.test)
    found = FOUND.search(output)
    if not plant.is_bug:
        return status == 0, "passes, as it should" if status == 0 else f"fails, and is no bug:\n{output}"
    if not plant.is_explored:
        return judge_plain(plant, program, output)
    if found is None:
        return judge_crash(plant, program, output)
    schedule, seed, text = found.groups()
    line = f"schedule {int(schedule):5}, " + (f"seed {seed:>15}" if seed else "of the search      ") + f": {text[:60]}"
    if int(schedule) > FOUND_MAX:
        return False, f"{line}\nFOUND TOO LATE"
    if seed:
        again = FOUND.search(run(program, plant.test, f"--seed={seed}")[1])
        # Not word for word: what a bug reads where nothing is may be an address, another one in each process.
        if again is None or again[2] != seed:
            return False, f"{line}\nITS SEED DOES NOT REPEAT IT: {again and again[0]}"
    return True, line


def plant_and_judge(build, plant):
    with tempfile.TemporaryDirectory(prefix="weir-planted-") as name:
        try:
            return judge(plant, make(build, plant, Path(name)))
        except (RuntimeError, plants.Wrong) as wrong:
            return False, f"CANNOT BE PLANTED: {wrong}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, names = Build(Path(sys.argv[1])), sys.argv[2:]
    listed = plants.read_plants()
    unknown = set(names) - {plant.name for plant in listed}
    if unknown:
        sys.exit(f"planted: there is no {', '.join(sorted(unknown))} in {' or '.join(plants.PATHS)}")
    chosen = [plant for plant in listed if not names or plant.name in names]
    passed = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for plant, (is_right, line) in zip(chosen, threads.map(lambda plant: plant_and_judge(build, plant), chosen)):
            print(f"{plant.name:31} {line}", flush=True)
            passed += is_right
    print(f"{passed} passed, {len(chosen) - passed} failed, 0 skipped")
    return 0 if passed == len(chosen) else 1


sys.exit(main())
