/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <weir/admin.h>

#include "cli/arguments.h"
#include "cli/matching.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum move_option {
    OPTION_FROM = OPTION_OWN,
    OPTION_JSON,
    OPTION_TO
};

static const struct poptOption move_options[] = {
    OPTION_VALUE("from", '\0', OPTION_FROM, "The broker to move from (default: that of --broker)",
                 "URL"),
    OPTION_VALUE("to", '\0', OPTION_TO, "The broker to move to", "URL"),
    MATCHING_FILTERS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

struct move {
    const char *from; /* URL, or NULL. */
    const char *to;   /* URL, or NULL. */
    const char *tube;
    bool json;
    struct matching matching; /* Between tubes. */
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct move *move = arg;
    switch ((enum move_option)option) {
    case OPTION_FROM:
        move->from = text;
        return EX_OK;
    case OPTION_TO:
        move->to = text;
        return EX_OK;
    case OPTION_JSON:
        move->json = true;
        return EX_OK;
    }
    return matching_set(&move->matching, option, name, text);
}

static int show_progress(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    const struct move *move = arg;
    (void)step;
    if (report_progress_due()) {
        report_progress(true, "tube %s: %" PRIu64 " jobs found", quote(move->tube).text,
                        counts->found);
    }
    return 0;
}

static bool print_ledger(const struct move *move, const struct weir_move_counts *counts)
{
    if (move->json) {
        return table_print_json(
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "tube", move->tube, "found",
                      (json_int_t)counts->found, "moved", (json_int_t)counts->moved, "repeated",
                      (json_int_t)counts->repeated, "left", (json_int_t)counts->left, "both",
                      (json_int_t)counts->both));
    }
    return printf("%s: %" PRIu64 " found, %" PRIu64 " moved, %" PRIu64 " repeated, %" PRIu64
                  " left, %" PRIu64 " in both\n",
                  move->tube, counts->found, counts->moved, counts->repeated, counts->left,
                  counts->both) >= 0;
}

static int move_tube(struct move *move, weir_broker *from, weir_broker *to)
{
    struct weir_move_counts counts = {0};
    struct weir_error error = {0};
    enum weir_status status =
        weir_broker_move(from, to, move->tube, show_progress, move, &counts, &error);
    report_progress_end();
    bool printed = print_ledger(move, &counts);
    if (status != WEIR_OK) {
        return report_status(status, quote(move->tube).text, &error);
    }
    if (!printed) {
        return table_refuse();
    }
    if (counts.left + counts.both > 0) {
        return report(EX_TEMPFAIL,
                      "%s: %" PRIu64 " in the source still; the same command tries again",
                      quote(move->tube).text, counts.left + counts.both);
    }
    return EX_OK;
}

/* Opens the source first, so that no target is made for one that is not there. */
static int run_checked(struct move *move, const struct arguments *arguments)
{
    struct store from;
    struct store to = {.url = NULL};
    int code = move->from != NULL
                   ? store_open_url(&from, arguments, move->from, "--from", STORE_ALTER)
                   : store_open(&from, arguments, STORE_ALTER);
    if (code == EX_OK && move->to != NULL && strcmp(from.url, move->to) == 0) {
        code =
            report(EX_USAGE, "--to: %s: the source; expected another broker", quote(move->to).text);
    }
    if (code == EX_OK) {
        code = store_open_url(&to, arguments, move->to, "--to", STORE_CHANGE);
    }
    if (code == EX_OK) {
        code = move_tube(move, from.broker, to.broker);
    }
    store_close(&to);
    store_close(&from);
    return code;
}

/* To another broker. */
static int move_away(struct move *move, const struct arguments *arguments)
{
    static const char *const names[] = {"tube"};
    char name[64];
    int code = arguments_expect(arguments, names, 1, 0);
    if (code == EX_OK) {
        move->tube = arguments->operands[0];
        code = read_tube(move->tube);
    }
    if (code == EX_OK && move->matching.first != 0) {
        code = report(EX_USAGE, "%s and --to: a filter is for another tube; expected one of them",
                      arguments_name(arguments, move->matching.first, name));
    }
    if (code == EX_OK && move->to == NULL) {
        code = report(EX_USAGE, "no --to; expected a broker to move to");
    }
    if (code == EX_OK && move->from != NULL && arguments->broker != NULL) {
        code = report(EX_USAGE, "--from and --broker: both given; expected one of them");
    }
    return code == EX_OK ? run_checked(move, arguments) : code;
}

/* To another tube of the same broker. */
static int move_over(struct move *move, const struct arguments *arguments)
{
    static const char *const names[] = {"tube", "tube to move to"};
    const char *to = arguments->count > 1 ? arguments->operands[1] : NULL;
    const struct ids_verb verb = {.change = {.kind = WEIR_CHANGE_MOVE, .tube = to},
                                  .plain = "move",
                                  .done = "moved",
                                  .states = IDS_AT_REST,
                                  .expected = "a job that is delayed, ready or buried"};
    int code = arguments_expect(arguments, names, 2, 0);
    for (size_t i = 0; i < 2 && code == EX_OK; i++) {
        code = read_tube(arguments->operands[i]);
    }
    if (code == EX_OK && strcmp(arguments->operands[0], to) == 0) {
        code = report(EX_USAGE, "%s: the same tube; expected another one", quote(to).text);
    }
    if (code == EX_OK) {
        code = matching_check_state(&move->matching, &verb);
    }
    move->matching.filter.tube = arguments->operands[0];
    return code == EX_OK ? matching_apply(&move->matching, arguments, &verb, move->json) : code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct move *move = arg;
    bool is_over = move->to == NULL && move->from == NULL && arguments->count > 1;
    return is_over ? move_over(move, arguments) : move_away(move, arguments);
}

const struct command command_move = {
    .name = "move",
    .operands = "FROM TO | --to URL TUBE",
    .summary = "move jobs to another tube, or a tube's jobs to another broker",
    .examples =
        "  weir move mail slow-mail --text '@example.com'   those that match\n"
        "  weir move --to 'beanstalk://a,b,c/?claims=redis://r' mail\n"
        "  weir move --from 'beanstalk://a,b,c/?claims=redis://r' --to sqlite:jobs.db mail\n",
    .options = move_options,
    .set = set_option,
    .act = act,
    .state = &(struct move){.matching = {.filter = {0}}},
};
