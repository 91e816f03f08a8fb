#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""tools/verify.py and tools/changed.py in a small repository: what is recorded, and what makes a record stale.

Usage: tools/verify_test.py
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sources import ROOT

MAKEFILE = """croniter:
\t@cat outcome
\t@test ! -e broken
"""


class Tree:
    def __init__(self, folder):
        self.root = Path(folder)
        (self.root / "tools").mkdir()
        for name in ("verify.py", "changed.py", "sources.py"):
            shutil.copy(ROOT / "tools" / name, self.root / "tools")
        self.write("Makefile", MAKEFILE)
        self.write("outcome", "5 zones the same\n")
        self.write(".gitignore", "build/\n__pycache__/\n")
        self.write("src/base/list.h", "")
        self.write("src/cron/plan.h", '#include "base/list.h"\n')
        self.write("src/cron/plan.c", '#include "cron/plan.h"\n')
        self.write("src/cron/zone.c", "")
        self.write("src/pool/run.c", "")
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words], cwd=self.root, check=True,
                       capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def run(self, script, *words):
        done = subprocess.run([str(self.root / "tools" / script), *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def croniter(self):
        """What --list says of the stage croniter."""
        output = self.run("verify.py", "--list")[1]
        return next(line for line in output.split("\n") if line.startswith("croniter"))

    def record(self):
        path = self.root / "tests/verified/croniter"
        return path.read_text(encoding="utf-8") if path.exists() else None


def is_recorded(tree):
    assert "stale: it has no record" in tree.croniter()
    status, output = tree.run("verify.py", "croniter")
    assert status == 0 and "croniter: passed" in output, output
    assert "result: passed\n" in tree.record() and tree.record().endswith("5 zones the same\n")
    assert tree.croniter().endswith("holds")
    tree.commit()
    assert tree.croniter().endswith("holds")


def is_stale(tree):
    """By its own room, one below, their headers, what all depend on; not by a room above."""
    for name, stale in (("src/pool/run.c", False), ("src/cron/zone.c", True), ("src/base/list.h", True),
                        ("tests/support/new.c", True), ("include/weir/pool.h", False),
                        ("include/weir/clock.h", True)):
        tree.run("verify.py", "croniter")
        tree.write(name, "int changed;\n")
        assert ("such as " + name in tree.croniter()) == stale, name
        tree.commit()
    tree.run("verify.py", "croniter")
    tree.write("tests/verified/croniter", tree.record().replace("commit: ", "commit: 0000"))
    assert "is not here" in tree.croniter()


def only_a_commit_is_recorded(tree):
    tree.write("src/cron/zone.c", "int uncommitted;\n")
    status, output = tree.run("verify.py", "croniter")
    assert status == 0 and "no record" in output and tree.record() is None, output


def skipped_is_not_passed(tree):
    tree.write("outcome", "SKIPPED: croniter is not installed\n")
    tree.commit()
    assert "croniter: skipped" in tree.run("verify.py", "croniter")[1]
    assert tree.croniter().endswith("stale: skipped: croniter is not installed")


def failed_is_told(tree):
    tree.write("broken", "")
    tree.commit()
    status, output = tree.run("verify.py", "croniter")
    assert status == 1 and "croniter: FAILED" in output and "verify: failed: croniter" in output, output
    assert tree.record() is None


def unknown_is_refused(tree):
    status, output = tree.run("verify.py", "nonesuch")
    assert status == 1 and "Stages: " in output


def changed_are_tidied(tree):
    assert tree.run("changed.py")[1] == ".\n"
    tree.run("verify.py", "croniter")
    tree.write("tests/verified/tidy", tree.record())
    assert tree.run("changed.py")[1] == "^$\n"
    tree.write("src/base/list.h", "int changed;\n")
    assert tree.run("changed.py")[1] == "/(src/cron/plan\\.c)$\n"
    tree.write(".clang-tidy", "")
    tree.commit()
    assert tree.run("changed.py")[1] == ".\n"


tests = (is_recorded, is_stale, only_a_commit_is_recorded, skipped_is_not_passed, failed_is_told, unknown_is_refused,
         changed_are_tidied)
for test in tests:
    with tempfile.TemporaryDirectory() as folder:
        test(Tree(folder))
print(f"{len(tests)} passed, 0 failed, 0 skipped")
sys.exit(0)
