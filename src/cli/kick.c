/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include "cli/matching.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum kick_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_LIMIT
};

/* Jobs kicked in one transaction, so that others can write in between. */
#define STEP 1000

static const struct poptOption kick_options[] = {
    MATCHING_OPTIONS,
    OPTION_VALUE("limit", 'n', OPTION_LIMIT, "Of a tube at most so many jobs, the first ones", "N"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object instead of words"),
    POPT_TABLEEND,
};

struct kick {
    struct matching matching;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct kick *kick = arg;
    int64_t number = 0;
    int code = EX_OK;
    switch ((enum kick_option)option) {
    case OPTION_LIMIT:
        code = read_number(name, text, 1, INT32_MAX, &number);
        kick->matching.limit = (uint64_t)number;
        return code;
    case OPTION_JSON:
        kick->json = true;
        return EX_OK;
    }
    return matching_set(&kick->matching, option, name, text);
}

/* Kicks those that are buried now. A job that fails again meanwhile is not kicked twice. */
static int kick_tube(const struct kick *kick, weir_broker *broker)
{
    const char *tube = kick->matching.filter.tube;
    uint64_t limit = kick->matching.limit;
    struct weir_tube_counts counts = {.tube = ""};
    struct weir_error error = {0};
    enum weir_status status = weir_broker_tubes(broker, tube, store_keep_counts, &counts, &error);
    if (status == WEIR_OK && counts.tube[0] == '\0') {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    uint64_t most = limit > 0 && limit < counts.buried ? limit : counts.buried;
    uint64_t kicked = 0;
    size_t step = 1;
    size_t asked = 1;
    while (status == WEIR_OK && step == asked && kicked < most) {
        asked = most - kicked < STEP ? (size_t)(most - kicked) : STEP;
        status = weir_broker_kick(broker, tube, asked, &step, &error);
        kicked += status == WEIR_OK || status == WEIR_EUNKNOWN ? step : 0;
    }
    bool printed =
        kick->json
            ? table_print_json(json_pack("{s:s, s:I}", "tube", tube, "kicked", (json_int_t)kicked))
            : printf("kicked %" PRIu64 " %s\n", kicked, kicked == 1 ? "job" : "jobs") >= 0;
    if (status != WEIR_OK) {
        return report_status(status, quote(tube).text, &error);
    }
    return printed ? EX_OK : table_refuse();
}

/* Whether there is nothing but a tube, all of whose buried jobs are kicked. */
static bool is_plain(const struct weir_job_filter *filter)
{
    return filter->state == 0 && filter->text == NULL && filter->attempts_min == 0 &&
           filter->created_before_ns == 0;
}

/* The operands are ids, or one is a tube. */
static int sort_operands(struct kick *kick, const struct arguments *arguments)
{
    struct weir_job_filter *filter = &kick->matching.filter;
    size_t ids = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        ids += ids_is_one(arguments->operands[i]);
    }
    const char *last = arguments->count > 0 ? arguments->operands[arguments->count - 1] : "";
    const struct quoted shown = quote(last);
    if (arguments->count == 0 && filter->tube == NULL) {
        return report(EX_USAGE, "no tube; expected %s", arguments->command->operands);
    }
    if (ids > 0 && ids < arguments->count) {
        return report(EX_USAGE,
                      "%s: ids beside a tube; expected one of them. A count is --limit N, a tube "
                      "whose name is a number --tube NAME",
                      shown.text);
    }
    if (ids < arguments->count && (arguments->count > 1 || filter->tube != NULL)) {
        return report(EX_USAGE, "%s: a second tube; expected one", shown.text);
    }
    if (ids > 0 && (kick->matching.first != 0 || kick->matching.limit > 0)) {
        return report(EX_USAGE, "%s: an id beside what is for a tube; expected one of them",
                      shown.text);
    }
    if (ids < arguments->count) {
        filter->tube = last;
        return read_tube(last);
    }
    return EX_OK;
}

static int act(struct arguments *arguments, void *arg)
{
    static const struct ids_verb verb = {.change = {.kind = WEIR_CHANGE_KICK},
                                         .plain = "kick",
                                         .done = "kicked",
                                         .states = IDS_BURIED,
                                         .expected = "a buried job"};
    struct kick *kick = arg;
    struct store store = {0};
    int code = sort_operands(kick, arguments);
    if (code != EX_OK) {
        return code;
    }
    if (kick->matching.filter.tube == NULL) {
        return ids_change(arguments, &verb, kick->json);
    }
    if (kick->matching.dry_run || !is_plain(&kick->matching.filter)) {
        code = matching_check_state(&kick->matching, &verb);
        return code == EX_OK ? matching_apply(&kick->matching, arguments, &verb, kick->json) : code;
    }
    code = store_open(&store, arguments, STORE_ALTER);
    code = code == EX_OK ? kick_tube(kick, store.broker) : code;
    store_close(&store);
    return code;
}

const struct command command_kick = {
    .name = "kick",
    .operands = "TUBE | --tube TUBE | ID...",
    .summary = "run buried jobs again",
    .examples = "  weir kick img              all of the tube\n"
                "  weir kick --limit 10 img   the ten that were put first\n"
                "  weir kick 17 18\n"
                "  weir kick img --text 'timed out'\n",
    .options = kick_options,
    .set = set_option,
    .act = act,
    .state = &(struct kick){.matching = {.filter = {0}}},
};
