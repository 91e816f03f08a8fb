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

static const struct poptOption repair_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

static bool print(const struct weir_repair_counts *counts, bool json)
{
    if (json) {
        return table_print_json(json_pack("{s:I, s:I, s:I}", "jobs", (json_int_t)counts->jobs,
                                          "damaged", (json_int_t)counts->damaged, "orphans",
                                          (json_int_t)counts->orphans));
    }
    return printf("%" PRIu64 " jobs, %" PRIu64 " damaged, %" PRIu64
                  " pieces of no job deleted; all indexes and counts are new\n",
                  counts->jobs, counts->damaged, counts->orphans) >= 0;
}

static int repair(struct arguments *arguments, void *arg)
{
    bool json = *(const bool *)arg;
    struct store store;
    struct weir_error error = {0};
    struct weir_repair_counts counts = {0, 0, 0};
    int code = store_open(&store, arguments, STORE_ALTER);
    if (code == EX_OK) {
        enum weir_status status = weir_broker_repair(store.broker, &counts, &error);
        code = status == WEIR_OK ? (print(&counts, json) ? EX_OK : table_refuse())
                                 : report_status(status, "repair", &error);
    }
    store_close(&store);
    return code;
}

static int run_repair(const struct command *command, int argc, char **argv)
{
    bool json = false;
    return arguments_run(command, argc, argv, option_flag, repair, &json);
}

const struct command command_repair = {
    .name = "repair",
    .operands = "",
    .summary = "make indexes and counts of a store anew, bury jobs with damaged bodies",
    .examples = "  weir repair -b sqlite:jobs.db   after `weir doctor` found damage\n",
    .options = repair_options,
    .run = run_repair,
};
