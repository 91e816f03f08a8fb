/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/duration.h>

#include "cli/matching.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/work_tubes.h"

enum kick_option {
    OPTION_DEAD = OPTION_OWN,
    OPTION_FORCE,
    OPTION_JSON,
    OPTION_LIMIT,
    OPTION_RATE,
    OPTION_RETRIES
};

static const struct poptOption kick_options[] = {
    MATCHING_OPTIONS,
    OPTION_VALUE("limit", 'n', OPTION_LIMIT, "Of a tube at most so many jobs, the first ones", "N"),
    OPTION_FLAG("retries", '\0', OPTION_RETRIES, "Instead those that wait after a failed run"),
    OPTION_VALUE("rate", '\0', OPTION_RATE, "Spread their run times, as 100/s or 5/m", "RATE"),
    OPTION_FLAG("dead", '\0', OPTION_DEAD, "Instead those whose workers are known not to live"),
    OPTION_FLAG("force", '\0', OPTION_FORCE, "By id: take it back though its worker may live"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object instead of words"),
    POPT_TABLEEND,
};

struct kick {
    struct matching matching;
    double rate; /* A second; 0: all at once. */
    bool retries;
    bool dead;
    bool force;
    bool json;
};

/* One that waits for a retry waits no longer than this, as a rule. */
#define RETRY_MOST WEIR_SECONDS(86400)

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct kick *kick = arg;
    switch ((enum kick_option)option) {
    case OPTION_LIMIT:
        return read_number(name, text, 1, INT32_MAX, &kick->matching.limit);
    case OPTION_RATE:
        return read_rate(name, text, &kick->rate);
    case OPTION_RETRIES:
        kick->retries = true;
        return EX_OK;
    case OPTION_DEAD:
        kick->dead = true;
        return EX_OK;
    case OPTION_FORCE:
        kick->force = true;
        return EX_OK;
    case OPTION_JSON:
        kick->json = true;
        return EX_OK;
    }
    return matching_set(&kick->matching, option, name, text);
}

/* Whether something says which jobs of a tube. */
static bool is_for_tube(const struct kick *kick)
{
    return kick->matching.dry_run || kick->matching.limit > 0 || kick->retries || kick->rate > 0 ||
           !matching_is_of_all(&kick->matching.filter);
}

/* The operands are ids, or one is a tube. */
static int sort_operands(struct kick *kick, const struct arguments *arguments)
{
    struct weir_job_filter *filter = &kick->matching.filter;
    size_t ids = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        ids += ids_is_one(arguments->operands[i]);
    }
    if (arguments->count == 0) {
        return filter->tube != NULL || kick->dead
                   ? EX_OK
                   : report(EX_USAGE, "no tube; expected %s", arguments->command->operands);
    }
    const char *last = arguments->operands[arguments->count - 1];
    if (ids == 0 && arguments->count == 1 && filter->tube == NULL) {
        filter->tube = last;
        return read_tube(last);
    }
    return ids == arguments->count && filter->tube == NULL && !kick->dead && !is_for_tube(kick)
               ? EX_OK
               : report(EX_USAGE,
                        "%s: expected ids alone, or one tube; a count is --limit N, a tube whose "
                        "name is a number --tube NAME",
                        quote(last).text);
}

/* What is not known to be wanted is asked, or said. */
static int agree(const struct kick *kick, const char *option, const char *question)
{
    if (kick->matching.yes) {
        return EX_OK;
    }
    if (isatty(STDIN_FILENO) != 1) {
        return report(EX_USAGE, "%s: no terminal to ask on; expected --yes", option);
    }
    return question == NULL || report_agreed(question) ? EX_OK
                                                       : report(EX_TEMPFAIL, "nothing was kicked");
}

