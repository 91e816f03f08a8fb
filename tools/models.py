#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Searches the Promela models of tests/promela completely with spin, and sees that their planted faults are found.

Usage: tools/models.py BUILD [FILTER...]     FILTER: only runs whose MODEL.NAME contains one of these

Works in BUILD/models. The values of FAULT are numbered in the order in which they stand there. What is run stands in each model's head comment, one run a line:

  default MACRO=VALUE[: MEANING]           what a macro is in each run that does not say another value
  check NAME [MACRO[=VALUE]...]            no error in any state
  ends NAME [MACRO[=VALUE]...]             every run of the model comes to an end: no cycle
  fails NAME MACRO[=VALUE]... => TEXT      an error is found, and pan's line on it contains TEXT (spaces aside)
  unreached PROCESS,... TEXT: REASON       a statement that no check needs to reach, nor does
  refused KIND NAME ... => TEXT            a run of that KIND that this script must find fault with, and begin with TEXT

A search that is cut short (by depth or memory) is an error, and so are a fault that is not found or is found otherwise
than expected, and a line of a process that none of the model's checks reaches. If the largest search has fewer than
STATES_LEAST states, the models have become too simple to tell anything: an error too.
"""
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import ROOT

FOLDER = "tests/promela"
STATES_LEAST = 1_000_000
DEPTH_MOST = 2_000_000
MEGABYTES_MOST = 1800  # of one search; as many run at once as there are processors
SECONDS_MOST = 900

RUN = re.compile(r"^ \* (?:refused )?(check|ends|fails) ([\w-]+)((?: \w+(?:=\w+)?)*)(?: => (.+))?$")
DEFAULT = re.compile(r"^ \* default (\w+)=(\w+)(?:: .+)?$")
EXEMPT = re.compile(r"^ \* unreached ([\w,-]+) (.+): ")


class Run:
    """One line of a model's head comment, and what came of it."""

    def __init__(self, model, line):
        self.model = model
        self.kind, self.name, macros, self.expected = RUN.match(line).groups()
        self.is_refused = line.startswith(" * refused ")
        self.macros = ["-D" + macro for macro in macros.split()]
        self.complaint = ""
        self.states = self.depth = self.seconds = 0
        self.unreached = set()

    def __str__(self):
        return f"{self.model.stem}.{self.name}"

    def seeks_assertion(self):
        """A fault that breaks an assertion may also make threads hang, which is not looked for then."""
        return self.kind == "fails" and self.expected != "invalid end state"


def read_model(path):
    """A model's runs, and what it says may stay unreached."""
    runs, exempt, defaults = [], [], {}
    for line in path.read_text(encoding="utf-8").split("*/\n", 2)[1].splitlines():
        if RUN.match(line):
            runs.append(Run(path, line))
        elif EXEMPT.match(line):
            processes, text = EXEMPT.match(line).groups()
            exempt += [(process, text) for process in processes.split(",")]
        elif DEFAULT.match(line):
            defaults.update([DEFAULT.match(line).groups()])
        elif re.match(r" \* (default|check|ends|fails|refused|unreached) ", line):
            sys.exit(f"{path.relative_to(ROOT)}: cannot be read: {line}")
    faults = dict.fromkeys(macro for run in runs for macro in run.macros if macro.startswith("-DFAULT="))
    numbers = [f"-D{fault.removeprefix('-DFAULT=')}={number}" for number, fault in enumerate(faults, 1)]
    for run in runs:
        given = {macro.split("=")[0].removeprefix("-D") for macro in run.macros}
        run.macros += [f"-D{macro}={value}" for macro, value in defaults.items() if macro not in given]
        run.macros += [*numbers, "-DNO_FAULT=0"]
    return runs, exempt


def execute(command, folder, seconds=SECONDS_MOST):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds)
    return done.returncode, done.stdout + done.stderr


def arrays(source, name, pattern):
    """The tables of pan.c that it has for each process, by the process' number."""
    return {int(number): re.findall(pattern, body)
            for number, body in re.findall(rf"\b{name}(\d+) \[\] = \{{\n(.*?)\n?\}};", source, re.S)}


def reachable_states(folder):
    """(process, state) -> (file, line) of every state that pan.c counts."""
    source = (folder / "pan.c").read_text(encoding="utf-8", errors="replace")
    names = re.findall(r'"([^"]+)"', re.search(r"char \*procname\[\] = \{(.*?)\}", source, re.S).group(1))
    lines = arrays(source, "src_ln", r"\d+")
    files = arrays(source, "src_file", r'\{ "([^"]+)", (\d+), (\d+) \}')
    passed_over = arrays(source, "reached", r"\d+")
    places = {}
    for number, numbers in lines.items():
        for file, first, last in files[number]:
            for state in range(int(first), min(int(last) + 1, len(numbers))):
                if file != "-" and passed_over[number][state] == "0":
                    places[names[number], state] = (Path(file).name, int(numbers[state]))
    return places


def note_reached(run, folder, output):
    """Notes which lines of which processes a complete search has reached, and what it has not."""
    places = reachable_states(folder)
    missed = {}
    for process, body in re.findall(r"^unreached in (?:proctype )?(\S+)\n((?:\t.*\n)*)", output, re.M):
        for state, text in re.findall(r'state (\d+), "(.*)"', body):
            missed[process.replace("init", ":init:"), int(state)] = text
    run.reached = {(key[0], *place) for key, place in places.items() if key not in missed}
    run.unreached = {(key[0], *places[key], text) for key, text in missed.items() if key in places}


