/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include <weir/admin.h>
#include <weir/duration.h>

#include "cli/arguments.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/store.h"

enum {
    OPTION_UNTIL = OPTION_OWN
};

static const struct poptOption pause_options[] = {
    OPTION_VALUE("until", 'u', OPTION_UNTIL,
                 "Until this time, one of those that `weir put --at` takes, instead of a DURATION",
                 "TIME"),
    POPT_TABLEEND,
};

struct pause {
    int64_t until_ns;    /* 0: not given. */
    int64_t duration_ns; /* 0: the tube is resumed. */
};

/* The only option is a time. */
static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct pause *pause = arg;
    int64_t now = moment_now();
    (void)option;
    int code = read_moment(name, text, now, &pause->until_ns);
    if (code == EX_OK && pause->until_ns <= now) {
        return report(EX_USAGE, "%s: %s: has passed; expected a time after now", name,
                      quote(text).text);
    }
    return code;
}

/* Pauses a tube, or with 0 resumes it. */
static int change(const struct arguments *arguments, int64_t duration_ns)
{
    struct store store;
    struct weir_error error = {0};
    const char *tube = arguments->operands[0];
    int code = store_open(&store, arguments, STORE_ALTER);
    if (code == EX_OK) {
        enum weir_status status = weir_broker_pause(store.broker, tube, duration_ns, &error);
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

/* What the words say; duration_ns is that of a pause without a limit, or 0. */
static int check(const struct arguments *arguments, int64_t until_ns, int64_t *duration_ns)
{
    static const char *const names[] = {"tube", "duration"};
    bool is_pause = *duration_ns != 0;
    int code = arguments_expect(arguments, names, is_pause ? 2 : 1, is_pause ? 1 : 0);
    if (code == EX_OK) {
        code = read_tube(arguments->operands[0]);
    }
    if (code == EX_OK && arguments->count == 2 && until_ns != 0) {
        return report(EX_USAGE, "%s: a duration beside --until; expected one of them",
                      quote(arguments->operands[1]).text);
    }
    if (code == EX_OK && arguments->count == 2) {
        code = read_duration("duration", arguments->operands[1], 1, duration_ns);
    } else if (until_ns != 0) {
        int64_t left = until_ns - moment_now();
        *duration_ns = left > 0 ? left : 1;
    }
    return code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct pause *pause = arg;
    int code = check(arguments, pause->until_ns, &pause->duration_ns);
    return code == EX_OK ? change(arguments, pause->duration_ns) : code;
}

const struct command command_pause = {
    .name = "pause",
    .operands = "TUBE [DURATION]",
    .summary = "let no worker take jobs of a tube",
    .examples = "  weir pause mail       until it is resumed\n"
                "  weir pause mail 10m\n"
                "  weir pause mail --until 'tomorrow 6:00'\n",
    .options = pause_options,
    .set = set_option,
    .act = act,
    .state = &(struct pause){.duration_ns = WEIR_FOREVER},
};

const struct command command_resume = {
    .name = "resume",
    .operands = "TUBE",
    .summary = "end the pause of a tube",
    .examples = "  weir resume mail\n",
    .options = NULL,
    .set = set_option,
    .act = act,
    .state = &(struct pause){.duration_ns = 0},
};
