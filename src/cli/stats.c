/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include <weir/broker.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption stats_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a tube instead of a table"),
    POPT_TABLEEND,
};

static const struct table_column columns[] = {
    {"TUBE", false, false},    {"DELAYED", true, false}, {"READY", true, false},
    {"RESERVED", true, false}, {"BURIED", true, false},  {"PUT", true, false},
    {"DONE", true, false},     {"RETRIED", true, false}, {"EXPIRED", true, false},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct stats {
    bool json;
    bool found;
    bool failed;
    struct libscols_table *table;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct stats *stats = arg;
    (void)option;
    (void)name;
    (void)text;
    stats->json = true;
    return EX_OK;
}

static bool add_row(struct libscols_table *table, const struct weir_tube_counts *counts)
{
    const uint64_t numbers[COLUMN_COUNT - 1] = {counts->delayed, counts->ready,  counts->reserved,
                                                counts->buried,  counts->put,    counts->done,
                                                counts->retried, counts->expired};
    char texts[COLUMN_COUNT - 1][24];
    const char *cells[COLUMN_COUNT] = {counts->tube};
    for (size_t i = 0; i < COLUMN_COUNT - 1; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRIu64, numbers[i]);
        cells[i + 1] = texts[i];
    }
    return table_add(table, cells, COLUMN_COUNT);
}

static json_t *to_json(const struct weir_tube_counts *counts)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tube", counts->tube,
                     "delayed", (json_int_t)counts->delayed, "ready", (json_int_t)counts->ready,
                     "reserved", (json_int_t)counts->reserved, "buried", (json_int_t)counts->buried,
                     "put", (json_int_t)counts->put, "done", (json_int_t)counts->done, "retried",
                     (json_int_t)counts->retried, "expired", (json_int_t)counts->expired);
}

static int show(const struct weir_tube_counts *counts, void *arg)
{
    struct stats *stats = arg;
    stats->found = true;
    stats->failed =
        stats->json ? !table_print_json(to_json(counts)) : !add_row(stats->table, counts);
    return stats->failed ? 1 : 0;
}

static int print_stats(struct stats *stats, const struct arguments *arguments, weir_broker *broker)
{
    const char *tube = arguments->count > 0 ? arguments->operands[0] : NULL;
    struct weir_error error = {""};
    enum weir_status status = weir_broker_tubes(broker, tube, show, stats, &error);
    if (status != WEIR_OK) {
        return report_status(status, tube != NULL ? tube : "tubes", &error);
    }
    if (stats->failed) {
        return table_refuse();
    }
    if (tube != NULL && !stats->found) {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    return stats->json ? EX_OK : table_print(stats->table);
}

static int run_checked(struct stats *stats, const struct arguments *arguments)
{
    struct store store;
    int code = store_open(&store, arguments, STORE_READ);
    if (code == EX_OK) {
        stats->table = table_new(columns, COLUMN_COUNT);
        code = stats->table != NULL ? print_stats(stats, arguments, store.broker)
                                    : report_status(WEIR_ENOMEM, "table", NULL);
        scols_unref_table(stats->table);
    }
    store_close(&store);
    return code;
}

static int run_stats(const struct command *command, int argc, char **argv)
{
    static const char *const names[] = {"tube"};
    struct stats stats = {false, false, false, NULL};
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &stats);
    if (code == EX_OK && !arguments.helped) {
        code = arguments_expect(&arguments, names, 1, 1);
        if (code == EX_OK && arguments.count > 0) {
            code = read_tube(arguments.operands[0]);
        }
        if (code == EX_OK) {
            code = run_checked(&stats, &arguments);
        }
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_stats = {
    .name = "stats",
    .operands = "[TUBE]",
    .summary = "count the jobs of every tube, or of one",
    .examples = "  weir stats\n"
                "  weir stats --json img | jq .buried\n",
    .options = stats_options,
    .run = run_stats,
};
