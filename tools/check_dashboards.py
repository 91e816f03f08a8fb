#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Do the dashboards and alerts of packaging/ use metrics that there are, with labels and values that there are?

Usage: tools/check_dashboards.py [--rules]     --rules: print what the dashboards ask as rules, for promtool to judge

The families and labels are those of docs/http-api.md's table, which a test holds against the served page, and
process_* of src/http/process.c.
"""
import json
import re
import sys

from sources import Findings, read

findings = Findings("check_dashboards")

ROW = re.compile(r"^\| `(weir_\w+)` \| ([^|]*)\| ([^|]*)\|", re.M)
SELECTOR = re.compile(r"\b(weir_\w+|process_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|=|!=|!~)\s*"([^"]*)"')


def families():
    found = {}
    for name, labels, about in ROW.findall(read("docs/http-api.md")):
        found[name] = (set(re.findall(r"`(\w+)`", labels)), about)
    for name in re.findall(r"\bprocess_\w+", read("src/http/process.c")):
        found[name] = (set(), "")
    return found


# Values of labels that are fixed.
VALUES = {"state": {"delayed", "ready", "reserved", "buried"},
          "event": {"put", "done", "failed", "retried", "timeout", "buried"}}


def check(path, number, expression, known):
    uses = 0
    for name, matchers in SELECTOR.findall(expression):
        uses += 1
        if name not in known:
            findings.add(path, number, f"there is no metric {name}")
            continue
        for label, _, value in MATCHER.findall(matchers):
            if label != "instance" and label not in known[name][0]:
                findings.add(path, number, f"{name} has no label {label}")
            for one in value.split("|"):
                if label in VALUES and one not in VALUES[label]:
                    findings.add(path, number, f"{label} is never {one}")
    return uses


DASHBOARD = "packaging/grafana/weir-jobs.json"


def expressions():
    """(panel, expression) of the dashboard."""
    for panel in json.loads(read(DASHBOARD))["panels"]:
        for target in panel["targets"]:
            yield panel["id"], target["expr"]


def print_rules():
    """JSON is YAML."""
    rules = [{"record": f"panel:{panel}_{i}", "expr": expression.replace("$__rate_interval", "5m")}
             for i, (panel, expression) in enumerate(expressions())]
    print(json.dumps({"groups": [{"name": "panels", "rules": rules}]}, indent=1))


def main():
    if sys.argv[1:] == ["--rules"]:
        print_rules()
        return
    known = families()
    uses = 0
    for panel, expression in expressions():
        uses += check(DASHBOARD, panel, expression, known)
    path = "packaging/prometheus/weir.rules.yml"
    for number, line in enumerate(read(path).splitlines(), 1):
        if "description:" not in line and "summary:" not in line and not line.lstrip().startswith("#"):
            uses += check(path, number, line, known)
    if uses == 0:
        findings.add(path, 1, "nothing was checked")
    findings.end(f"{uses} uses of {len(known)} metrics, all there")


main()
