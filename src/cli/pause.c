/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include <weir/admin.h>
#include <weir/duration.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"

static int no_option(int option, const char *name, const char *text, void *arg)
{
    (void)option;
    (void)text;
    (void)arg;
    return report(EX_SOFTWARE, "%s: not handled", name);
}

/* Pauses a tube, or with 0 resumes it. */
static int change(const struct arguments *arguments, int64_t duration_ns)
{
    struct store store;
    struct weir_error error = {""};
    const char *tube = arguments->operands[0];
    int code = store_open(&store, arguments, STORE_ALTER);
    if (code == EX_OK) {
        enum weir_status status = duration_ns == 0
                                      ? weir_broker_resume(store.broker, tube, &error)
                                      : weir_broker_pause(store.broker, tube, duration_ns, &error);
        if (status == WEIR_ENOTFOUND) {
            code = report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                          quote(tube).text);
        } else if (status != WEIR_OK) {
            code = report_status(status, quote(tube).text, &error);
        }
    }
    store_close(&store);
    return code;
}

static int run(const struct command *command, int argc, char **argv, bool is_pause)
{
    static const char *const names[] = {"tube", "duration"};
    struct arguments arguments;
    int64_t duration = is_pause ? WEIR_FOREVER : 0;
    int code = arguments_parse(&arguments, command, argc, argv, no_option, NULL);
    if (code == EX_OK && !arguments.helped) {
        code = arguments_expect(&arguments, names, is_pause ? 2 : 1, is_pause ? 1 : 0);
        if (code == EX_OK) {
            code = read_tube(arguments.operands[0]);
        }
        if (code == EX_OK && arguments.count == 2) {
            code = read_duration("duration", arguments.operands[1], 1, &duration);
        }
        if (code == EX_OK) {
            code = change(&arguments, duration);
        }
    }
    arguments_free(&arguments);
    return code;
}

static int run_pause(const struct command *command, int argc, char **argv)
{
    return run(command, argc, argv, true);
}

static int run_resume(const struct command *command, int argc, char **argv)
{
    return run(command, argc, argv, false);
}

const struct command command_pause = {
    .name = "pause",
    .operands = "TUBE [DURATION]",
    .summary = "let no worker take jobs of a tube",
    .examples = "  weir pause mail       until it is resumed\n"
                "  weir pause mail 10m\n",
    .options = NULL,
    .run = run_pause,
};

const struct command command_resume = {
    .name = "resume",
    .operands = "TUBE",
    .summary = "end the pause of a tube",
    .examples = "  weir resume mail\n",
    .options = NULL,
    .run = run_resume,
};
