#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Damages stores at random, and sees that no command hangs, crashes or says nothing, and that no damaged body is run.

Usage: tools/bit_flips.py WEIR [ROUNDS [SEED]]

Each round damages a copy of a store, which was left with its log or without: bits are flipped, a page is overwritten,
or an end is cut off, in the file, its log, the log's index or the lock file. Then commands look at it, repair it and
work it off. A command may fail, with a line that says why. Each body that a handler got is one that was put; and each
that was put has been run, where the file itself was damaged and no command failed or told of damage.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

JOBS = 60
PAGE = 4096
SECONDS_MOST = 20
DAMAGE = re.compile(rb"damaged data|malformed|checksum|not fit|[1-9][0-9]* damaged|(is|was|are) damaged|error: ")
COMMANDS = [
    ["stats"],
    ["ls", "t", "--limit", "1000"],
    ["doctor"],
    ["put", "t", "after"],
    ["work", "-e", "t", "--", "sh", "-c", "cat >>ran; echo >>ran"],
    ["repair"],
    ["work", "-e", "t", "--", "sh", "-c", "cat >>ran; echo >>ran"],
    ["ls", "--next", "t", "--limit", "1000"],
]


def command(weir, folder, words, told=None):
    """Runs one; returns what is wrong with how it ended, or None. told: receives what it said."""
    env = dict(os.environ, WEIR_BROKER="sqlite:jobs.db", ASAN_OPTIONS="detect_leaks=0")
    try:
        done = subprocess.run([weir, *words], cwd=folder, env=env, capture_output=True, timeout=SECONDS_MOST,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"{words[0]} did not end"
    if told is not None:
        told.append((done.returncode != 0 and words[0] != "doctor", done.stdout + done.stderr))
    if done.returncode < 0:
        return f"{words[0]} was ended by signal {-done.returncode}"
    if done.returncode != 0 and not done.stderr.strip() and words[0] != "doctor":
        return f"{words[0]}: exit status {done.returncode} without a word"
    return None


def body(number):
    return f"body {number} " + "abcdefgh" * (number % 40)


def make_store(weir, folder, has_log):
    """With its log: as a process leaves it that was killed. What is damaged in a log ends it there, and what was
    committed before may be undone: so what came before that process is in the file, where a worker leaves it."""
    (folder / "list").write_text("".join(body(i) + "\n" for i in range(JOBS)))
    (folder / "before").write_text("".join(f"before {i}\n" for i in range(JOBS)))
    command(weir, folder, ["put", "-q", "-l", "-i", "before", "t"])
    command(weir, folder, ["work", "-e", "t", "--", "true"])  # rows of jobs that have ended
    words = ["put", "-q", "--ttr", "300ms", "-l", "-i", "list", "t"]
    has_failed = command(weir, folder, words)
    command(weir, folder, ["put", "-q", "other", ""])
    command(weir, folder, ["work", "-e", "other", "--", "true"])
    if (folder / "jobs.db-wal").exists():
        sys.exit("a worker has left the log of the store")
    if has_failed or not has_log:
        return
    env = dict(os.environ, WEIR_BROKER="sqlite:jobs.db")
    with subprocess.Popen([weir, "work", "t", "--", "sleep", "60"], cwd=folder, env=env,
                          stderr=subprocess.DEVNULL) as worker:
        command(weir, folder, ["put", "-q", "--ttr", "300ms", "t", body(1)])
        worker.kill()


def damage(random_source, path):
    """Returns what was done."""
    data = bytearray(path.read_bytes())
    if not data:
        return "nothing"
    how = random_source.choice(["bits", "bits", "page", "cut"])
    if how == "bits":
        count = random_source.choice([1, 1, 3, 30])
        for _ in range(count):
            data[random_source.randrange(len(data))] ^= 1 << random_source.randrange(8)
        how = f"{count} bits"
    elif how == "page":
        at = random_source.randrange(len(data)) // PAGE * PAGE
        size = min(PAGE, len(data) - at)
        data[at:at + size] = random_source.choice([bytes(size), random_source.randbytes(size)])
        how = f"page {at // PAGE}"
    else:
        data = data[:random_source.randrange(len(data))]
        how = f"cut to {len(data)}"
    path.write_bytes(data)
    return how


def run_round(weir, start, seed):
    random_source = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=start) as text:
        folder = Path(text) / "store"
        shutil.copytree(start / random_source.choice(["log", "none"]), folder)
        names = [name for name in ("jobs.db", "jobs.db", "jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock")
                 if (folder / name).exists()]
        name = random_source.choice(names)
        what = f"seed {seed}: {name}, {damage(random_source, folder / name)}"
        told = []
        wrong = [problem for words in COMMANDS if (problem := command(weir, folder, words, told))]
        known = {body(i) for i in range(JOBS)} | {"after", ""}
        ran = (folder / "ran").read_bytes().decode(errors="replace").split("\n") if (folder / "ran").exists() else []
        wrong += [f"a body that was never put was run: {line[:60]!r}" for line in ran if line not in known]
        is_told = any(has_failed or DAMAGE.search(said) for has_failed, said in told)
        is_silent = name == "jobs.db" and not is_told
        if is_silent:
            lost = [number for number in range(JOBS) if body(number) not in ran]
            wrong += [f"jobs {lost} have not run, and nobody was told"] if lost else []
        return [f"{what}: {problem}" for problem in wrong], len(ran), is_silent


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 31)
    with tempfile.TemporaryDirectory() as text:
        weir = shutil.copy2(sys.argv[1], text)  # it may be built anew meanwhile
        start = Path(text)
        for kind in ("log", "none"):
            (start / kind).mkdir()
            make_store(weir, start / kind, kind == "log")
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            results = list(pool.map(lambda one: run_round(weir, start, one), range(seed, seed + rounds)))
    findings = [finding for found, _, _ in results for finding in found]
    ran = sum(count for _, count, _ in results)
    silent = sum(is_silent for _, _, is_silent in results)
    print("\n".join(findings[:40]))
    print(f"bit_flips: {rounds} damaged stores (seeds {seed} to {seed + rounds - 1}), {ran} runs, "
          f"{silent} harmed nothing, {len(findings)} wrong")
    sys.exit(1 if findings or ran == 0 or silent == 0 else 0)


if __name__ == "__main__":
    main()
