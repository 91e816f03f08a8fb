/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include <jansson.h>

#include <weir/admin.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption shrink_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

static int shrink(struct arguments *arguments, void *arg)
{
    bool json = *(const bool *)arg;
    struct store store;
    struct weir_error error = {0};
    uint64_t before = 0;
    uint64_t after = 0;
    int code = store_open(&store, arguments, STORE_ALTER);
    if (code == EX_OK) {
        enum weir_status status = weir_broker_shrink(store.broker, &before, &after, &error);
        code = status == WEIR_OK ? EX_OK : report_status(status, "shrink", &error);
    }
    if (code == EX_OK) {
        bool printed = json ? table_print_json(json_pack("{s:I, s:I}", "before", (json_int_t)before,
                                                         "after", (json_int_t)after))
                            : printf("%" PRIu64 " bytes, before %" PRIu64 "\n", after, before) >= 0;
        code = printed ? EX_OK : table_refuse();
    }
    store_close(&store);
    return code;
}

static int run_shrink(const struct command *command, int argc, char **argv)
{
    bool json = false;
    return arguments_run(command, argc, argv, option_flag, shrink, &json);
}

const struct command command_shrink = {
    .name = "shrink",
    .operands = "",
    .summary = "give the space of deleted jobs back to the disk",
    .examples = "  weir shrink -b sqlite:jobs.db\n",
    .options = shrink_options,
    .run = run_shrink,
};
