#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The examples that documents show are the ones that are built and run, and what they name is there.

Usage: tools/check_readme.py

 - A code block after a line `<!-- examples/FILE -->` of a Markdown file, or `.\\" examples/FILE` of a man page, must be
   the text of that file without its licence head (and, in a script, without the `#!` line).
 - README.md must have at least one C and one shell example of that kind, weir(7) one in C.
 - Any other block of C in a Markdown file must compile: as a file if it has an #include or a function, else as
   statements that may use the names of DECLARATIONS below. Pages of sections 3 and 7 have no literal text but examples.
 - README.md's table of brokers has a row for each of WEIR_FEATURE_MAP, with what the back ends' sets `can` say.
 - What these pages name (functions, types, constants, members, headers) is in the public headers.
"""
import os
import re
import subprocess

from sources import ROOT, Findings, files, read

MD_BLOCK = re.compile(r"(?:^<!-- (?P<name>examples/\S+) -->\n\n?)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
MAN_BLOCK = re.compile(r'(?:^\.\\" (?P<name>examples/\S+)\n)?^\.Bd -literal[^\n]*\n(?P<text>.*?)^\.Ed$', re.M | re.S)
MARK = re.compile(r'^(?:<!--|\.\\") examples/\S+', re.M)
HEAD = re.compile(r"\A(?:#!.*\n)?(?:/\*|#) Copyright[^\n]*\n[^\n]*SPDX-License-Identifier: MIT(?: \*/)?\n\n?")
API_NAME = re.compile(r"\b(?:weir_[a-z0-9_]+|WEIR_[A-Z0-9_]+)\b")
DECLARATIONS = """
#include <stdio.h>
#include <weir/jobs.h>
#include <weir/weir.h>
extern weir_queue *queue;
extern weir_limiter *limiter;
extern weir_pool *pool;
extern weir_envelope *envelope;
extern struct weir_key key;
extern struct weir_item *item;
extern struct weir_work work;
extern enum weir_status status;
"""
# A fragment need not look at every status.
COMPILE = [os.environ.get("CC", "cc"), "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror",
           "-Wno-unused-result", "-Wno-unused-function", "-Iinclude", "-fsyntax-only", "-x", "c", "-"]

findings = Findings("check_readme")
examples = 0
languages = {}


def check_compiles(path, line, text):
    is_file = re.search(r"^(?:#include\b|\{$)", text, re.M)
    source = text if is_file else f'{DECLARATIONS}void fragment(void);\nvoid fragment(void)\n{{\n#line 1\n{text}}}\n'
    done = subprocess.run(COMPILE, input=source, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        findings.add(path, line, f"the code block does not compile:\n{done.stderr}")


def unescape(roff):
    return re.sub(r"^\\&", "", roff.replace(r"\e", "\\"), flags=re.M)


def check_blocks(path, text, is_page):
    global examples
    named = 0
    for block in (MAN_BLOCK if is_page else MD_BLOCK).finditer(text):
        line = text.count("\n", 0, block.start("text")) + 1
        name, shown = block["name"], block["text"]
        if name is None:
            if is_page:
                findings.add(path, line, "the literal text is not marked as one of examples/")
            elif block["language"] == "c":
                check_compiles(path, line, shown)
            continue
        named += 1
        languages.setdefault(str(path), set()).add(name.rsplit(".", 1)[-1])
        if not (ROOT / name).is_file():
            findings.add(path, line, f"there is no {name}")
        elif HEAD.sub("", read(name), count=1) != (unescape(shown) if is_page else shown):
            findings.add(path, line, f"the code block is not the text of {name}")
    if named != len(MARK.findall(text)):
        findings.add(path, 1, "a line that names a file of examples/ has no code block after it")
    examples += named


def check_names(path, text, headers):
    known = set(re.findall(r"\w+", "\n".join(read(header) for header in headers)))
    known |= {f"WEIR_{name}" for name in re.findall(r"X\((\w+), \d+", read("include/weir/status.h"))}
    paths = {str(header.relative_to("include")) for header in headers}
    for number, line in enumerate(text.split("\n"), 1):
        names = API_NAME.findall(line) + re.findall(r"^\.Fa (\w*[a-z0-9])\b", line)
        missing = [name for name in names if name not in known]
        missing += [name for name in re.findall(r"\bweir/\w+\.h\b", line) if name not in paths]
        for name in missing:
            findings.add(path, number, f"no public header has {name}")


def check_brokers(path, text):
    sets = [set(re.findall(r"WEIRI_CAN\((\w+)\)", read(source)))
            for source in ("src/jobs/sqlite/store.c", "src/jobs/beanstalkd/cluster.c")]
    for name, words in re.findall(r'X\((\w+), "([^":]+)', read("include/weir/feature.h")):
        row = " | ".join(["| " + words] + ["yes" if name in features else "no" for features in sets]) + " |"
        if row not in text.split("\n"):
            findings.add(path, 1, f"the table of brokers has no row: {row}")


for document in files(".md"):
    check_blocks(document, read(document), False)
for page in files(".3", ".7", under="man"):
    check_blocks(page, read(page), True)
    check_names(page, read(page), files(".h", under="include"))
check_brokers("README.md", read("README.md"))
for document, language in (("README.md", "c"), ("README.md", "sh"), ("man/weir.7", "c")):
    if language not in languages.get(document, set()):
        findings.add(document, 1, f"has no {language} example that is run")
findings.end(f"{examples} examples are those of examples/")
