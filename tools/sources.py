# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""What the check scripts share: where the tree is, which files are ours, how a finding is told."""
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What holds nothing of ours: what was built, what npm brought, and git's own (in a worktree .git is a file).
SKIPPED = {".git", "build", "out", "dist", "node_modules"}

# The rooms, and for each the rooms it may use besides itself.
BELOW = {
    "base": set(),
    "context": {"base"},
    "cron": {"base"},
    "metrics": {"base"},
    "queue": {"base", "metrics"},
    "isolate": {"base"},
    "parallel": {"base"},
    "pool": {"base", "context", "cron", "isolate", "metrics", "queue"},
    "jobs": {"base", "context", "cron", "isolate", "metrics", "queue", "pool"},
    "view": set(),
    "http": {"view"},
    "cli": {"http", "view"},
}

# The parts of jobs that have folders of their own, and what each may use besides itself; jobs is what lies in none.
PARTS = {
    "jobs/core": {"base", "cron"},
    "jobs/redis": {"base", "jobs/core"},
    "jobs/beanstalkd": {"base", "jobs/core", "jobs/redis"},
    "jobs/sqlite": {"base", "jobs/core"},
    "jobs": {"base", "jobs/core", "jobs/beanstalkd", "jobs/sqlite"},
    "jobs/consume": {"base", "jobs", "jobs/core"},
}

# The public headers of jobs that not all of its parts may include, and the parts that may.
HEADER_PARTS = {
    "consumer": {"jobs/consume"},
    "jobs": set(),
    "producer": {"jobs"},
    "transaction": {"jobs"},
}

# The room that each public header belongs to.
PUBLIC = {
    "base": {"allocator", "clock", "duration", "end", "error", "export", "key", "log", "retry", "status", "version"},
    "context": {"context", "panic", "scope"},
    "cron": {"cron", "schedule"},
    "metrics": {"metrics"},
    "queue": {"limiter", "queue", "snapshot"},
    "isolate": {"isolation"},
    "parallel": {"parallel"},
    "pool": {"ended", "envelope", "lifecycle", "pool", "pool_snapshot", "stamp"},
    "jobs": {"admin", "broker", "consumer", "feature", "job", "job_schedule", "jobs", "move", "policy", "producer",
             "transaction"},
}


def files(*suffixes, under="."):
    """The files of the tree in order of their paths, relative to ROOT; suffixes none: every file."""
    found = []
    for folder, folders, names in os.walk(ROOT / under):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("__"))
        for name in sorted(set(names) - SKIPPED):
            if not suffixes or name.endswith(suffixes):
                found.append((Path(folder) / name).relative_to(ROOT))
    return found


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def without_comments(text):
    """C text with comments and string literals blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


class Findings:
    """Collects findings; end() prints them as compilers do and ends the program with 1 if there are any."""

    def __init__(self, name):
        self.name = name
        self.count = 0

    def add(self, path, line, message):
        self.count += 1
        print(f"{path}:{line}: {message}")

    def end(self, summary):
        if self.count:
            print(f"{self.name}: {self.count} findings", file=sys.stderr)
            sys.exit(1)
        print(f"{self.name}: {summary}")
