/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/broker.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/timestamp.h"

enum {
    OPTION_BODY = OPTION_OWN,
    OPTION_ID,
    OPTION_JSON,
    OPTION_LIMIT,
    OPTION_STATE
};

#define LIMIT_DEFAULT 20

static const struct poptOption peek_options[] = {
    OPTION_VALUE("state", 's', OPTION_STATE,
                 "Only jobs that are delayed, ready, reserved or buried (default: all)", "STATE"),
    OPTION_VALUE("limit", 'n', OPTION_LIMIT, "At most so many jobs (default: 20)", "N"),
    OPTION_VALUE("id", '\0', OPTION_ID, "The job of this id, instead of those of a tube", "ID"),
    OPTION_FLAG("body", '\0', OPTION_BODY, "Show bodies too, control characters escaped"),
    OPTION_FLAG("json", '\0', OPTION_JSON,
                "Print an object a job; bodies that are not UTF-8 in base64"),
    POPT_TABLEEND,
};

static const struct table_column columns[] = {
    {"ID", true, false},       {"TUBE", false, false},    {"STATE", false, false},
    {"PRIORITY", true, false}, {"ATTEMPTS", true, false}, {"RUN AT", false, false},
    {"TTR", true, false},      {"SIZE", true, false},     {"REASON", false, true},
    {"BODY", false, true},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct peek {
    enum weir_job_state state; /* 0: all. */
    int64_t limit;
    const char *id;
    bool body;
    bool json;
    bool failed;
    struct libscols_table *table;
};

static int read_state(const char *name, const char *text, enum weir_job_state *ret_state)
{
    for (enum weir_job_state state = WEIR_JOB_DELAYED; state <= WEIR_JOB_BURIED; state++) {
        if (strcmp(text, weir_job_state_name(state)) == 0) {
            *ret_state = state;
            return EX_OK;
        }
    }
    return report(EX_USAGE,
                  "%s: %s: unknown state; expected one of delayed, ready, reserved, buried", name,
                  quote(text).text);
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct peek *peek = arg;
    switch (option) {
    case OPTION_STATE:
        return read_state(name, text, &peek->state);
    case OPTION_LIMIT:
        return read_number(name, text, 1, INT32_MAX, &peek->limit);
    case OPTION_ID:
        peek->id = text;
        return EX_OK;
    case OPTION_BODY:
        peek->body = true;
        return EX_OK;
    default:
        peek->json = true;
        return EX_OK;
    }
}

static bool add_row(const struct peek *peek, const struct weir_job *job)
{
    char priority[16];
    char attempts[16];
    char run_at[TIMESTAMP_SIZE];
    char ttr[32];
    char size[24];
    char *reason = text_escape(job->reason, strlen(job->reason));
    char *body = peek->body ? text_escape(job->body, job->body_size) : NULL;
    (void)snprintf(priority, sizeof(priority), "%" PRId32, job->priority);
    (void)snprintf(attempts, sizeof(attempts), "%" PRIu32, job->attempts);
    (void)snprintf(size, sizeof(size), "%zu", job->body_size);
    timestamp_write(job->run_at_ns, run_at);
    (void)weir_duration_format(job->ttr_ns, ttr, sizeof(ttr));
    const char *const cells[COLUMN_COUNT] = {
        job->id, job->tube, weir_job_state_name(job->state), priority, attempts, run_at, ttr, size,
        reason,  body};
    bool added = reason != NULL && (body != NULL || !peek->body) &&
                 table_add(peek->table, cells, peek->body ? COLUMN_COUNT : COLUMN_COUNT - 1);
    free(reason);
    free(body);
    return added;
}

/* The body as text if it is text, else in base64; "encoding" says which. */
static bool add_body(json_t *object, const struct weir_job *job)
{
    json_t *text = json_stringn(job->body, job->body_size);
    const char *encoding = "utf-8";
    if (text == NULL) {
        char *encoded = text_base64(job->body, job->body_size);
        encoding = "base64";
        text = encoded != NULL ? json_string(encoded) : NULL;
        free(encoded);
    }
    return json_object_set_new(object, "body", text) == 0 &&
           json_object_set_new(object, "encoding", json_string(encoding)) == 0;
}

static bool print_object(const struct peek *peek, const struct weir_job *job)
{
    char created_at[TIMESTAMP_SIZE];
    char run_at[TIMESTAMP_SIZE];
    timestamp_write(job->created_ns, created_at);
    timestamp_write(job->run_at_ns, run_at);
    char *reason = text_escape(job->reason, strlen(job->reason));
    json_t *object =
        reason == NULL
            ? NULL
            : json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:s}", "id", job->id, "tube",
                        job->tube, "state", weir_job_state_name(job->state), "priority",
                        (json_int_t)job->priority, "attempts", (json_int_t)job->attempts,
                        "created_at", created_at, "run_at", run_at, "ttr_ns",
                        (json_int_t)job->ttr_ns, "size", (json_int_t)job->body_size, "reason",
                        reason);
    free(reason);
    if (object != NULL && peek->body && !add_body(object, job)) {
        json_decref(object);
        return false;
    }
    return table_print_json(object);
}

