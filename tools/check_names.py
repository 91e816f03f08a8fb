#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""What documents call weir_something or WEIR_SOMETHING is there.

Usage: tools/check_names.py

In Markdown and man pages, weir_… is a name that a public header declares, or the beginning of some (`weir_limiter_…`); WEIR_… is
one too, or a variable of the environment or of the build that the sources know, or a family of metrics that /metrics has. CHANGELOG.md speaks of names that were.

Of names of our inside (weiri_…) the sources have each, and a path of a source is there.

weir(7) names every function and type that a header of libweir declares.
"""
import re

from sources import ROOT, Findings, files, read

NAME = re.compile(r"(?<![\w/.-])(weir_\w+|WEIR_\w+)")
INTERNAL = re.compile(r"\bweiri_\w+")
PATH = re.compile(r"(?<![\w/.-])(?:bench|examples|include|src|tests|tools)/[\w./-]+\.(?:c|h|cpp|inc|py|sh|txt)\b")
# What headers declare: functions, types of functions, structs, enums, opaque types.
DECLARED = re.compile(r"^(?:WEIR_API|static inline)\b[^;{]*?\b(weir_\w+)\s*\(|^typedef [^;(]*?\b(weir_\w+)[(;]|"
                      r"^(?:struct|enum) (weir_\w+) \{", re.M)
JOBS = {"admin.h", "broker.h", "consumer.h", "feature.h", "job.h", "job_schedule.h", "jobs.h", "move.h", "policy.h",
        "producer.h", "transaction.h"}
PAGE = "man/weir.7"
# Placeholders in rules about names, and a header of an example's job.
EXAMPLES = {"weir_object_verb", "WEIR_HEADER_CAMERA"}

findings = Findings("check_names")
public = set()
for header in files(".h", under="include"):
    text = read(header)
    public |= set(NAME.findall(text)) | {f"WEIR_{name}" for name in re.findall(r"\bX\((\w+), \d+,", text)}
variables = set()
for path in [*files(".c", ".h", under="src"), *files(".sh", under="tools"), *files(".cmake", under="cmake"), "Makefile", "CMakeLists.txt"]:
    variables |= {name for name in NAME.findall(read(path)) if name.startswith("WEIR_")}
for path in files(".c", ".h", under="tests"):
    variables |= set(re.findall(r'getenv\("(WEIR_\w+)"', read(path)))
# The program's variables of what a put gave the job.
fields = re.findall(r"\bX\((\w+), (?:TOLD|WORD),", read("src/jobs/core/fields.h"))
variables |= {f"WEIR_{field.upper()}" for field in fields}
internal = set(INTERNAL.findall("\n".join(read(path) for path in files(".c", ".h", under="src"))))
# The families of /metrics.
variables |= set(NAME.findall(read("src/http/exposition.c")))

count = 0
for document in [*files(".md"), *files(under="man")]:
    if document.name == "CHANGELOG.md":
        continue
    for number, line in enumerate(read(document).split("\n"), 1):
        for name in NAME.findall(line):
            count += 1
            is_beginning = name.endswith("_") and any(known.startswith(name) for known in public | variables)
            if name not in public and name not in variables and name not in EXAMPLES and not is_beginning:
                findings.add(document, number, f"there is no {name}")
        for name in INTERNAL.findall(line):
            if name not in internal and not any(known.startswith(name) for known in internal):
                findings.add(document, number, f"there is no {name}")
        for path in PATH.findall(line):
            if not (ROOT / path).exists():
                findings.add(document, number, f"there is no file {path}")
named = set(NAME.findall(read(PAGE)))
for header in files(".h", under="include"):
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group(0).count("\n"), read(header), flags=re.S)
    for match in DECLARED.finditer(text):
        name = next(filter(None, match.groups()))
        if header.name not in JOBS and name not in named:
            findings.add(header, text.count("\n", 0, match.start()) + 1, f"{PAGE} does not name {name}")
findings.end(f"{count} names in documents, all there")
