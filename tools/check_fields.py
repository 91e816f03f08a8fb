#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Each field of a job (src/jobs/core/fields.h) is in all places that are told of it.

Usage: tools/check_fields.py

 - What is made of the lists names them: checks, copies, refusals, buffers, texts, columns (LISTS).
 - What is written by hand has a place for each row: members, limit and feature in the public headers, an option of
   `weir put`, a member of the API's put and of its object of a job, the manual page, docs/http-api.md.
 - The library's rows are those of weir_job_fields(): a row outside the lists of WEIRI_JOB_FIELDS has a reason (put_id).
"""
import json
import re

from sources import Findings, read, without_comments

FIELDS = "src/jobs/core/fields.h"
OPENAPI = "src/http/openapi.json"
# What is made of which lists.
LISTS = {
    "src/jobs/core/fields.c": ["JOB", "TEXT", "PUT"],
    "src/jobs/core/backend.h": ["TEXT", "PUT"],
    "src/jobs/core/move.c": ["KEPT", "NUMBER"],
    "src/jobs/core/reservation.c": ["TEXT"],
    "src/jobs/put_options.c": ["JOB", "TEXT", "PUT", "UNIQUE", "NUMBER"],
    "src/jobs/producer.c": ["KEPT"],
    "src/jobs/sqlite/body.c": ["TOLD"],
    "src/jobs/sqlite/body.h": ["TOLD"],
    "src/jobs/sqlite/connection.h": ["ROW"],
    "src/jobs/sqlite/copy.c": ["WORD", "TOLD"],
    "src/jobs/sqlite/schema.c": ["ROW"],
    "src/jobs/sqlite/statement_parts.h": ["WORD", "ROW"],
    "src/jobs/sqlite/statements.h": ["WORD", "ROW"],
}
# What the program goes through the table of, and the function that it does so with.
TABLES = ["src/http/put.c", "src/view/json.c", "src/cli/environment.c"]
# Options of `weir put` that have other names than their fields.
OPTIONS = {"headers": "header", "key": "unique", "put_id": "put-id", "ttr_ns": "ttr", "run_at_ns": "at"}
# A job shows it as another member.
SHOWN = {"put_id": "identity", "run_at_ns": "run_at"}

findings = Findings("check_fields")


def lists():
    """The rows of each list that is not made of others."""
    text = re.sub(r"\\\n", " ", without_comments(read(FIELDS)))
    found = {}
    for name, rows in re.findall(r"#define WEIRI_(\w+)_FIELDS\(X\)(.*)", text):
        found[name] = re.findall(r"\bX\((\w+), (\w+), (\w+), (\w+)\)", rows)
    return {name: rows for name, rows in found.items() if rows}


def members(path, struct):
    body = re.search(rf"^struct {struct} \{{\n(.*?)^\}};", without_comments(read(path)), re.M | re.S)
    return set(re.findall(r"\b(\w+);", body.group(1))) if body else set()


def need(is_there, path, row, what):
    if not is_there:
        findings.add(path, 1, f"{row}: {what}")


def check_lists():
    for path, names in LISTS.items():
        text = without_comments(read(path))
        for name in names:
            need(f"WEIRI_{name}_FIELDS" in text, path, f"WEIRI_{name}_FIELDS", "is not named here any more")
    for path in TABLES:
        need("weir_job_fields()" in read(path), path, "weir_job_fields()", "is not gone through here any more")


def check_row(row, kind, limit, feature, is_shown, places):
    stripped = row.removesuffix("_ns")
    shown = SHOWN.get(row, row)
    option = OPTIONS.get(row, row)
    is_text = kind in ("LINES", "TOLD", "WORD", "UNIQUE")
    need(row in places["put"], "include/weir/broker.h", row, "struct weir_put_options has no such member")
    need((row if is_shown else shown) in places["job"], "include/weir/job.h", row, "struct weir_job has no such member")
    need(not is_text or f"#define {limit} " in places["job.h"], "include/weir/job.h", row, f"there is no {limit}")
    need(not is_text or f"X({feature.removeprefix('WEIR_CAN_')}," in places["feature.h"], "include/weir/feature.h", row,
         f"there is no {feature}")
    need(f'OPTION_VALUE("{option}"' in places["options"], "src/cli/put.c", row, f"`weir put` has no --{option}")
    need(f"Fl -{option} Ns" in places["man"] or f", -{option} Ns" in places["man"], "man/weir.1", row,
         f"--{option} is not described")
    need(kind not in ("TOLD", "WORD") or f".It Ev WEIR_{row.upper()}\n" in places["man"], "man/weir.1", row,
         f"WEIR_{row.upper()} is not described")
    need(not is_text or re.search(rf"^\.Ql {shown}( [,;])?$", places["man"], re.M), "man/weir.1", row, f"{shown} is not among the members of --json")
    need(stripped in places["api_put"], OPENAPI, row, f"a put has no member {stripped}")
    need(shown in places["api_job"], OPENAPI, row, f"a job has no member {shown}")
    need(f"`{stripped}`" in places["http-api"], "docs/http-api.md", row, f"`{stripped}` is not among the members of a put")


def main():
    api = json.loads(read(OPENAPI))
    put = api["paths"]["/api/v1/tubes/{tube}/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    places = {
        "put": members("include/weir/broker.h", "weir_put_options"),
        "job": members("include/weir/job.h", "weir_job"),
        "job.h": read("include/weir/job.h"),
        "feature.h": read("include/weir/feature.h"),
        "options": re.sub(r"OPTION_VALUE\(\s+", "OPTION_VALUE(", read("src/cli/put.c")),
        "man": read("man/weir.1"),
        "api_put": put["properties"],
        "api_job": api["components"]["schemas"]["Job"]["properties"],
        "http-api": read("docs/http-api.md"),
    }
    rows = lists()
    for name in ("TOLD", "WORD", "UNIQUE", "PUT", "NUMBER"):
        need(name in rows, FIELDS, f"WEIRI_{name}_FIELDS", "has no rows")
        for row in rows.get(name, []):
            check_row(*row, name != "PUT", places)
    check_lists()
    findings.end(f"{sum(map(len, rows.values()))} fields of jobs, each in all its places")


main()
