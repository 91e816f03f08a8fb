/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/admin.h>
#include <weir/duration.h>

#include "cli/ids.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/json.h"
#include "view/text.h"
#include "view/timestamp.h"

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption why_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object instead of words"),
    POPT_TABLEEND,
};

/* What follows the reason: when it can start. */
static void tell_start(const struct weir_why *why, char *text, size_t size)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(why->start_ns > 0 ? why->start_ns : 0, time);
    switch (why->reason) {
    case WEIR_WHY_TIME:
        (void)snprintf(text, size, "it can start at %s", time);
        break;
    case WEIR_WHY_PAUSED:
        (void)snprintf(text, size, "it can start %s%s",
                       why->start_ns == WEIR_FOREVER ? "when that is resumed" : "at ",
                       why->start_ns == WEIR_FOREVER ? "" : time);
        break;
    case WEIR_WHY_RESERVED:
        (void)snprintf(text, size, "unless that renews it, it is taken back at %s", time);
        break;
    case WEIR_WHY_BURIED:
        (void)snprintf(text, size, "it starts when it is kicked");
        break;
    case WEIR_WHY_DONE:
        (void)snprintf(text, size, "it does not run again");
        break;
    case WEIR_WHY_GROUP:
        (void)snprintf(text, size, "it starts when its group has room");
        break;
    default:
        (void)snprintf(text, size, "it can start now");
        break;
    }
}

static bool print_words(const char *id, const struct weir_why *why)
{
    char start[128];
    char owner[48] = "";
    char *text = text_escape(why->text, strlen(why->text));
    tell_start(why, start, sizeof(start));
    if (why->owner > 0) {
        (void)snprintf(owner, sizeof(owner), " (process %lld)", (long long)why->owner);
    }
    bool printed = text != NULL && printf("%s is %s: %s%s; %s\n", id,
                                          weir_job_state_name(why->state), text, owner, start) >= 0;
    free(text);
    return printed;
}

static int explain(const char *id, weir_broker *broker, bool json)
{
    struct weir_why why;
    struct weir_error error = {0};
    enum weir_status status = weir_broker_why(broker, id, &why, &error);
    if (status != WEIR_OK) {
        return ids_refuse(id, status, &error);
    }
    bool printed = json ? table_print_json(json_of_why(id, &why)) : print_words(id, &why);
    return printed ? EX_OK : table_refuse();
}

static int act(struct arguments *arguments, void *arg)
{
    const bool *json = arg;
    struct store store;
    int code = store_open(&store, arguments, STORE_READ);
    code = code == EX_OK ? explain(arguments->operands[0], store.broker, *json) : code;
    store_close(&store);
    return code;
}

const struct command command_why = {
    .name = "why",
    .operands = "ID",
    .names = {"id"},
    .summary = "tell why a job does not run, and when it can",
    .examples = "  weir why 17\n",
    .options = why_options,
    .set = option_flag,
    .act = act,
    .state = &(bool){false},
};
