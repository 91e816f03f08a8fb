/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_WORKER_H
#define WEIRI_CLI_WORKER_H

#include <weir/consumer.h>

#include "cli/arguments.h"
#include "cli/handler.h"
#include "cli/tally.h"
#include "cli/work_tubes.h"

/* A consumer that runs a program for each job: that of `weir work`, and each one of `weir run`. */

enum worker_option {
    WORKER_ATTEMPTS = OPTION_SHARED,
    WORKER_BURY_ON,
    WORKER_DEADLINE,
    WORKER_GRACE,
    WORKER_JOBS,
    WORKER_PERSISTENT,
    WORKER_RATE,
    WORKER_RETRY_DELAY,
    WORKER_RETRY_MAX,
    WORKER_VERBOSE
};

/* Rows of a table of options. */
#define WORKER_OPTIONS                                                                             \
    OPTION_VALUE("jobs", 'j', WORKER_JOBS, "Run so many at once (default: 1)", "N"),               \
        OPTION_VALUE(                                                                              \
            "deadline", '\0', WORKER_DEADLINE,                                                     \
            "End a run that takes longer: its session gets TERM, then KILL; it is retried",        \
            "DURATION"),                                                                           \
        OPTION_VALUE("grace", '\0', WORKER_GRACE, "Time between TERM and KILL (default: 5s)",      \
                     "DURATION"),                                                                  \
        OPTION_VALUE("attempts", '\0', WORKER_ATTEMPTS,                                            \
                     "Bury a job that has failed in so many runs (default: 25)", "N"),             \
        OPTION_VALUE("retry-delay", '\0', WORKER_RETRY_DELAY,                                      \
                     "Delay after the first failure; doubles with each further one (default: 1s)", \
                     "DURATION"),                                                                  \
        OPTION_VALUE("retry-max", '\0', WORKER_RETRY_MAX,                                          \
                     "Longest of these delays (default: 1000s)", "DURATION"),                      \
        OPTION_VALUE("rate", '\0', WORKER_RATE,                                                    \
                     "Begin at most so many runs a second; /m or /h: a minute, an hour",           \
                     "N[/UNIT]"),                                                                  \
        OPTION_VALUE("bury-on", '\0', WORKER_BURY_ON,                                              \
                     "Bury at once a job whose run ends with one of these exit statuses",          \
                     "N[-N],..."),                                                                 \
        OPTION_VALUE("persistent", '\0', WORKER_PERSISTENT,                                        \
                     "Give each program one job after another; it answers each with a line",       \
                     "lines|frames"),                                                              \
        OPTION_FLAG("verbose", 'v', WORKER_VERBOSE, "Tell of each run that failed")

struct worker {
    struct weir_consumer_options options;
    struct handler handler;
    struct tally tally;
    struct work_tubes tubes;
    weir_consumer *consumer;
    pthread_t waiter;
    int ended;             /* an eventfd that is told of its end */
    atomic_bool has_ended; /* with the next two set */
    enum weir_status status;
    struct weir_error error;
};

#define WORKER_INIT                                                                                \
    {                                                                                              \
        .options = {0}, .handler = {                                                               \
            .grace_ns = WEIR_SECONDS(5),                                                           \
            .residents = {.mutex = PTHREAD_MUTEX_INITIALIZER}                                      \
        }                                                                                          \
    }

/* An option_fn of these rows; arg is the worker. */
int worker_set(int option, const char *name, const char *text, void *arg);

/* Checks what the options say together, and finds the program, whose words are borrowed, NULL at
 * their end. place begins messages; dashes precede the names of options there. Returns 0 or an exit
 * status, after saying why. */
int worker_check(struct worker *worker, char **program, const char *place, const char *dashes);

/* Makes the consumer and starts it; url is the broker's and mask the signals' for programs, both
 * borrowed until worker_free(). Its end, with that of its persistent programs, is told to ended, an
 * eventfd. On failure there is no consumer. */
enum weir_status worker_start(struct worker *worker, weir_broker *broker, const char *url,
                              const sigset_t *mask, int ended);
/* Asks it to end, on any thread: jobs that run go on to their end, or are cancelled, and programs
 * that still end are asked as at a deadline. */
void worker_stop(struct worker *worker, bool is_cancel);
/* Frees the consumer, which has ended or was not started. */
void worker_end(struct worker *worker);
/* Frees it and all that was read. */
void worker_free(struct worker *worker);

#endif
