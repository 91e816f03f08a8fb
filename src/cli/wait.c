/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <weir/admin.h>
#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/ids.h"
#include "cli/report.h"
#include "cli/store.h"

enum {
    OPTION_TIMEOUT = OPTION_OWN
};

/* Between two looks: at first as long as a short job takes, then ever longer. */
#define PAUSE_LEAST WEIR_MS(20)
#define PAUSE_MOST WEIR_MS(500)

#define EXIT_BURIED 1

static const struct poptOption wait_options[] = {
    OPTION_VALUE("timeout", 't', OPTION_TIMEOUT,
                 "Wait no longer than this, then end with 75 (default: for ever)", "DURATION"),
    POPT_TABLEEND,
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    (void)option;
    return read_duration(name, text, 0, arg);
}

/* What a look at a job found. */
struct look {
    enum weir_job_state state; /* 0: it is there no more */
    enum weir_run_outcome end; /* 0: it may run yet */
    char reason[WEIR_REASON_SIZE];
};

static int keep(const struct weir_job *job, void *arg)
{
    struct look *look = arg;
    look->state = job->state;
    look->end = job->state == WEIR_JOB_BURIED ? WEIR_RUN_BURIED : job->end;
    (void)snprintf(look->reason, sizeof(look->reason), "%s", job->reason);
    return 1;
}

/* Returns 0 or an exit status, after saying why. */
static int look_at(weir_broker *broker, const char *id, struct look *ret_look)
{
    struct weir_error error = {0};
    *ret_look = (struct look){.state = (enum weir_job_state)0};
    const struct weir_job_filter one = {.id = id, .no_bodies = 1};
    enum weir_status status = weir_broker_list(broker, &one, keep, ret_look, &error);
    bool was_put = true;
    if (status == WEIR_ENOTFOUND) {
        status = weir_broker_was_put(broker, id, &was_put, &error);
        status = status == WEIR_ENOTSUP ? WEIR_OK : status; /* a cluster does not know */
    }
    return status != WEIR_OK ? ids_refuse(id, status, &error)
           : was_put         ? EX_OK
                             : report(EX_NOINPUT, "%s: no job had this id yet", quote(id).text);
}

static void pause_for(int64_t ns)
{
    struct timespec time = {(time_t)(ns / WEIR_SECONDS(1)), (long)(ns % WEIR_SECONDS(1))};
    (void)nanosleep(&time, NULL);
}

/* Waits for one job. Returns 0, EXIT_BURIED, or an exit status, after saying why. */
static int wait_for(weir_broker *broker, const char *id, int64_t limit_ns)
{
    weir_clock *clock = weir_clock_monotonic();
    int64_t pause_ns = PAUSE_LEAST;
    struct look look;
    int code = look_at(broker, id, &look);
    while (code == EX_OK && look.state != 0 && look.end == 0) {
        int64_t left_ns = limit_ns - weir_clock_now(clock);
        if (left_ns <= 0) {
            return report(EX_TEMPFAIL, "%s: still %s when the time had passed", quote(id).text,
                          weir_job_state_name(look.state));
        }
        pause_for(left_ns < pause_ns ? left_ns : pause_ns);
        pause_ns = pause_ns * 2 < PAUSE_MOST ? pause_ns * 2 : PAUSE_MOST;
        code = look_at(broker, id, &look);
    }
    return code == EX_OK && look.end > WEIR_RUN_DONE
               ? report(EXIT_BURIED, "%s: %s: %s", quote(id).text, weir_job_outcome_name(look.end),
                        quote(look.reason).text)
               : code;
}

static int act(struct arguments *arguments, void *arg)
{
    int64_t timeout_ns = *(const int64_t *)arg;
    struct store store;
    int buried = EX_OK;
    if (arguments->count == 0) {
        return report(EX_USAGE, "no id; expected %s", arguments->command->operands);
    }
    int code = store_open(&store, arguments, STORE_READ);
    int64_t now_ns = weir_clock_now(weir_clock_monotonic());
    int64_t limit_ns = timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
    for (size_t i = 0; i < arguments->count && (code == EX_OK || code == EXIT_BURIED); i++) {
        code = wait_for(store.broker, arguments->operands[i], limit_ns);
        buried = code == EXIT_BURIED ? EXIT_BURIED : buried;
    }
    store_close(&store);
    return code == EX_OK ? buried : code;
}

const struct command command_wait = {
    .name = "wait",
    .operands = "ID...",
    .summary = "wait until jobs have ended; 1 if one is not done",
    .examples = "  weir wait --timeout 10m \"$(weir put mail 'hello')\"\n",
    .options = wait_options,
    .set = set_option,
    .act = act,
    .state = &(int64_t){INT64_MAX},
};
