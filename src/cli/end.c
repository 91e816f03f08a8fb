/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/matching.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "view/timestamp.h"

/* `rm`, `bury` and `cancel`: each ends jobs, by their ids or all that match. */

enum end_option {
    OPTION_BURY = OPTION_OWN,
    OPTION_JSON,
    OPTION_REASON,
    OPTION_REMOVE,
    OPTION_RETRY
};

static const struct poptOption rm_options[] = {
    MATCHING_OPTIONS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print objects instead of words"),
    POPT_TABLEEND,
};

static const struct poptOption bury_options[] = {
    MATCHING_OPTIONS,
    OPTION_VALUE("reason", '\0', OPTION_REASON,
                 "Why, as `weir ls` shows it (default: buried by hand)", "TEXT"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

static const struct poptOption cancel_options[] = {
    MATCHING_OPTIONS,
    OPTION_FLAG("bury", '\0', OPTION_BURY, "Bury it (default)"),
    OPTION_FLAG("remove", '\0', OPTION_REMOVE, "Delete it for good"),
    OPTION_FLAG("retry", '\0', OPTION_RETRY, "Run it again, as after a run that failed"),
    OPTION_VALUE("reason", '\0', OPTION_REASON,
                 "Why, as `weir ls` shows it (default: canceled by USER at TIME)", "TEXT"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

struct end {
    struct ids_verb verb;
    struct matching matching;
    bool json;
};

/* Of two verdicts none is meant more than the other. */
static int set_verdict(struct weir_change *change, const char *name, enum weir_verdict verdict)
{
    if (change->verdict != 0 && change->verdict != verdict) {
        return report(EX_USAGE,
                      "%s: a second verdict; expected one of --bury, --remove and --retry", name);
    }
    change->verdict = verdict;
    return EX_OK;
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct end *end = arg;
    switch ((enum end_option)option) {
    case OPTION_REASON:
        end->verb.change.reason = text;
        return EX_OK;
    case OPTION_JSON:
        end->json = true;
        return EX_OK;
    case OPTION_BURY:
        return set_verdict(&end->verb.change, name, WEIR_VERDICT_BURY);
    case OPTION_REMOVE:
        return set_verdict(&end->verb.change, name, WEIR_VERDICT_REMOVE);
    case OPTION_RETRY:
        return set_verdict(&end->verb.change, name, WEIR_VERDICT_RETRY);
    }
    return matching_set(&end->matching, option, name, text);
}

static int act(struct arguments *arguments, void *arg)
{
    const struct end *end = arg;
    return matching_run(&end->matching, arguments, &end->verb, end->json);
}

static int act_on_verdict(struct arguments *arguments, void *arg)
{
    static const struct ids_verb verbs[] = {
        [WEIR_VERDICT_BURY] = {.plain = "bury",
                               .done = "buried",
                               .states = IDS_WAITING | IDS_RESERVED,
                               .expected = "a job that is delayed, ready or reserved"},
        [WEIR_VERDICT_REMOVE] = {.plain = "remove",
                                 .done = "removed",
                                 .states = IDS_AT_REST | IDS_RESERVED,
                                 .expected = "a job that is delayed, ready, reserved or buried",
                                 .asks = true},
        [WEIR_VERDICT_RETRY] = {.plain = "retry",
                                .done = "retried",
                                .states = IDS_RESERVED,
                                .expected = "a job that is reserved"}};
    struct end *end = arg;
    struct weir_change change = end->verb.change;
    change.verdict = change.verdict == 0 ? WEIR_VERDICT_BURY : change.verdict;
    end->verb = verbs[change.verdict];
    end->verb.change = change;
    return act(arguments, arg);
}

static int run_cancel(const struct command *command, int argc, char **argv)
{
    char reason[WEIR_REASON_SIZE];
    const struct passwd *user = getpwuid(geteuid());
    char time[TIMESTAMP_SIZE];
    timestamp_write(moment_now(), time);
    (void)snprintf(reason, sizeof(reason), "canceled by %.60s at %s",
                   user != NULL ? user->pw_name : "?", time);
    struct end end = {.verb = {.change = {.kind = WEIR_CHANGE_CANCEL, .reason = reason}}};
    return arguments_run(command, argc, argv, set_option, act_on_verdict, &end);
}

const struct command command_rm = {
    .name = "rm",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "delete jobs for good",
    .examples = "  weir rm 17 18\n"
                "  weir rm --tube img --state buried --older 7d --dry-run\n"
                "  weir rm --tube img --text 'no such file'\n"
                "  id=$(weir put --delay 1h mail 'too hasty') && weir rm \"$id\"\n",
    .options = rm_options,
    .set = set_option,
    .act = act,
    .state = &(struct end){.verb = {.change = {.kind = WEIR_CHANGE_REMOVE},
                                    .plain = "remove",
                                    .done = "removed",
                                    .states = IDS_AT_REST | 1U << WEIR_JOB_ENDED,
                                    .expected = "a job that is delayed, ready, buried or ended",
                                    .busy = "; `weir cancel --remove` ends its run",
                                    .asks = true}},
};

const struct command command_bury = {
    .name = "bury",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "set jobs aside until they are kicked",
    .examples = "  weir bury 17 18\n"
                "  weir bury --reason 'the printer is on fire' --tube print --older 1h\n",
    .options = bury_options,
    .set = set_option,
    .act = act,
    .state =
        &(struct end){.verb = {.change = {.kind = WEIR_CHANGE_BURY, .reason = "buried by hand"},
                               .plain = "bury",
                               .done = "buried",
                               .states = IDS_WAITING,
                               .expected = "a job that is delayed or ready",
                               .busy = "; `weir cancel` ends its run"}},
};

const struct command command_cancel = {
    .name = "cancel",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "end jobs, also those that run",
    .examples = "  weir cancel 17\n"
                "  weir cancel --retry 17 18\n"
                "  weir cancel --remove --tube img --state reserved --text broken.jpg\n",
    .options = cancel_options,
    .run = run_cancel,
};
