#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Lets each system call of the program fail in turn, and sees that no acknowledged job is lost.

Usage: tools/call_faults.py WEIR [FILTER,...]     FILTER: only runs whose COMMAND.CALL.ERROR contains one of these

For each command, call and error the nth call fails, for n = 1, 2, ... until none is left to fail (strace injects it),
on a copy of the same store. Then the program without faults must find what a ledger expects:

- the command has ended, with 0 or one line that says why not, and not by another signal;
- each job that was there, or whose id the failed `put` printed, is there unless its run has begun or it was asked to go;
- a job is gone only after its run wrote its id, or by `rm`;
- `weir doctor` finds no damage, and all that is left can be worked off.

A retry of what was refused is no failure: calls that only ask may fail and change nothing.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

JOBS = 12
SECONDS_MOST = 60

# What may fail, and how; KILL: the program is killed there.
FAULTS = {
    "openat": ["EIO", "EMFILE", "ENOMEM", "KILL"],
    "flock": ["EIO", "ENOLCK", "KILL"],
    "fcntl": ["EIO", "ENOLCK", "KILL"],
    "newfstatat,fstat": ["EIO", "ENOMEM"],
    "pread64": ["EIO"],
    "pwrite64": ["EIO", "ENOSPC", "KILL"],
    "fdatasync,fsync": ["EIO", "KILL"],
    "ftruncate": ["EIO", "KILL"],
    "fallocate": ["ENOSPC", "EIO", "KILL"],
    "mmap": ["ENOMEM"],
    "unlink": ["EIO", "EACCES", "KILL"],
    "getrandom": ["ENOSYS"],
    "clone3": ["EAGAIN"],
}
# Of the other calls libc makes some before the program begins.
BY_PATH = ("openat", "flock", "fcntl", "newfstatat,fstat", "pread64", "pwrite64", "fdatasync,fsync", "ftruncate",
           "fallocate", "unlink", "mmap")
HANDLER = 'echo "$WEIR_JOB_ID" >>ran'
COMMANDS = {
    "put": ["put", "--ttr", "300ms", "t", "new"],
    "put-list": ["put", "--ttr", "300ms", "-l", "-i", "list", "t"],
    "work": ["work", "-e", "t", "--", "sh", "-c", HANDLER],
    "rm": ["rm", "3"],
    "cancel": ["cancel", "--remove", "--yes", "3"],
    "kick": ["kick", "t"],
    "pause": ["pause", "t"],
    "policy": ["policy", "t", "--keep", "1h"],
    "move": ["move", "t", "u"],
    "stats": ["stats"],
    "backup": ["backup", "copy.db"],
    "repair": ["repair"],
    "shrink": ["shrink"],
}
FILES = ["jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock", "jobs.db-journal", "copy.db", "copy.db.weir-new"]


