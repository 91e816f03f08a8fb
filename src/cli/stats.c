/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <weir/admin.h>
#include <weir/duration.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/json.h"
#include "view/timestamp.h"
#include "view/tube_number.h"

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption stats_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a tube, and a node, instead of tables"),
    POPT_TABLEEND,
};

static const struct table_column columns[] = {
    {"TUBE", false, false},    {"DELAYED", true, false}, {"READY", true, false},
    {"RESERVED", true, false}, {"BURIED", true, false},  {"PUT", true, false},
    {"DONE", true, false},     {"FAILED", true, false},  {"RETRIED", true, false},
    {"EXPIRED", true, false},  {"BURIALS", true, false}, {"PAUSED UNTIL", false, false},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static const struct table_column node_columns[] = {
    {"NODE", false, false},    {"STATE", false, false},  {"ANSWERS IN", true, false},
    {"BINLOG", false, false},  {"DELAYED", true, false}, {"READY", true, false},
    {"RESERVED", true, false}, {"BURIED", true, false},  {"VERSION", false, false},
    {"WHY", false, false},
};

#define NODE_COLUMN_COUNT (sizeof(node_columns) / sizeof(node_columns[0]))

struct stats {
    bool json;
    bool found;
    bool failed;
    bool has_nodes;
    bool has_pauses;
    struct libscols_table *table;
    struct libscols_table *nodes;
};

static void write_pause(int64_t until_ns, char text[TIMESTAMP_SIZE])
{
    if (until_ns == WEIR_FOREVER) {
        (void)strcpy(text, "resumed");
    } else {
        timestamp_write(until_ns, text);
    }
}

static bool add_row(struct libscols_table *table, const struct weir_tube_counts *counts)
{
    uint64_t numbers[TUBE_NUMBERS] = {0};
    char texts[TUBE_NUMBERS][24];
    char pause[TIMESTAMP_SIZE] = "";
    const char *cells[COLUMN_COUNT] = {counts->tube};
    tube_numbers_add(numbers, counts);
    for (size_t i = 0; i < TUBE_NUMBERS; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRIu64, numbers[i]);
        cells[i + 1] = texts[i];
    }
    if (counts->paused_until_ns != 0) {
        write_pause(counts->paused_until_ns, pause);
    }
    cells[COLUMN_COUNT - 1] = pause;
    return table_add(table, cells, COLUMN_COUNT);
}

static int show(const struct weir_tube_counts *counts, void *arg)
{
    struct stats *stats = arg;
    stats->found = true;
    stats->has_pauses = stats->has_pauses || counts->paused_until_ns != 0;
    stats->failed = stats->json ? !json_write_tube(stdout, counts) || putchar('\n') == EOF
                                : !add_row(stats->table, counts);
    return stats->failed ? 1 : 0;
}

/* --- the servers of a cluster --- */

static bool add_node(struct libscols_table *table, const struct weir_node *node)
{
    const uint64_t numbers[4] = {node->delayed, node->ready, node->reserved, node->buried};
    bool is_up = node->state != WEIR_NODE_AWAY;
    bool has_jobs = is_up && node->kind == WEIR_NODE_BEANSTALKD;
    char texts[4][24];
    char answer[32] = "";
    if (is_up) {
        (void)snprintf(answer, sizeof(answer), "%.2fms", (double)node->answer_ns / 1e6);
    }
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRIu64, numbers[i]);
    }
    char name[512];
    (void)snprintf(name, sizeof(name), "%s%s", node->kind == WEIR_NODE_REDIS ? "redis " : "",
                   node->name);
    const char *const cells[NODE_COLUMN_COUNT] = {name,
                                                  weir_node_state_name(node->state),
                                                  answer,
                                                  !has_jobs          ? ""
                                                  : node->has_binlog ? "on"
                                                                     : "off",
                                                  has_jobs ? texts[0] : "",
                                                  has_jobs ? texts[1] : "",
                                                  has_jobs ? texts[2] : "",
                                                  has_jobs ? texts[3] : "",
                                                  node->version,
                                                  node->why};
    return table_add(table, cells, NODE_COLUMN_COUNT);
}

static int show_node(const struct weir_node *node, void *arg)
{
    struct stats *stats = arg;
    stats->has_nodes = true;
    stats->failed =
        stats->json ? !table_print_json(json_of_node(node)) : !add_node(stats->nodes, node);
    return stats->failed ? 1 : 0;
}

/* Prints the servers, and a line between them and the tubes. */
static int print_nodes(struct stats *stats, weir_broker *broker)
{
    struct weir_error error = {0};
    enum weir_status status = weir_broker_nodes(broker, show_node, stats, &error);
    if (status != WEIR_OK) {
        return report_status(status, "nodes", &error);
    }
    if (stats->failed) {
        return table_refuse();
    }
    if (!stats->has_nodes || stats->json) {
        return EX_OK;
    }
    int code = table_print(stats->nodes);
    return code == EX_OK && putchar('\n') == EOF ? table_refuse() : code;
}

static int print_stats(struct stats *stats, const struct arguments *arguments, weir_broker *broker)
{
    const char *tube = arguments->count > 0 ? arguments->operands[0] : NULL;
    struct weir_error error = {0};
    int code = tube == NULL ? print_nodes(stats, broker) : EX_OK;
    if (code != EX_OK) {
        return code;
    }
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
    if (stats->json) {
        return EX_OK;
    }
    if (!stats->has_pauses) {
        table_hide_last(stats->table);
    }
    return table_print(stats->table);
}

static int act(struct arguments *arguments, void *arg)
{
    struct stats *stats = arg;
    struct store store = {0};
    int code = arguments->count > 0 ? read_tube(arguments->operands[0]) : EX_OK;
    code = code == EX_OK ? store_open(&store, arguments, STORE_READ) : code;
    if (code == EX_OK) {
        stats->table = table_new(columns, COLUMN_COUNT);
        stats->nodes = table_new(node_columns, NODE_COLUMN_COUNT);
        code = stats->table != NULL && stats->nodes != NULL
                   ? print_stats(stats, arguments, store.broker)
                   : report_status(WEIR_ENOMEM, "table", NULL);
        scols_unref_table(stats->table);
        scols_unref_table(stats->nodes);
    }
    store_close(&store);
    return code;
}

const struct command command_stats = {
    .name = "stats",
    .operands = "[TUBE]",
    .names = {"tube"},
    .optional = 1,
    .summary = "count the jobs of every tube, or of one; show the nodes of a cluster",
    .examples = "  weir stats\n"
                "  weir stats --json img | jq .buried\n",
    .options = stats_options,
    .set = option_flag,
    .act = act,
    .state = &(struct stats){.json = false},
};
