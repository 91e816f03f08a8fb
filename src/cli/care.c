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

/* `backup`, `repair` and `shrink`: care of a store as a whole. */

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption care_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

/* Does it with the store. Returns 0 or an exit status. */
typedef int care_fn(weir_broker *broker, const char *path, bool json);

struct care {
    bool json; /* the first member: option_flag() */
    enum store_use use;
    care_fn *fn;
};

static int act(struct arguments *arguments, void *arg)
{
    const struct care *care = arg;
    struct store store;
    int code = store_open(&store, arguments, care->use);
    const char *path = arguments->count > 0 ? arguments->operands[0] : NULL;
    code = code == EX_OK ? care->fn(store.broker, path, care->json) : code;
    store_close(&store);
    return code;
}

static int back_up(weir_broker *broker, const char *path, bool json)
{
    struct weir_error error = {0};
    (void)json;
    enum weir_status status = weir_broker_backup(broker, path, &error);
    return status == WEIR_OK       ? EX_OK
           : status == WEIR_EINVAL ? report(EX_USAGE, "file: %s", error.text)
           : status == WEIR_EBUSY || status == WEIR_ENOTFOUND
               ? report(EX_CANTCREAT, "file: %s", error.text)
               : report_status(status, quote(path).text, &error);
}

static int repair(weir_broker *broker, const char *path, bool json)
{
    struct weir_error error = {0};
    struct weir_repair_counts counts = {0, 0, 0};
    (void)path;
    enum weir_status status = weir_broker_repair(broker, &counts, &error);
    if (status != WEIR_OK) {
        return report_status(status, "repair", &error);
    }
    bool printed = json ? table_print_json(json_pack(
                              "{s:I, s:I, s:I}", "jobs", (json_int_t)counts.jobs, "damaged",
                              (json_int_t)counts.damaged, "orphans", (json_int_t)counts.orphans))
                        : printf("%" PRIu64 " jobs, %" PRIu64 " damaged, %" PRIu64
                                 " pieces of no job deleted; all indexes and counts are new\n",
                                 counts.jobs, counts.damaged, counts.orphans) >= 0;
    return printed ? EX_OK : table_refuse();
}

static int shrink(weir_broker *broker, const char *path, bool json)
{
    struct weir_error error = {0};
    uint64_t before = 0;
    uint64_t after = 0;
    (void)path;
    enum weir_status status = weir_broker_shrink(broker, &before, &after, &error);
    if (status != WEIR_OK) {
        return report_status(status, "shrink", &error);
    }
    bool printed = json ? table_print_json(json_pack("{s:I, s:I}", "before", (json_int_t)before,
                                                     "after", (json_int_t)after))
                        : printf("%" PRIu64 " bytes, before %" PRIu64 "\n", after, before) >= 0;
    return printed ? EX_OK : table_refuse();
}

const struct command command_backup = {
    .name = "backup",
    .operands = "FILE",
    .names = {"file"},
    .summary = "copy a store, which may be in use, to a new file",
    .examples = "  weir backup /backup/jobs.db\n",
    .options = NULL,
    .set = option_flag,
    .act = act,
    .state = &(struct care){.use = STORE_READ, .fn = back_up},
};

const struct command command_repair = {
    .name = "repair",
    .operands = "",
    .summary = "make indexes and counts of a store anew, bury jobs with damaged bodies",
    .examples = "  weir repair -b sqlite:jobs.db   after `weir doctor` found damage\n",
    .options = care_options,
    .set = option_flag,
    .act = act,
    .state = &(struct care){.use = STORE_ALTER, .fn = repair},
};

const struct command command_shrink = {
    .name = "shrink",
    .operands = "",
    .summary = "give the space of deleted jobs back to the disk",
    .examples = "  weir shrink -b sqlite:jobs.db\n",
    .options = care_options,
    .set = option_flag,
    .act = act,
    .state = &(struct care){.use = STORE_ALTER, .fn = shrink},
};
