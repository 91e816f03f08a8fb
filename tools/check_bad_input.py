#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""The table of bad input (tests/conformance/bad_rows.h) has a row for everything that the public headers give reason for.

Usage: tools/check_bad_input.py

For each function of the headers of libweir (check_symbols.py holds that these are the exported ones), and each of those
of libweir-jobs that says in words what it refuses:
 - each parameter has a row for each fault that its type can have (FAULTS), or is excused here with the reason (EXCUSED);
 - each field of a struct of options that can be wrong has a row named after it, those of structs that it points to included;
 - a function on a queue has a row on one that is shut down, one on a pool a row for each of the states in which it may not be
   what the caller wants, for a call from a task of the pool, and for one in a child after fork();
 - the errors that its rows expect are those that its comment names after "Errors", "as weir_other()" included: an error
   that no test produces, and one that the contract does not name, are findings;
 - no row is of a function or parameter that does not exist.

Rows of libweir-jobs are called with ret_error and without (tests/conformance/store/bad_store.h), so none is of ret_error.
"""
import re

from sources import PUBLIC, Findings, files, read

# What a row of libweir-jobs does not produce, for it needs a disk that fails or is full, a damaged store, another process
# that holds a lock (src/jobs/sqlite has the tests of each), or servers (tests/cluster, conformance/jobs).
ELSEWHERE = {"WEIR_EIO", "WEIR_ENOSPACE", "WEIR_ETIMEDOUT", "WEIR_ECORRUPT", "WEIR_EUNAVAILABLE", "WEIR_EUNKNOWN"}
# These and, where SQLite itself lacks it, memory are "those of the storage".
STORAGE = ELSEWHERE | {"WEIR_ENOMEM"}

# By the type of a parameter, the faults it can have. Pointers can be NULL.
FAULTS = {
    "struct weir_key": ["no_bytes", "no_item", "too_big"],
    "int64_t": ["least", "most"],
    "int": ["least", "most"],
    "size_t": ["zero", "most"],
    "uint64_t": ["zero", "most"],
    "uint32_t": ["most"],
    "enum weir_drop_reason": ["unknown"],
    "enum weir_end_mode": ["unknown"],
    "double": ["negative", "not_finite"],
    "const struct weir_allocator *": ["null", "partial"],
    "weir_invoke_fn *": ["null"],
    "weir_release_fn *": ["null"],
    "void *": [],  # handed on, never looked at
    "...": [],
    "weir_pool *": ["null", "forked", "own_task", "unstarted", "stopped", "terminated"],
    "weir_scope *": ["null", "forked"],
    "weir_envelope *const *": ["null", "one_null", "elsewhere"],
    "weir_broker *": ["null", "forked"],
    "weir_transaction *": ["null", "parents"],
    "weir_producer *": ["null", "forked", "read_only"],
    "weir_consumer *": ["null", "forked", "unstarted", "own_run"],
    "struct weir_body": ["no_bytes", "too_big"],
    "const struct weir_body *": ["null", "no_bytes", "too_big"],
    "enum weir_job_state": ["unknown"],
    "enum weir_schedule_change": ["unknown"],
}
# In libweir-jobs, by the name of a parameter.
NAMED_FAULTS = {
    "tube": ["null", "malformed", "too_big"],
    "id": ["null", "malformed"],
    "ids": ["null", "malformed_id"],
    "ret_error": [],
}
# Fields of structs of options that can be wrong, by type; and callbacks that are required, or go with other fields only.
FIELD_TYPES = {"int64_t", "uint64_t", "size_t", "uint32_t", "int32_t", "struct weir_allocator", "const char *",
               "struct weir_key", "const struct weir_stamp *", "weir_cron *", "weir_metrics *", "weir_scope *",
               "weir_invoke_fn *", "weir_overdue_fn *", "weir_handler_fn *", "double", "const struct weir_tube_weight *", "struct weir_body", "enum weir_duplicate", "enum weir_job_state", "enum weir_missed",
               "enum weir_change_kind", "enum weir_verdict"}
# Structs that are parts of others.
PARTS = {"const struct weir_schedule *": "weir_schedule", "const struct weir_isolation *": "weir_isolation",
         "struct weir_retry": "weir_retry"}

EXCUSED = {
    ("weir_queue_add_batch", "count", "most"): "the array has so many by contract",
    ("weir_queue_done_batch", "count", "most"): "the array has so many by contract",
    ("weir_queue_get_batch", "size", "most"): "the array has room for so many by contract",
    ("weir_limiter_max_of_new", "count", "most"): "the array has so many by contract",
    ("weir_duration_format", "size", "most"): "the buffer is so large by contract",
    ("weir_cron_format", "size", "most"): "the buffer is so large by contract",
    ("weir_pool_send_all", "count", "most"): "the array has so many by contract",
    ("weir_broker_put", "count", "most"): "the array has so many by contract",
    ("weir_transaction_put", "count", "most"): "the array has so many by contract",
    ("weir_broker_change", "count", "most"): "the array has so many by contract",
    ("weir_panic", "format", "null"): "a format is part of the program's text; compilers check it",
}
EXCUSED_ERRORS = {
    ("weir_broker_backup", "WEIR_ENOMEM"): "its memory is SQLite's",
    ("weir_broker_backup", "WEIR_EACCESS"): "tests may run as root, who may write everywhere",
    ("weir_parallelize", "WEIR_ENOMEM"): "its memory is libc's; a crew's, by the same code, has a row",
}
# What a row may be about besides a parameter.
RESOURCES = {"memory", "descriptors", "threads"}

DECLARATION = re.compile(r"^WEIR_API\b([^;{]*?)\b(weir_\w+)\s*\(([^;]*?)\);", re.M)
STRUCT = re.compile(r"^struct (weir_\w+_options|weir_\w+_ops|weir_job_filter|weir_change|weir_tube_policy|weir_schedule|weir_isolation|weir_retry) \{\n(.*?)^\};", re.M | re.S)
ROW = re.compile(r"\bROW\(\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+)\)")
# Such a row ends the program: it produces no status.
LAST_ROW = re.compile(r"\bLAST_ROW\(\s*(\w+),\s*(\w+),\s*(\w+),\s*(\"\w)")
MACRO = re.compile(r"^#define (\w+_ROWS)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", re.M)

findings = Findings("check_bad_input")


def split_parameter(text):
    """The type and name of `const struct weir_work *work`."""
    if text.strip() == "...":
        return "...", "..."
    match = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split()))
    return match.group(1).strip(), match.group(2)


def errors_named(text, start):
    """The statuses, and the functions whose errors it has as well, of what follows "Errors" in a comment's paragraph."""
    above = text[:start].rstrip()
    comment = re.sub(r"^\s*\*(/$| ?)", "", above[above.rfind("/**") + 3:].removesuffix("*/"), flags=re.M)
    statuses, others = set(), set()
    for paragraph in re.split(r"\n\s*\n", comment):
        _, word, after = paragraph.partition("Errors")
        if word:
            statuses |= set(re.findall(r"\bWEIR_E[A-Z]+\b", after)) - {"WEIR_EUSER"}
            after = " ".join(after.split())
            others |= set(re.findall(r"\b(?:as|those of) (weir_\w+)\(", after))
            statuses |= {"STORAGE"} if "those of the storage" in after else set()
    return statuses, others