static int kick_ids(const struct kick *kick, const struct arguments *arguments)
{
    const struct ids_verb verb = {
        .change = {.kind = WEIR_CHANGE_KICK,
                   .states = IDS_BURIED | 1U << WEIR_JOB_DELAYED,
                   .is_forced = kick->force},
        .done = "kicked",
        .expected = "a job that is buried or delayed",
        .busy = "; `weir cancel --retry` ends its run, --force takes it while that may go on",
        .takes_back = true};
    int code =
        kick->force ? agree(kick, "--force", "take them from workers that nothing stops?") : EX_OK;
    return code == EX_OK ? ids_change(arguments, &verb, kick->json) : code;
}

static int kick_dead(const struct kick *kick, const struct arguments *arguments)
{
    static const struct ids_verb verb = {
        .change = {.kind = WEIR_CHANGE_KICK, .states = IDS_RESERVED},
        .plain = "take back",
        .done = "took back",
        .states = IDS_RESERVED,
        .left = "are reserved by workers that live, or of which it is not known"};
    struct matching matching = kick->matching;
    matching.filter.state = WEIR_JOB_RESERVED;
    return matching_apply(&matching, arguments, &verb, kick->json);
}

/* Those of a tube that match. */
static int kick_some(const struct kick *kick, const struct arguments *arguments)
{
    struct matching matching = kick->matching;
    struct weir_job_filter *filter = &matching.filter;
    bool is_delayed = kick->retries || filter->state == WEIR_JOB_DELAYED;
    struct ids_verb verb = {.change = {.kind = WEIR_CHANGE_KICK},
                            .plain = "kick",
                            .done = "kicked",
                            .states = is_delayed ? 1U << WEIR_JOB_DELAYED : IDS_BURIED,
                            .expected = "a job that is buried or delayed",
                            .left = "are for a later time than that, and stay"};
    if (kick->retries) {
        filter->state = filter->state == 0 ? WEIR_JOB_DELAYED : filter->state;
        filter->attempts_min = filter->attempts_min == 0 ? 1 : filter->attempts_min;
        matching.until_ns = matching.yes ? 0 : moment_now() + RETRY_MOST;
        verb.expected = "a job that is delayed";
        verb.left = "are for more than a day from now, and stay; --yes runs them too";
    }
    int code = matching_check_state(&matching, &verb);
    matching.asks_of_time = is_delayed && !kick->retries;
    if (code == EX_OK && matching.asks_of_time && !matching.dry_run) {
        code = agree(kick, "--state delayed", NULL);
    }
    verb.change.states = is_delayed ? verb.states : 0;
    if (kick->rate > 0) {
        verb.change.start_ns = moment_now();
        double apart_ns = 1e9 / kick->rate; /* of the smallest rates an endless time */
        verb.change.interval_ns = apart_ns < 1e17 ? (int64_t)apart_ns : (int64_t)1e17;
    }
    return code == EX_OK ? matching_apply(&matching, arguments, &verb, kick->json) : code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct kick *kick = arg;
    int code = sort_operands(kick, arguments);
    bool is_of_ids = kick->matching.filter.tube == NULL && !kick->dead;
    if (code == EX_OK && kick->force && !is_of_ids) {
        code = report(EX_USAGE, "--force: beside a tube; expected ids");
    }
    if (code == EX_OK && kick->dead && is_for_tube(kick)) {
        code = report(EX_USAGE, "--dead: beside other choices; expected a tube, or nothing");
    }
    if (code != EX_OK || is_of_ids) {
        return code != EX_OK ? code : kick_ids(kick, arguments);
    }
    return kick->dead ? kick_dead(kick, arguments) : kick_some(kick, arguments);
}

const struct command command_kick = {
    .name = "kick",
    .operands = "TUBE | --tube TUBE | ID...",
    .summary = "run jobs now: buried ones, retries, those of dead workers",
    .examples = "  weir kick img              all of the tube\n"
                "  weir kick --limit 10 img   the ten that were put first\n"
                "  weir kick 17 18\n"
                "  weir kick img --text 'timed out'\n"
                "  weir kick --retries --rate 100/s img\n"
                "  weir kick --dead\n",
    .options = kick_options,
    .set = set_option,
    .act = act,
    .state = &(struct kick){.matching = {.filter = {0}}},
};
