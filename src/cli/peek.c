/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

#include <weir/broker.h>

#include "cli/ids.h"
#include "cli/job_view.h"
#include "cli/report.h"
#include "cli/store.h"

enum peek_option {
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

struct peek {
    enum weir_job_state state; /* 0: all. */
    int64_t limit;
    const char *id;
    bool has_jobs; /* One was shown. */
    struct job_view view;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct peek *peek = arg;
    switch ((enum peek_option)option) {
    case OPTION_STATE:
        return read_state(name, text, &peek->state);
    case OPTION_LIMIT:
        return read_number(name, text, 1, INT32_MAX, &peek->limit);
    case OPTION_ID:
        peek->id = text;
        return EX_OK;
    case OPTION_BODY:
        peek->view.body = true;
        return EX_OK;
    case OPTION_JSON:
        peek->view.json = true;
        break;
    }
    return EX_OK;
}

static int show(const struct weir_job *job, void *arg)
{
    struct peek *peek = arg;
    peek->has_jobs = true;
    return job_view_show(&peek->view, job);
}

/* Where there are no jobs to show, a tube that never was is told from one that is empty. */
static int check_tube(const char *tube, weir_broker *broker)
{
    struct weir_error error = {0};
    struct weir_tube_counts counts = {.tube = ""};
    enum weir_status status = weir_broker_tubes(broker, tube, store_keep_counts, &counts, &error);
    if (status != WEIR_OK) {
        return report_status(status, quote(tube).text, &error);
    }
    return counts.tube[0] != '\0'
               ? EX_OK
               : report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                        quote(tube).text);
}

static int print_jobs(struct peek *peek, const char *tube, weir_broker *broker)
{
    struct weir_error error = {0};
    enum weir_status status =
        peek->id != NULL
            ? weir_broker_peek_id(broker, peek->id, show, peek, &error)
            : weir_broker_peek(broker, tube, peek->state, (size_t)peek->limit, show, peek, &error);
    if (status != WEIR_OK) {
        return peek->id != NULL ? ids_refuse(peek->id, status, &error)
                                : report_status(status, tube, &error);
    }
    if (!peek->has_jobs && peek->id == NULL) {
        return check_tube(tube, broker);
    }
    return job_view_print(&peek->view);
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

static int act(struct arguments *arguments, void *arg)
{
    struct peek *peek = arg;
    struct store store = {0};
    int code = check(peek, arguments);
    code = code == EX_OK ? store_open(&store, arguments, STORE_READ) : code;
    if (code == EX_OK) {
        const char *tube = arguments->count > 0 ? arguments->operands[0] : NULL;
        code = job_view_init(&peek->view) ? print_jobs(peek, tube, store.broker)
                                          : report_status(WEIR_ENOMEM, "table", NULL);
        job_view_fini(&peek->view);
    }
    store_close(&store);
    return code;
}

static int run_peek(const struct command *command, int argc, char **argv)
{
    struct peek peek = {.limit = LIMIT_DEFAULT};
    return arguments_run(command, argc, argv, set_option, act, &peek);
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
