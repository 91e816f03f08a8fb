/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/feature.h>

#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/json.h"

bool ids_is_one(const char *operand)
{
    return operand[0] != '\0' && (operand[strspn(operand, "0123456789")] == '\0' ||
                                  operand[strcspn(operand, ":%,")] != '\0');
}

int ids_check(const struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        if (!ids_is_one(arguments->operands[i])) {
            return report(EX_USAGE, "%s: expected an id that `weir put` printed, or --tube",
                          quote(arguments->operands[i]).text);
        }
    }
    return arguments->count > 0
               ? EX_OK
               : report(EX_USAGE, "no id; expected %s", arguments->command->operands);
}

int ids_refuse(const char *id, enum weir_status status, const struct weir_error *error)
{
    return status == WEIR_ENOTFOUND
               ? report(EX_NOINPUT, "%s: no such job; it is done, was removed or never was",
                        quote(id).text)
           : status == WEIR_EINVAL
               ? report(EX_USAGE, "%s; expected an id that `weir put` printed", error->text)
               : report_status(status, quote(id).text, error);
}

/* Says why a job was left alone. Returns the exit status. */
static int tell_left(const struct ids_verb *verb, weir_broker *broker, const char *id,
                     enum weir_status status, const struct weir_error *error)
{
    struct weir_why why = {.owner = 0};
    if (status != WEIR_EBUSY && status != WEIR_ESTATE) {
        return ids_refuse(id, status, error);
    }
    bool is_known = weir_broker_why(broker, id, &why, NULL) == WEIR_OK;
    char owner[48] = "";
    if (why.owner > 0) {
        (void)snprintf(owner, sizeof(owner), ", process %lld,", (long long)why.owner);
    }
    return status == WEIR_EBUSY
               ? report(EX_TEMPFAIL, "%s: a worker%s has it; expected %s%s", quote(id).text, owner,
                        verb->expected,
                        verb->busy != NULL && weir_broker_can(broker, WEIR_CAN_CONTROL) ? verb->busy
                                                                                        : "")
               : report(EX_DATAERR, "%s: is %s; expected %s", quote(id).text,
                        is_known ? weir_job_state_name(why.state) : "in another state",
                        verb->expected);
}

static bool print_result(const struct ids_verb *verb, const char *id, enum weir_status status,
                         bool json)
{
    if (json) {
        return table_print_json(json_of_result(id, verb->done, status));
    }
    return status == WEIR_ECANCELED ? printf("asked %s to end\n", id) >= 0
           : status == WEIR_OK      ? printf("%s %s\n", verb->done, id) >= 0
                                    : true;
}

/* A job that a worker has: it is taken from one that does not live, or by force. */
static enum weir_status take_back(const struct ids_verb *verb, weir_broker *broker, const char *id,
                                  struct weir_error *error)
{
    const struct weir_change change = {
        .kind = WEIR_CHANGE_KICK, .states = IDS_RESERVED, .is_forced = verb->change.is_forced};
    enum weir_status result = WEIR_OK;
    enum weir_status status = weir_broker_change(broker, &change, &id, 1, &result, error);
    return status != WEIR_OK ? status : result == WEIR_ECANCELED ? WEIR_OK : result;
}

static int change(weir_broker *broker, const struct arguments *arguments,
                  const struct ids_verb *verb, enum weir_status *statuses, bool json)
{
    struct weir_error error = {0};
    struct weir_change asked = verb->change;
    bool can_control = weir_broker_can(broker, WEIR_CAN_CONTROL);
    asked.states = can_control ? asked.states : 0;
    enum weir_status status =
        weir_broker_change(broker, &asked, arguments->operands, arguments->count, statuses, &error);
    if (status != WEIR_OK && status != WEIR_EUNKNOWN) { /* of some: each has a status */
        return ids_refuse("jobs", status, &error);
    }
    int code = EX_OK;
    bool printed = true;
    for (size_t i = 0; i < arguments->count && printed; i++) {
        const char *id = arguments->operands[i];
        struct ids_verb shown = *verb;
        shown.expected = can_control || !verb->takes_back ? verb->expected : "a job that is buried";
        if (statuses[i] == WEIR_EBUSY && verb->takes_back && can_control) {
            statuses[i] = take_back(verb, broker, id, &error);
            shown.done = "took back";
        }
        printed = print_result(&shown, id, statuses[i], json);
        if (statuses[i] != WEIR_OK && statuses[i] != WEIR_ECANCELED) {
            int left = tell_left(&shown, broker, id, statuses[i], &error);
            error.text[0] = statuses[i] == WEIR_EUNKNOWN ? '\0' : error.text[0]; /* of the first */
            code = code == EX_OK ? left : code;
        }
    }
    return printed ? code : table_refuse();
}

int ids_change(const struct arguments *arguments, const struct ids_verb *verb, bool json)
{
    struct store store;
    int code = store_open(&store, arguments, STORE_ALTER);
    if (code == EX_OK) {
        enum weir_status *statuses = calloc(arguments->count, sizeof(*statuses));
        code = statuses != NULL ? change(store.broker, arguments, verb, statuses, json)
                                : report_status(WEIR_ENOMEM, "jobs", NULL);
        free(statuses);
    }
    store_close(&store);
    return code;
}
