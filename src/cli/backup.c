/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include <weir/admin.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"

static int back_up(struct arguments *arguments, void *arg)
{
    struct store store;
    struct weir_error error = {0};
    const char *path = arguments->operands[0];
    (void)arg;
    int code = store_open(&store, arguments, STORE_READ);
    if (code == EX_OK) {
        enum weir_status status = weir_broker_backup(store.broker, path, &error);
        if (status == WEIR_EINVAL) {
            code = report(EX_USAGE, "file: %s", error.text);
        } else if (status == WEIR_EBUSY || status == WEIR_ENOTFOUND) {
            code = report(EX_CANTCREAT, "file: %s", error.text);
        } else if (status != WEIR_OK) {
            code = report_status(status, quote(path).text, &error);
        }
    }
    store_close(&store);
    return code;
}

static int run_backup(const struct command *command, int argc, char **argv)
{
    return arguments_run(command, argc, argv, NULL, back_up, NULL);
}

const struct command command_backup = {
    .name = "backup",
    .operands = "FILE",
    .names = {"file"},
    .summary = "copy a store, which may be in use, to a new file",
    .examples = "  weir backup /backup/jobs.db\n",
    .options = NULL,
    .run = run_backup,
};