def returns_status(declaration):
    return re.search(r"\b(enum weir_status|int) *$", declaration.rstrip()) is not None


# What the head of weir/pool.h says of all calls on a pool need not be said of each.
POOLS_FORK = "every call is WEIR_EFORKED" in " ".join(read("include/weir/pool.h").replace(" *", " ").split())
# And the head of weir/broker.h of all of libweir-jobs.
BROKERS_HEAD = " ".join(read("include/weir/broker.h").replace(" *", " ").split())
BROKERS_FORK = "is WEIR_EINVAL where a pointer that it needs is NULL" in BROKERS_HEAD
# The same of names of tubes, and of a broker that only reads, which functions with a row of that fault refuse.
BROKERS_NAMES = ("A tube's name that is none is WEIR_EINVAL, or WEIR_ETOOBIG; a change by a broker that only reads is WEIR_EACCESS"
                 in BROKERS_HEAD)


def read_headers():
    functions, fields = {}, {}
    for path in files(".h", under="include/weir"):
        is_jobs = path.stem in PUBLIC["jobs"]
        text = read(path)
        for match in DECLARATION.finditer(text):
            parameters = [] if match.group(3).strip() == "void" else [
                split_parameter(part) for part in match.group(3).split(",")]
            statuses, others = errors_named(text, match.start())
            if POOLS_FORK and returns_status(match.group(1)) and "weir_pool *" in (kind for kind, _ in parameters):
                statuses.add("WEIR_EFORKED")
            if is_jobs and "ret_error" not in (parameter for _, parameter in parameters):
                continue
            if is_jobs:
                statuses |= {"WEIR_EINVAL", "WEIR_EFORKED"} if BROKERS_FORK else set()
                statuses |= {"WEIR_ETOOBIG"} if BROKERS_NAMES and "tube" in (parameter for _, parameter in parameters) else set()
            functions[match.group(2)] = {"path": path, "is_jobs": is_jobs, "line": text.count("\n", 0, match.start()) + 1,
                                         "parameters": parameters, "errors": statuses, "as": others}
        for match in STRUCT.finditer(text):
            body = re.sub(r"/\*.*?\*/", "", match.group(2), flags=re.S)
            fields[match.group(1)] = [split_parameter(line) for line in body.split(";")
                                      if re.search(r"\w", line) and "(" not in line]
    return functions, fields


