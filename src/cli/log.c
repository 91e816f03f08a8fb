/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
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

static const struct poptOption log_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object an attempt instead of words"),
    POPT_TABLEEND,
};

struct log {
    bool json;
    const char *id;
    bool has_failed; /* to print */
    bool has_attempts;
};

/* Prints one line of output with a margin. */
static bool print_line(const char *text, size_t size)
{
    char line[WEIR_TAIL_SIZE];
    char escaped[4 * WEIR_TAIL_SIZE + TEXT_ESCAPED_SIZE];
    memcpy(line, text, size);
    line[size] = '\0';
    (void)text_escape_message(line, escaped, sizeof(escaped));
    return printf("    %s\n", escaped) >= 0;
}

static bool print_words(const struct weir_attempt *attempt)
{
    char reason[4 * WEIR_REASON_SIZE + TEXT_ESCAPED_SIZE];
    char start[TIMESTAMP_SIZE];
    char duration[32];
    (void)text_escape_message(attempt->reason, reason, sizeof(reason));
    bool printed =
        printf("attempt %" PRIu32 ": %s%s%s\n", attempt->number,
               weir_job_outcome_name(attempt->outcome), reason[0] != '\0' ? ": " : "", reason) >= 0;
    if (attempt->started_ns > 0) {
        int64_t run_ns = attempt->ended_ns - attempt->started_ns;
        timestamp_write(attempt->started_ns, start);
        (void)weir_duration_format(run_ns > 0 ? run_ns : 0, duration, sizeof(duration));
        printed = printed && printf("  started %s, ended %s later, process %" PRId64 "\n", start,
                                    duration, attempt->owner) >= 0;
    }
    for (const char *at = attempt->tail; at[0] != '\0' && printed;) {
        size_t size = strcspn(at, "\n");
        printed = print_line(at, size);
        at += at[size] == '\n' ? size + 1 : size;
    }
    return printed;
}

static int show(const struct weir_attempt *attempt, void *arg)
{
    struct log *log = arg;
    log->has_attempts = true;
    log->has_failed =
        log->json ? !table_print_json(json_of_attempt(log->id, attempt)) : !print_words(attempt);
    return log->has_failed ? 1 : 0;
}

static bool print_running_words(const struct weir_job *job)
{
    char progress[32] = "";
    char start[TIMESTAMP_SIZE];
    if (job->progress >= 0) {
        (void)snprintf(progress, sizeof(progress), ": %" PRId32 " %%", job->progress);
    }
    timestamp_write(job->started_ns, start);
    return printf("attempt %" PRIu32 ": running%s\n  started %s, process %" PRId64 "\n",
                  job->attempts, progress, start, job->owner) >= 0;
}

/* The attempt that goes on. */
static int show_running(const struct weir_job *job, void *arg)
{
    struct log *log = arg;
    if (job->state == WEIR_JOB_RESERVED && job->started_ns > 0) {
        log->has_attempts = true;
        log->has_failed =
            log->json ? !table_print_json(json_of_running(job)) : !print_running_words(job);
    }
    return 0;
}

static int print_attempts(struct log *log, weir_broker *broker)
{
    struct weir_error error = {0};
    enum weir_status status = weir_broker_attempts(broker, log->id, show, log, &error);
    if (status != WEIR_OK) {
        return ids_refuse(log->id, status, &error);
    }
    /* The job may have ended meanwhile. */
    if (!log->has_failed) {
        const struct weir_job_filter one = {.id = log->id, .no_bodies = 1};
        status = weir_broker_list(broker, &one, show_running, log, &error);
        if (status != WEIR_OK && status != WEIR_ENOTFOUND) {
            return report_status(status, quote(log->id).text, &error);
        }
    }
    if (!log->has_attempts && !log->json) {
        log->has_failed = printf("%s: no attempt has failed\n", log->id) < 0;
    }
    return log->has_failed ? table_refuse() : EX_OK;
}

static int act(struct arguments *arguments, void *arg)
{
    struct log *log = arg;
    struct store store;
    log->id = arguments->operands[0];
    int code = store_open(&store, arguments, STORE_READ);
    code = code == EX_OK ? print_attempts(log, store.broker) : code;
    store_close(&store);
    return code;
}

const struct command command_log = {
    .name = "log",
    .operands = "ID",
    .names = {"id"},
    .summary = "show the attempts of a job, with the last lines of their errors",
    .examples = "  weir log 17\n"
                "  weir log --json 17\n",
    .options = log_options,
    .set = option_flag,
    .act = act,
    .state = &(struct log){.json = false},
};
