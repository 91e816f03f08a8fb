#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Every check must be able to fail: plants one fault of each kind in a copy of the tree and sees that it is found.

Usage: tools/checks_test.py [LIBRARY...]      (the libraries are for check_symbols.py, as that script wants them)
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sources import ROOT

# Written in pieces, so that check_text.py does not find them here.
LATER = "TO" + "DO"
HOME = "/ho" + "me/someone"

# The check, the file that is changed, what is put into it, and what the check must say. At "end" the text is appended,
# at "top" it becomes a line after the licence head.
FAULTS = [
    ("includes", "src/base/list.h", "top", '#include "queue/core.h"', 'room base may not include "queue/core.h"'),
    ("includes", "src/queue/core.c", "top", '#include "pool/pool.h"', 'room queue may not include "pool/pool.h"'),
    ("includes", "src/cli/main.c", "top", '#include "base/list.h"', 'room cli may not include "base/list.h"'),
    ("includes", "src/jobs/core/state.c", "top", '#include "jobs/broker.h"', 'room jobs/core may not include "jobs/broker.h"'),
    ("includes", "src/jobs/core/state.c", "top", "#include <weir/consumer.h>", "part jobs/core may not include <weir/consumer.h>"),
    ("includes", "src/pool/run.c", "top", "#include <weir/broker.h>", "is of room jobs"),
    ("includes", "src/pool/run.c", "top", '#include "flight.h"', "is not named by its room"),
    ("includes", "src/pool/run.c", "top", '#include "pool/none.h"', 'there is no "pool/none.h"'),
    ("includes", "src/pool/run.c", "end", "int f(void) { return pthread_self() != 0; }", "pthread_self() is called"),
    ("includes", "src/jobs/sqlite/url.c", "end", "long f(void) { return time (0); }", "time() is called in src/base only"),
    ("includes", "include/weir/queue.h", "top", "#include <pthread.h>", "<pthread.h> is not among"),
    ("includes", "include/weir/queue.h", "top", "#include <weir/pool.h>", "<weir/pool.h> is of room pool"),
    ("includes", "include/weir/queue.h", "top", '#include "base/list.h"', "public headers include <weir/...>"),
    ("includes", "include/weir/new.h", "end", "", "belongs to no room"),
    ("sizes", "src/queue/core.c", "end", "int long_one(void)\n{\n" + "    ;\n" * 100 + "}", "the function has 102 lines"),
    ("sizes", "src/queue/core.c", "end", "\n" * 600, "the file has"),
    ("budgets", "src/queue/core.c", "end", "\n" * 600, "src/queue has"),
    ("budgets", "tools/budgets.txt", "replace", ("src/view               900", "src/view               900   2000"),
     "the ceiling of src/view is 2000, and it has"),
    ("budgets", "tools/budgets.txt", "replace", ("src/view", "# src/view"), "src/view has no budget"),
    ("budgets", "tools/budgets.txt", "end", "src/none 10", "there is no folder src/none"),
    ("budgets", "tools/budgets.txt", "end", "src/view many", "not understood: src/view many"),
    ("text", "src/queue/core.c", "end", "int a; ", "space at the end of the line"),
    ("text", "src/queue/core.c", "end", "\tint a;", "tab"),
    ("text", "src/queue/core.c", "end", "int a;\r", "carriage return"),
    ("text", "src/queue/core.c", "end", f"/* {LATER} */", "a note to do something later"),
    ("text", "src/queue/core.c", "end", f'char *a = "{HOME}/x";', "the absolute path of one machine"),
    ("text", "src/queue/new.c", "end", "int a;", "does not start with the licence head"),
    ("text", "tools/new.sh", "end", "#!/bin/sh", "has no licence head"),
    ("text", "README.md", "end", "[x](docs/none.md)", "the link leads nowhere"),
    ("text", "README.md", "end", "word " * 24 + "w", "the line has 121 columns"),
    ("dashboards", "packaging/prometheus/weir.rules.yml", "replace", ("expr: weir_node_up", "expr: weir_node_down"),
     "there is no metric weir_node_down"),
    ("dashboards", "packaging/prometheus/weir.rules.yml", "replace", ('{event="done"}', '{tube="done"}'),
     "weir_jobs_total has no label tube"),
    ("dashboards", "packaging/grafana/weir-jobs.json", "replace", ('state=\\"delayed\\"', 'state=\\"late\\"'),
     "state is never late"),
    ("locks", "src/queue/limiter.h", "end", "struct new_one {\n    struct weiri_mutex mutex;\n};", "new_one.mutex is not in the table"),
    ("locks", "docs/internals/locking.md", "replace", ("| 2 | `weir_pool.mutex`", "| 2 | `weir_pond.mutex`"),
     "there is no lock weir_pond.mutex"),
    ("names", "docs/migration-client-go.md", "replace", ("weir_queue_cancel", "weir_queue_recall"), "there is no weir_queue_recall"),
    ("names", "README.md", "end", "WEIR_EVERYTHING", "there is no WEIR_EVERYTHING"),
    ("names", "ARCHITECTURE.md", "end", "`weiri_none()`", "there is no weiri_none"),
    ("names", "ARCHITECTURE.md", "end", "`src/queue/none.c`", "there is no file src/queue/none.c"),
    ("names", "man/weir.7", "end", ".Fn weir_queue_recall", "there is no weir_queue_recall"),
    ("options", "src/cli/worker.c", "replace", ("case WORKER_VERBOSE:", "default:"), "takes an option without a case for another"),
    ("options", "src/cli/ls.c", "replace", ("switch ((enum ls_option)option)", "switch (option)"), "that is not of its enum"),
    ("options", "src/cli/pause.c", "replace", ('    OPTION_VALUE("until"', '    OPTION_FLAG("x", 0, OPTION_X, ""),\n    OPTION_VALUE("until"'),
     "a reader that does not ask which of 2 options"),
    ("options", "src/cli/why.c", "replace", ('    OPTION_FLAG("json"', '    OPTION_FLAG("x", 0, OPTION_X, ""),\n    OPTION_FLAG("json"'),
     "option_flag reads 2 options"),
    ("names", "man/weir.7", "replace", (".Fn weir_queue_len ,\n", ""), "man/weir.7 does not name weir_queue_len"),
    ("fields", "include/weir/broker.h", "replace", ("const char *group;", "const char *grp;"), "group: struct weir_put_options has no"),
    ("fields", "include/weir/job.h", "replace", ("const char *group;", "const char *grp;"), "group: struct weir_job has no such member"),
    ("fields", "include/weir/job.h", "replace", ("#define WEIR_GROUP_SIZE_MAX ", "#define WEIR_GROUP_MAX "), "group: there is no WEIR_GROUP_SIZE_MAX"),
    ("fields", "include/weir/feature.h", "replace", ("X(GROUPS,", "X(GROUP,"), "group: there is no WEIR_CAN_GROUPS"),
    ("fields", "src/cli/put.c", "replace", ('OPTION_VALUE("group"', 'OPTION_VALUE("set"'), "group: `weir put` has no --group"),
    ("fields", "man/weir.1", "replace", (".It Fl -group Ns", ".It Fl -set Ns"), "group: --group is not described"),
    ("fields", "man/weir.1", "replace", (".It Ev WEIR_GROUP\n", ".It Ev WEIR_SET\n"), "group: WEIR_GROUP is not described"),
    ("fields", "man/weir.1", "replace", (".Ql group ", ".Ql set "), "group: group is not among the members of --json"),
    ("fields", "src/http/openapi.json", "replace", ('"group": {"type": "string", "description"', '"set": {"type": "string", "description"'),
     "group: a put has no member group"),
    ("fields", "src/http/openapi.json", "replace", ('"group": {"type": "string"},', '"set": {"type": "string"},'), "group: a job has no member group"),
    ("fields", "docs/http-api.md", "replace", ("`group`, ", ""), "group: `group` is not among the members of a put"),
    ("fields", "src/jobs/core/fields.h", "replace", ("X(group, WORD,", "Y(group, WORD,"), "WEIRI_WORD_FIELDS: has no rows"),
    ("fields", "src/jobs/core/fields.h", "replace", ("X(group, WORD,", "X(trace, WORD,"), "trace: struct weir_put_options has no"),
    ("fields", "src/jobs/core/fields.c", "replace", ("WEIRI_JOB_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_JOB_FIELDS: is not named here"),
    ("fields", "src/jobs/core/fields.c", "replace", ("WEIRI_TEXT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TEXT_FIELDS: is not named here"),
    ("fields", "src/jobs/core/fields.c", "replace", ("WEIRI_PUT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_PUT_FIELDS: is not named here"),
    ("fields", "src/jobs/put_options.c", "replace", ("WEIRI_UNIQUE_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_UNIQUE_FIELDS: is not named here"),
    ("fields", "src/jobs/put_options.c", "replace", ("WEIRI_NUMBER_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_NUMBER_FIELDS: is not named here"),
    ("fields", "src/jobs/core/backend.h", "replace", ("WEIRI_TEXT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TEXT_FIELDS: is not named here"),
    ("fields", "src/jobs/core/backend.h", "replace", ("WEIRI_PUT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_PUT_FIELDS: is not named here"),
    ("fields", "src/jobs/core/move.c", "replace", ("WEIRI_KEPT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_KEPT_FIELDS: is not named here"),
    ("fields", "src/jobs/core/move.c", "replace", ("WEIRI_NUMBER_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_NUMBER_FIELDS: is not named here"),
    ("fields", "src/jobs/core/reservation.c", "replace", ("WEIRI_TEXT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TEXT_FIELDS: is not named here"),
    ("fields", "src/jobs/put_options.c", "replace", ("WEIRI_JOB_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_JOB_FIELDS: is not named here"),
    ("fields", "src/jobs/put_options.c", "replace", ("WEIRI_PUT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_PUT_FIELDS: is not named here"),
    ("fields", "src/jobs/producer.c", "replace", ("WEIRI_KEPT_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_KEPT_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/body.c", "replace", ("WEIRI_TOLD_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TOLD_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/body.h", "replace", ("WEIRI_TOLD_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TOLD_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/connection.h", "replace", ("WEIRI_ROW_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_ROW_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/copy.c", "replace", ("WEIRI_WORD_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_WORD_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/copy.c", "replace", ("WEIRI_TOLD_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_TOLD_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/schema.c", "replace", ("WEIRI_ROW_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_ROW_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/statements.h", "replace", ("WEIRI_WORD_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_WORD_FIELDS: is not named here"),
    ("fields", "src/jobs/sqlite/statements.h", "replace", ("WEIRI_ROW_FIELDS", "WEIRI_NO_FIELDS"), "WEIRI_ROW_FIELDS: is not named here"),
    ("fields", "src/http/put.c", "replace", ("weir_job_fields()", "fields()"), "weir_job_fields(): is not gone through here"),
    ("fields", "src/view/json.c", "replace", ("weir_job_fields()", "fields()"), "weir_job_fields(): is not gone through here"),
    ("fields", "src/cli/environment.c", "replace", ("weir_job_fields()", "fields()"), "weir_job_fields(): is not gone through here"),
    ("names", "include/weir/version.h", "end", "struct weir_none {\n    int none;\n};", "man/weir.7 does not name weir_none"),
    ("ownership", "include/weir/queue.h", "replace", ("Passed to touch; borrowed until free.", "Passed to touch."),
     "void *touch_arg of weir_queue_options: expected"),
    ("bad_input", "include/weir/queue.h", "end", "/** Doc. */\nWEIR_API void weir_queue_none(weir_queue *queue, int64_t at_ns);",
     "weir_queue_none: no row for at_ns: most"),
    ("bad_input", "include/weir/queue.h", "replace", ("int64_t aging_ns; /**<", "int64_t aging_ns; int64_t other_ns; /**<"),
     "weir_queue_new: no row for options: other_ns"),
    ("bad_input", "include/weir/queue.h", "replace", ("Errors: WEIR_ETIMEDOUT (nothing is queued, and\n * the time has passed or is 0), ", "Errors: "),
     "weir_queue_get: a row produces WEIR_ETIMEDOUT"),
    ("bad_input", "include/weir/queue.h", "replace", ("Errors: WEIR_ETIMEDOUT (nothing is queued, and\n * the time has passed or is 0), ", "Errors: WEIR_ETIMEDOUT, WEIR_EIO, "),
     "weir_queue_get: its comment names WEIR_EIO"),
    ("bad_input", "tests/conformance/bad_get_test.c", "end", "ROW(weir_queue_get, none, null, WEIR_EINVAL)",
     "weir_queue_get has no parameter none"),
    ("bad_input", "tests/conformance/bad_get_test.c", "end", "ROW(weir_none, queue, null, WEIR_EINVAL)", "rows are of weir_none"),
    ("bad_input", "include/weir/pool.h", "end", "/** Doc. */\nWEIR_API void weir_pool_none(weir_pool *pool);",
     "weir_pool_none: no row for pool: null"),
    ("bad_input", "include/weir/lifecycle.h", "end", "/** Doc. */\nWEIR_API enum weir_status weir_pool_none(weir_pool *pool);",
     "weir_pool_none: its comment names WEIR_EFORKED"),
    ("bad_input", "include/weir/new.h", "end", "/** Doc. */\nWEIR_API enum weir_status weir_none(uint32_t flags);",
     "weir_none: no row for flags: most"),
    ("bad_input", "include/weir/schedule.h", "replace", ("int64_t tolerance_ns;", "int64_t tolerance_ns; int64_t other_ns;"),
     "weir_envelope_new: no row for options: schedule_other_ns"),
    ("bad_input", "tests/conformance/bad_pool_test.c", "replace", ("ROW(function, pool, own_task, ", "ROW(function, pool, own, "),
     "weir_pool_state: no row for pool: own_task"),
    ("bad_input", "tests/conformance/bad_pool_test.c", "replace", ("ROW(weir_pool_free, pool, own_task", "X(weir_pool_free, pool, own"),
     "weir_pool_free: no row for pool: own_task"),
    ("bad_input", "tests/conformance/bad_scope_test.c", "replace", ("ROW(weir_scope_cancel, scope, forked", "ROW(weir_scope_cancel, scope, x"),
     "weir_scope_cancel: no row for scope: forked"),
    ("bad_input", "include/weir/broker.h", "end", "/** Doc. */\nWEIR_API enum weir_status weir_broker_none(weir_broker *broker, struct weir_error *ret_error);",
     "weir_broker_none: no row for broker: forked"),
    ("bad_input", "include/weir/broker.h", "replace", ("int64_t delay_ns;", "int64_t delay_ns; int64_t other_ns;"),
     "weir_broker_put: no row for options: other_ns"),
    ("conformance", "docs/conformance.md", "end", "| a |\n|---|\n| `table:none` |", "table has no case none"),
    ("conformance", "docs/conformance.md", "end", "| a |\n|---|\n| `none:add_idle` |", "there is no suite none"),
    ("conformance", "docs/conformance.md", "replace", ("| `table:add_queued` |", "| |"), "the row names no test"),
    ("conformance", "docs/conformance.md", "replace", ("`metrics:depth`", "`metrics:text`"), "no test of the row runs for keys"),
    ("conformance", "docs/conformance.md", "replace", ("| TestLen |", "| TestCap |"), "len is not named after TestCap"),
    ("conformance", "docs/conformance.md", "replace", ("| no groups (`WEIR_CAN_GROUPS`) |", "| |"),
     "a cluster has no WEIR_CAN_GROUPS"),
    ("conformance", "docs/conformance.md", "replace", ("no change of tube (`", "no change of tube (`WEIR_CAN_NODES`, `"),
     "no case of the row asks for WEIR_CAN_NODES"),
    ("conformance", "src/jobs/beanstalkd/cluster.c", "replace", (".can = WEIRI_CAN(NODES)", ".can = WEIRI_CAN(LIST)"),
     "no case of the row asks for WEIR_CAN_LIST, or a cluster has it"),
    ("conformance", "docs/conformance.md", "replace", ("| TestQueue | Different", "| TestQueue | Indifferent"),
     'not the case of "TestQueue: Indifferent start and stop queue options"'),
    ("conformance", "docs/conformance.md", "replace", ("| R5 |", "| R20 |"), "no title of a case names R20"),
    ("conformance", "tests/conformance/rate_envelope_queue_test.c", "end", 'TEST(none, "TestQueue: none")\n{\n}\n',
     "rate_envelope_queue:none stands for no scenario"),
    ("conformance", "tests/conformance/table_test.c", "replace", ("TEST_EACH(add_idle,", "TEST_EACH(add_idler,"),
     "table has no case add_idle"),
    ("plants", "src/queue/shutdown.c", "replace", ("weiri_core_drop_waiting(", "weiri_core_drop_some("), "has these lines 0 times"),
    ("plants", "tests/schedules/plants.txt", "end", "\nbug new: nothing\ntest queue none\n", "queue_test.c has no test none"),
    ("plants", "tests/models/plants.txt", "end", "\nbug new: nothing\ntest jobs.core.state none\n", "src/jobs/core/state_test.c has no test none"),
    ("plants", "tests/schedules/plants.txt", "end", "nonsense", "not understood: nonsense"),
    ("readme", "README.md", "replace", ("weir_queue_free(queue);", ""), "the code block is not the text of"),
    ("readme", "README.md", "replace", ("<!-- examples/shell.sh -->", ""), "has no sh example"),
    ("readme", "README.md", "end", "<!-- examples/hello_queue.c -->", "has no code block after it"),
    ("readme", "README.md", "end", "```c\nweir_queue_add(queue, 1);\n```", "the code block does not compile"),
    ("readme", "README.md", "end", "```c\nint f(void)\n{\n    g();\n}\n```", "the code block does not compile"),
    ("readme", "README.md", "replace", ("| schedules | yes | no |", "| schedules | yes | yes |"), "has no row: | schedules"),
    ("readme", "src/jobs/beanstalkd/cluster.c", "replace", ("WEIRI_CAN(NODES)", "0"), "has no row: | servers | no | no |"),
    ("readme", "man/weir.7", "replace", ("weir_queue_free(queue);", ""), "the code block is not the text of"),
    ("readme", "man/weir.7", "replace", ('.\\" examples/retry_loop.c', ""), "the literal text is not marked"),
    ("readme", "man/weir.7", "replace", ('.\\" examples/retry_loop.c', ""), "has no c example"),
    ("readme", "man/weir.7", "end", '.\\" examples/hello_queue.c', "has no code block after it"),
    ("readme", "man/weir.7", "end", ".Fn weir_queue_none", "no public header has weir_queue_none"),
    ("readme", "man/weir.7", "end", ".Dv WEIR_ENONE", "no public header has WEIR_ENONE"),
    ("readme", "man/weir.7", "end", ".Fa none_ns", "no public header has none_ns"),
    ("readme", "man/weir.7", "end", ".In weir/none.h", "no public header has weir/none.h"),
]
SYMBOL_FAULTS = [
    ("include/weir/queue.h", "end", "/** Doc. */\nWEIR_API void weir_queue_none(void);", "is exported by 0 of the libraries"),
    ("include/weir/queue.h", "end", "/** Doc. */\nWEIR_API void weir_queue_none(void);", "no test calls weir_queue_none"),
    ("include/weir/queue.h", "end", "WEIR_API void weir_queue_none(void);", "has no comment right above it"),
    ("include/weir/queue.h", "replace", ("WEIR_API size_t weir_queue_len", "size_t weir_queue_len"),
     "exports weir_queue_len, which no public header declares"),
]
# Of check_coverage.py: the row of docs/coverage.md, if any, how often a line was reached and how often each side of its
# branches, and what the check must say; with a status of 0: that it finds nothing.
COVERED = "int covered(void)\n{\n    return 1;\n}\n"
UNREACHED = "| `src/queue/covered.c` | `covered` | `return 1;` | never |\n"
COVERAGE_FAULTS = [
    ("", 0, [], 1, "no test reaches this line of covered(): return 1;"),
    (UNREACHED, 0, [], 0, "every line is reached or listed"),
    (UNREACHED, 1, [], 1, "there is no such line, or a test reaches it: return 1;"),
    (UNREACHED.replace("never", "by chance"), 1, [], 0, "every line is reached or listed"),
    (UNREACHED.replace("| never", ""), 0, [], 1, "not understood"),
    ("", 1, [1] * 94 + [0] * 6, 1, "only 94.0 % of the branches are reached"),
    ("", 1, [1] * 95 + [0] * 5, 0, "branches 95.0 % (95 of 100)"),
]


def plant(tree, name, place, text):
    """Changes a file of the tree; returns what puts it back."""
    path = tree / name
    before = path.read_bytes() if path.exists() else None
    old = before.decode() if before else ""
    if place == "replace":
        assert text[0] in old, f"{name} does not hold {text[0]}"
        new = old.replace(text[0], text[1])
    elif place == "top":
        lines = old.split("\n")
        new = "\n".join(lines[:2] + [text] + lines[2:])
    else:
        new = old + text + "\n"
    path.write_bytes(new.encode())
    return lambda: path.write_bytes(before) if before is not None else path.unlink()


def run(tree, check, arguments=()):
    command = [str(tree / "tools" / f"check_{check}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def coverage_failures(tree):
    """How many of COVERAGE_FAULTS check_coverage.py does not find."""
    failures = 0
    (tree / "src/queue/covered.c").write_text("/* One.\n * Two. */\n" + COVERED, encoding="utf-8")
    for row, count, branches, wanted, expected in COVERAGE_FAULTS:
        (tree / "docs/coverage.md").write_text(row, encoding="utf-8")
        lines = [{"line_number": 3, "count": 1, "branches": [{"count": 1}] * 100 if not branches else []},
                 {"line_number": 5, "count": count, "branches": [{"count": taken} for taken in branches]}]
        report = tree / "report.json"
        report.write_text(json.dumps({"files": [{"file": "src/queue/covered.c", "lines": lines}]}), encoding="utf-8")
        status, output = run(tree, "coverage", [str(report)])
        if status != wanted or expected not in output:
            failures += 1
            print(f"check_coverage.py does not say '{expected}'; status {status}:\n{output}")
    return failures


def main():
    libraries = [str(Path(name).resolve()) for name in sys.argv[1:]]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "build", "__pycache__"))
        rows = [(check, (), *rest) for check, *rest in FAULTS]
        if libraries:
            rows += [("symbols", libraries, *rest) for rest in SYMBOL_FAULTS]
        for check, arguments, name, place, text, expected in rows:
            restore = plant(tree, name, place, text)
            status, output = run(tree, check, arguments)
            restore()
            if status != 1 or expected not in output:
                failures += 1
                print(f"check_{check}.py does not say '{expected}' of {name}; status {status}:\n{output}")
        failures += coverage_failures(tree)
        print(f"{len(rows) + len(COVERAGE_FAULTS) - failures} passed, {failures} failed, 0 skipped")
    return 1 if failures else 0


sys.exit(main())