def rows_of(text, macros):
    """The rows of a text, those of the macros that it calls included, which may call others."""
    found = ROW.findall(text)
    for name, (parameters, body) in macros.items():
        for arguments in re.findall(rf"^ *{name}\(([^)]*)\)", text, re.M):
            values = dict(zip(parameters, (word.strip() for word in arguments.split(","))))
            found += rows_of(re.sub(r"\w+", lambda word: values.get(word[0], word[0]), body), macros)
    return found


def read_rows():
    """Maps each function to its rows: (parameter, fault) -> status. Macros that stand for several rows are expanded."""
    rows = {}
    paths = [path for path in files("_test.c", ".h", under="tests/conformance") if path.name.startswith("bad_")]
    texts = [read(path) for path in paths]
    macros = {}
    for text in texts:
        for name, parameters, body in MACRO.findall(text):
            macros[name] = ([word.strip(" \\\n") for word in parameters.split(",")], body)
    for path, text in zip(paths, texts):
        plain = MACRO.sub("", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
        plain = re.sub(r"^#define ROW\((?:[^\n]*\\\n)*[^\n]*", "", plain, flags=re.M)
        found = rows_of(plain, macros)
        found += [(*match.groups()[:3], "WEIR_OK") for match in LAST_ROW.finditer(plain)]
        for function, parameter, fault, status in found:
            rows.setdefault(function, {})[(parameter, fault)] = (status, path)
    return rows


def faults_of(struct, fields):
    """Of a struct of options, or of a part of one: what may be wrong in it."""
    for kind, field in fields[struct]:
        if kind in PARTS:
            for fault in faults_of(PARTS[kind], fields):
                yield f"{field}_{fault}"
        elif kind in FIELD_TYPES:
            yield field


def needed(name, function, fields):
    for kind, parameter in function["parameters"]:
        struct = re.fullmatch(r"const struct (\w+_(?:options|ops|filter|policy|change)) \*", kind)
        faults = FAULTS.get(kind, ["null"] if kind.endswith("*") else None)
        if function["is_jobs"]:
            faults = NAMED_FAULTS.get(parameter, faults)
        if faults is None:
            findings.add(function["path"], function["line"], f"{name}: no faults are known for the type {kind}")
            continue
        for fault in faults:
            yield parameter, fault
        if struct:
            for fault in faults_of(struct.group(1), fields):
                yield parameter, fault
        if kind == "weir_queue *":
            yield parameter, "shut_down"
        if kind == "weir_envelope *" and "weir_pool *" in (other for other, _ in function["parameters"]):
            yield parameter, "elsewhere"


functions, fields = read_headers()
rows = read_rows()


def all_errors(name, seen=()):
    function = functions[name]
    errors = set(function["errors"])
    for other in function["as"]:
        if other in functions and other not in seen:
            errors |= all_errors(other, (*seen, name))
    return errors


total = 0
for name, function in sorted(functions.items()):
    own = rows.get(name, {})
    total += len(own)
    for parameter, fault in needed(name, function, fields):
        if (parameter, fault) not in own and (name, parameter, fault) not in EXCUSED:
            findings.add(function["path"], function["line"], f"{name}: no row for {parameter}: {fault}")
    known = {parameter for _, parameter in function["parameters"]} | RESOURCES
    for parameter, fault in sorted(own):
        if parameter not in known:
            findings.add(own[(parameter, fault)][1], 1, f"{name} has no parameter {parameter}")
    produced = {status for status, _ in own.values()} - {"WEIR_OK"}
    named = all_errors(name)
    if BROKERS_NAMES and any("read_only" in fault for _, fault in own):
        named.add("WEIR_EACCESS")
    excused = ELSEWHERE if function["is_jobs"] else set()
    if "STORAGE" in named:
        excused = STORAGE
        named = (named | STORAGE) - {"STORAGE"}
    for status in sorted(named - produced - excused - {status for function_, status in EXCUSED_ERRORS if function_ == name}):
        findings.add(function["path"], function["line"], f"{name}: its comment names {status}, which no row produces")
    for status in sorted(produced - named):
        findings.add(function["path"], function["line"], f"{name}: a row produces {status}, which its comment does not name")
for name in sorted(set(rows) - set(functions)):
    path = next(iter(rows[name].values()))[1]
    findings.add(path, 1, f"rows are of {name}, which no header declares")
for excused in sorted(EXCUSED):
    if excused[0] not in functions:
        findings.add("tools/check_bad_input.py", 1, f"{excused[0]} is excused, and does not exist")
findings.end(f"{len(functions)} functions, {total} rows of bad input; every error named is produced, and the other way round")
