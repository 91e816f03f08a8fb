#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Writes what the fuzzers begin with: the texts that the tests know, and the zones of this system.

Usage: tests/fuzz/seeds.py TARGET FOLDER      (TARGET: beanstalkd, cron, http or zone; FOLDER is made)
"""
import hashlib
import re
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Where string literals are expressions, right ones and wrong ones, or rules of zones.
CRON_TESTS = ["src/cron/cron_parse_test.c", "src/cron/cron_test.c", "src/cron/plan_cron_test.c",
              "tests/conformance/bad_cron_test.c", "tests/conformance/recur_cron_test.c"]
BEANSTALKD_TESTS = ["src/jobs/beanstalkd/codec_test.c"]
ZONE_TESTS = ["src/cron/zone_bad_test.c"]
ZONES = Path("/usr/share/zoneinfo")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\"}


def literals(paths):
    for path in paths:
        text = re.sub(r"^#[^\n]*|/\*.*?\*/", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.M | re.S)
        for literal in LITERAL.findall(text):
            plain = re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match.group(1), 16)), literal)
            plain = re.sub(r'\\(["\\ntr0])', lambda match: ESCAPES[match.group(1)], plain)
            yield plain.encode("latin-1", "replace")


def cron_seeds():
    for text in literals(CRON_TESTS):
        yield b"\0" + text
        yield b"\1" + text  # with seconds


def beanstalkd_seeds():
    """The replies of the tests, right ones and wrong ones, and all right ones in a row."""
    replies = [text for text in literals(BEANSTALKD_TESTS) if b"\r\n" in text or text.startswith(b"---")]
    yield from replies
    yield b"".join(replies)


def http_seeds():
    """The calls of the tests on each route, and the first ones from elsewhere."""
    text = (ROOT / "tests/http/described_test.c").read_text(encoding="utf-8")
    calls = re.findall(r'\{"(get|post)",\s*"[^"]*",\s*"([^"]*)",\s*(NULL|(?:"(?:[^"\\]|\\.)*"\s*)+)\}', text)
    for method, target, body in calls:
        body = "" if body == "NULL" else "".join(LITERAL.findall(body)).replace('\\"', '"')
        length = "" if method == "get" else f"Content-Type: application/json\nContent-Length: {len(body)}\n"
        for more in ("", "Origin: http://evil.example\n", "Sec-Fetch-Site: cross-site\n"):
            yield f"{method.upper()} {target}\nHost: localhost\n{more}{length}\n{body}".encode()
    yield b"GET /livez\nHost: evil.example\n\n"


def zone_of_rule(rule):
    """A file of version 3 with one change, and this rule behind it."""
    def block(time):
        counts = struct.pack(">6I", 0, 0, 0, 1, 2, 4)
        types = struct.pack(">ibB", 0, 0, 0) + struct.pack(">ibB", 3600, 1, 0)
        return b"TZif3" + bytes(15) + counts + time + b"\1" + types + b"LMT\0"
    return block(struct.pack(">i", 0)) + block(struct.pack(">q", 0)) + b"\n" + rule + b"\n"


def zone_seeds():
    for rule in literals(ZONE_TESTS):
        yield zone_of_rule(rule)
    for path in sorted(ZONES.rglob("*")):
        if path.is_file() and path.stat().st_size < 4096 and path.read_bytes()[:4] == b"TZif":
            yield path.read_bytes()


SEEDS = {"beanstalkd": beanstalkd_seeds, "cron": cron_seeds, "http": http_seeds, "zone": zone_seeds}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SEEDS:
        print(__doc__, file=sys.stderr)
        return 64
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = set(SEEDS[sys.argv[1]]())
    for seed in seeds:
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    print(f"{sys.argv[1]}: {len(seeds)} seeds")
    return 0 if seeds else 1


sys.exit(main())