def judge(run, output):
    """What is wrong with the result of a run; nothing: an empty text."""
    error = re.search(r"^pan:\d+: (.*?) \(at depth \d+\)$", output, re.M)
    errors = re.search(r"errors: (\d+)$", output, re.M)
    if errors is None:
        return "the search broke off:\n" + output[-2000:]
    if "max search depth too small" in output:
        return f"the search is not complete: it goes deeper than {DEPTH_MOST} steps"
    if run.kind == "fails":
        if error is None:
            return "the planted fault was not found"
        if "".join(run.expected.split()) not in "".join(error.group(1).split()):
            return f"the planted fault was found, but not as '{run.expected}': {error.group(1)}"
        return ""
    if int(errors.group(1)) > 0 or error is not None:
        return error.group(1) if error else "an error"
    if "Search not completed" in output or "out of memory" in output or "reached -DMEMLIM" in output:
        return f"the search is not complete: it takes more than {MEGABYTES_MOST} MB"
    return ""


def search(run, build):
    """Generates, compiles and runs one search."""
    folder = build / "models" / str(run)
    folder.mkdir(parents=True, exist_ok=True)
    # A planted fault is found soon, before an optimised search would be compiled.
    options = {"check": ["-O1", "-DSAFETY"], "ends": ["-O1", "-DNP"], "fails": ["-O0", "-DSAFETY"]}[run.kind]
    commands = [
        ["spin", *run.macros, "-a", str(run.model)],
        ["cc", "-w", *options, "-DNOFAIR", f"-DMEMLIM={MEGABYTES_MOST}", "-o", "pan", "pan.c"],
        ["./pan", f"-m{DEPTH_MOST}", *(["-l"] if run.kind == "ends" else []), *(["-E"] if run.seeks_assertion() else [])],
    ]
    output = ""
    try:
        for command in commands:
            status, output = execute(command, folder)
            if status != 0 and command is not commands[2]:
                run.complaint = f"{command[0]}: {output.strip()}"
                return run
    except subprocess.TimeoutExpired:
        run.complaint = f"not ready after {SECONDS_MOST} seconds"
        return run
    (folder / "output").write_text(output, encoding="utf-8")
    run.complaint = judge(run, output)
    numbers = [re.search(pattern, output, re.M) for pattern in
               (r"^ *([\d.e+]+) states, stored", r"depth reached (\d+)", r"elapsed time ([\d.e+-]+)")]
    run.states, run.depth, run.seconds = (float(found.group(1)) if found else 0 for found in numbers)
    if run.kind == "check" and run.complaint == "":
        note_reached(run, folder, output)
    return run


def tell(run):
    if run.is_refused:
        is_right = run.complaint.startswith(run.expected)
        result = "refused, as it must be" if is_right else f"WRONG: must be refused with '{run.expected}'"
    else:
        is_right = run.complaint == ""
        result = {"check": "no error", "ends": "no cycle", "fails": "found"}[run.kind] if is_right else "WRONG"
    print(f"{run!s:32} {run.kind:6} {run.states:>10.0f} {run.depth:>7.0f} {run.seconds:>6.1f}  {result}", flush=True)
    if not is_right:
        print(f"    {run.complaint or 'no complaint'}")
        if run.kind != "fails" and not run.is_refused:
            print(f"    the way there: cd {FOLDER} && spin {' '.join(run.macros)} -p -k "
                  f"BUILD/models/{run}/{run.model.name}.trail {run.model.name}")
    return is_right


def never_reached(runs):
    """What no check of a model has reached, once each."""
    reached = set().union(*(run.reached for run in runs))
    missed = set().union(*(run.unreached for run in runs))
    return sorted((process, file, line, text) for process, file, line, text in missed
                  if (process, file, line) not in reached)


def judge_reach(runs, exempt):
    """Complains about each line of a model that no check has reached, and about exemptions of what was reached."""
    model = runs[0].model.name
    missed = never_reached([run for run in runs if run.kind == "check" and not run.complaint])
    wrong = 0
    for process, file, line, text in missed:
        if not any(process == name and part in text for name, part in exempt):
            wrong += 1
            print(f"{FOLDER}/{file}:{line}: no check of {model} reaches this in {process}: {text}")
    for name, part in exempt:
        if not any(process == name and part in text for process, _, _, text in missed):
            wrong += 1
            print(f"{FOLDER}/{model}: is reached, or is not there: {part} in {name}")
    return wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, filters = Path(sys.argv[1]).absolute(), sys.argv[2:]
    models = {path: read_model(path) for path in sorted((ROOT / FOLDER).glob("*.pml"))}
    runs = [run for path in models for run in models[path][0]
            if not filters or any(text in str(run) for text in filters)]
    if not runs:
        sys.exit(f"models: nothing to run of {FOLDER}")
    print(f"{'model.run':32} {'kind':6} {'states':>10} {'depth':>7} {'s':>6}  result", flush=True)
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = sum(not tell(run) for run in pool.map(lambda run: search(run, build), runs))
    by_model = defaultdict(list)
    for run in runs:
        by_model[run.model].append(run)
    if not filters:
        wrong += sum(judge_reach(by_model[path], models[path][1]) for path in by_model)
        largest = max(run.states for run in runs if run.kind == "check" and not run.is_refused)
        if largest < STATES_LEAST:
            wrong += 1
            print(f"models: the largest search has {largest:.0f} states; {STATES_LEAST} at least are wanted")
    states = sum(run.states for run in runs)
    print(f"models: {len(runs)} searches of {len(by_model)} models, {states:.0f} states, "
          f"{time.monotonic() - start:.0f} s: {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