static int show(const struct weir_job *job, void *arg)
{
    struct peek *peek = arg;
    peek->failed = peek->json ? !print_object(peek, job) : !add_row(peek, job);
    return peek->failed ? 1 : 0;
}

static int print_jobs(struct peek *peek, const char *tube, weir_broker *broker)
{
    struct weir_error error = {""};
    enum weir_status status =
        peek->id != NULL
            ? weir_broker_peek_id(broker, peek->id, show, peek, &error)
            : weir_broker_peek(broker, tube, peek->state, (size_t)peek->limit, show, peek, &error);
    if (status == WEIR_ENOTFOUND && peek->id != NULL) {
        return report(EX_NOINPUT, "--id: %s: no such job; it is done, was removed or never was",
                      quote(peek->id).text);
    }
    if (status == WEIR_EINVAL && peek->id != NULL) {
        return report(EX_USAGE, "--id: %s: not an id; expected one that `weir put` printed",
                      quote(peek->id).text);
    }
    if (status != WEIR_OK) {
        return report_status(status, peek->id != NULL ? "--id" : tube, &error);
    }
    if (peek->failed) {
        return table_refuse();
    }
    return peek->json ? EX_OK : table_print(peek->table);
}

static int run_checked(struct peek *peek, const struct arguments *arguments)
{
    struct store store;
    int code = store_open(&store, arguments, STORE_READ);
    if (code == EX_OK) {
        peek->table = table_new(columns, peek->body ? COLUMN_COUNT : COLUMN_COUNT - 1);
        const char *tube = arguments->count > 0 ? arguments->operands[0] : NULL;
        code = peek->table != NULL ? print_jobs(peek, tube, store.broker)
                                   : report_status(WEIR_ENOMEM, "table", NULL);
        scols_unref_table(peek->table);
    }
    store_close(&store);
    return code;
}

static int check(const struct peek *peek, const struct arguments *arguments)
{
    static const char *const names[] = {"tube"};
    size_t wanted = peek->id == NULL ? 1 : 0;
    if (peek->id != NULL && arguments->count > 0) {
        return report(EX_USAGE, "%s: a tube beside --id; expected one of them",
                      quote(arguments->operands[0]).text);
    }
    int code = arguments_expect(arguments, names, wanted, 0);
    return code == EX_OK && wanted == 1 ? read_tube(arguments->operands[0]) : code;
}

static int run_peek(const struct command *command, int argc, char **argv)
{
    struct peek peek = {.limit = LIMIT_DEFAULT};
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &peek);
    if (code == EX_OK && !arguments.helped) {
        code = check(&peek, &arguments);
        if (code == EX_OK) {
            code = run_checked(&peek, &arguments);
        }
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_peek = {
    .name = "peek",
    .operands = "TUBE | --id ID",
    .summary = "look at jobs without touching them",
    .examples = "  weir peek img\n"
                "  weir peek --state buried --body img\n"
                "  weir peek --id 17 --body --json\n",
    .options = peek_options,
    .run = run_peek,
};