def run(weir, folder, *words, check=True):
    env = dict(os.environ, WEIR_BROKER="sqlite:jobs.db", ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([weir, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS_MOST)
    if check and done.returncode != 0:
        raise Lost(f"weir {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done


class Lost(Exception):
    """What the ledger says is not so."""


def make_store(weir, folder):
    """A store with ready jobs, and two that are buried; its log is there, as after a crash."""
    (folder / "list").write_text("x\n" * 5)
    for _ in range(JOBS):
        run(weir, folder, "put", "--ttr", "300ms", "t", "old")
    run(weir, folder, "bury", "1", "2")


def ids_of(weir, folder):
    found = set()
    for tube in ("t", "u"):
        listed = run(weir, folder, "ls", tube, "--json", "--limit", "1000", check=False)
        found |= {json.loads(line)["id"] for line in listed.stdout.splitlines()}
    return found


def judge(weir, folder, name, done):
    """Compares what is there with what was told."""
    if done.returncode < 0 and done.returncode != -signal.SIGKILL:
        raise Lost(f"ended by signal {-done.returncode}")
    if done.returncode > 0 and not done.stderr.strip():
        raise Lost(f"exit status {done.returncode} without a word")
    expected = {str(i) for i in range(1, JOBS + 1)}
    if name.startswith("put"):
        expected |= {line for line in done.stdout.split() if line.isdigit()}
    ran = set((folder / "ran").read_text().split()) if (folder / "ran").exists() else set()
    left = ids_of(weir, folder)
    missing = expected - left - ran - ({"3"} if name in ("rm", "cancel") else set())
    if missing:
        raise Lost(f"jobs {sorted(missing)} are gone; exit status {done.returncode}: {done.stderr.strip()}")
    if name != "work" and ran:
        raise Lost(f"jobs {sorted(ran)} were run")
    found = run(weir, folder, "doctor", "--json", check=False).stdout
    damage = [line for line in found.splitlines() if json.loads(line)["finding"] == "integrity"]
    if damage:
        raise Lost(f"damage: {damage}")
    run(weir, folder, "resume", "t")
    for tube in ("t", "u"):
        run(weir, folder, "kick", tube, check=False)
        run(weir, folder, "work", "-e", tube, "--", "sh", "-c", HANDLER)
    ran = set((folder / "ran").read_text().split())
    if expected - ran - ({"3"} if name in ("rm", "cancel") else set()):
        raise Lost(f"jobs {sorted(expected - ran)} never ran")


def fail_nth(weir, start, name, call, error, nth):
    """Runs a command with the nth call failing. Returns whether there were so many."""
    with tempfile.TemporaryDirectory(dir=start.parent) as text:
        folder = Path(text) / "store"
        shutil.copytree(start, folder)
        paths = [word for file in FILES for word in ("-P", str(folder / file))] if call in BY_PATH else []
        env = dict(os.environ, WEIR_BROKER="sqlite:jobs.db", ASAN_OPTIONS="detect_leaks=0")
        try:
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", "../traced", *paths, "-e", f"trace={call}", "-e",
                 f"inject={call}:{'signal' if error == 'KILL' else 'error'}={error}:when={nth}", weir, *COMMANDS[name]],
                cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS_MOST)
        except subprocess.TimeoutExpired:
            raise Lost("it did not end") from None
        has_failed = "(INJECTED)" in (folder.parent / "traced").read_text() or done.returncode == -signal.SIGKILL
        if has_failed:
            judge(weir, folder, name, done)
        return has_failed, done.returncode


def fail_each(weir, start, name, call, error):
    """All n of one command, call and error."""
    findings, count, refused = [], 0, 0
    nth = 1
    while True:
        try:
            has_failed, status = fail_nth(weir, start, name, call, error, nth)
            refused += status != 0 and has_failed
        except Lost as lost:
            has_failed = True
            findings.append(f"{name}.{call}.{error} the {nth}th: {lost}")
        if not has_failed:
            return findings, count, refused
        count += 1
        nth += 1 if nth < 60 else 7


def main():
    filters = [one for word in sys.argv[2:] for one in word.split(",")]
    runs = [(name, call, error) for name in COMMANDS for call, errors in FAULTS.items() for error in errors
            if not filters or any(one in f"{name}.{call}.{error}" for one in filters)]
    with tempfile.TemporaryDirectory() as text:
        weir = shutil.copy2(sys.argv[1], text)  # it may be built anew meanwhile
        start = Path(text) / "start"
        start.mkdir()
        make_store(weir, start)
        total = total_refused = 0
        findings = []
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            for (found, count, refused) in pool.map(lambda one: fail_each(weir, start, *one), runs):
                findings += found
                total += count
                total_refused += refused
    print("\n".join(findings))
    print(f"call_faults: {total} calls failed in {len(runs)} kinds, {total_refused} commands refused, "
          f"{len(findings)} wrong")
    sys.exit(1 if findings or total == 0 else 0)


if __name__ == "__main__":
    main()
