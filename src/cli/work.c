/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/jobs.h>
#include <weir/weir.h>

#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/guard.h"
#include "cli/handler.h"
#include "cli/monitor.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/tally.h"
#include "cli/work_tubes.h"

/* The exit status if jobs were buried, with --until-empty. */
#define EXIT_BURIED 1

enum {
    OPTION_ATTEMPTS = OPTION_OWN,
    OPTION_BURY_ON,
    OPTION_DEADLINE,
    OPTION_GRACE,
    OPTION_JOBS,
    OPTION_JSON,
    OPTION_PROGRESS,
    OPTION_RATE,
    OPTION_RETRY_DELAY,
    OPTION_RETRY_MAX,
    OPTION_SUMMARY,
    OPTION_UNTIL_EMPTY,
    OPTION_VERBOSE
};

static const struct poptOption work_options[] = {
    OPTION_VALUE("jobs", 'j', OPTION_JOBS, "Run so many at once (default: 1)", "N"),
    OPTION_FLAG("until-empty", 'e', OPTION_UNTIL_EMPTY,
                "End once no job of the tubes is delayed, ready or reserved"),
    OPTION_VALUE(
        "deadline", '\0', OPTION_DEADLINE,
        "End a run that takes longer: its process group gets TERM, then KILL; it is retried",
        "DURATION"),
    OPTION_VALUE("grace", '\0', OPTION_GRACE, "Time between TERM and KILL (default: 5s)",
                 "DURATION"),
    OPTION_VALUE("attempts", '\0', OPTION_ATTEMPTS,
                 "Bury a job that has failed in so many runs (default: 25)", "N"),
    OPTION_VALUE("retry-delay", '\0', OPTION_RETRY_DELAY,
                 "Delay after the first failure; doubles with each further one (default: 1s)",
                 "DURATION"),
    OPTION_VALUE("retry-max", '\0', OPTION_RETRY_MAX, "Longest of these delays (default: 1000s)",
                 "DURATION"),
    OPTION_VALUE("rate", '\0', OPTION_RATE,
                 "Begin at most so many runs a second; /m or /h: a "
                 "minute, an hour",
                 "N[/UNIT]"),
    OPTION_VALUE("bury-on", '\0', OPTION_BURY_ON,
                 "Bury at once a job whose run ends with one of these exit statuses", "N[-N],..."),
    OPTION_FLAG("progress", '\0', OPTION_PROGRESS,
                "Show progress even where standard error is no terminal"),
    OPTION_VALUE("summary", '\0', OPTION_SUMMARY,
                 "At the end write the counts and run times to this file, as JSON", "FILE"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "At the end print the same on standard output"),
    OPTION_FLAG("verbose", 'v', OPTION_VERBOSE, "Tell of each run that failed"),
    POPT_TABLEEND,
};

struct work {
    struct weir_consumer_options options;
    struct handler handler;
    struct tally tally;
    sigset_t mask; /* Of the signals that were blocked before ours. */
    struct work_tubes tubes;
    const char *summary; /* File, or NULL. */
    bool json;
    bool progress;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct work *work = arg;
    int64_t number = 0;
    int code = EX_OK;
    switch (option) {
    case OPTION_JOBS:
        code = read_number(name, text, 1, 4096, &number);
        work->options.workers = (uint32_t)number;
        return code;
    case OPTION_ATTEMPTS:
        code = read_number(name, text, 1, UINT32_MAX, &number);
        work->options.attempts_max = (uint32_t)number;
        return code;
    case OPTION_DEADLINE:
        return read_duration(name, text, 1, &work->options.deadline_ns);
    case OPTION_GRACE:
        return read_duration(name, text, 0, &work->handler.grace_ns);
    case OPTION_RETRY_DELAY:
        return read_duration(name, text, 1, &work->options.retry_base_ns);
    case OPTION_RETRY_MAX:
        return read_duration(name, text, 1, &work->options.retry_max_ns);
    case OPTION_RATE:
        return read_rate(name, text, &work->options.rate);
    case OPTION_BURY_ON:
        return handler_read_statuses(name, text, &work->handler);
    case OPTION_SUMMARY:
        work->summary = text;
        return EX_OK;
    case OPTION_JSON:
        work->json = true;
        return EX_OK;
    case OPTION_PROGRESS:
        work->progress = true;
        return EX_OK;
    case OPTION_UNTIL_EMPTY:
        work->options.flags |= WEIR_CONSUMER_UNTIL_EMPTY;
        return EX_OK;
    default:
        work->handler.verbose = true;
        return EX_OK;
    }
}

/* Why a file cannot be made in the folder of this path; 0: it can. */
static int why_not_made(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (path[0] == '\0') {
        return ENOENT;
    }
    char *folder = slash == NULL ? strdup(".") : strndup(path, length);
    if (folder == NULL) {
        return ENOMEM;
    }
    int why = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
    free(folder);
    return why;
}

/* The summary is written at the end. Checks at the start that it can be written. */
static int check_summary(const char *path)
{
    struct stat facts;
    int why = 0;
    if (path == NULL) {
        return EX_OK;
    }
    if (stat(path, &facts) != 0) {
        why = errno == ENOENT ? why_not_made(path) : errno;
    } else if (S_ISDIR(facts.st_mode)) {
        why = EISDIR;
    } else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) {
        why = errno;
    }
    return why == 0 ? EX_OK
                    : report(EX_CANTCREAT, "--summary: %s: %s; expected a file that can be written",
                             quote(path).text, strerror(why));
}

static int check_program(struct work *work, const char *name)
{
    int why = program_find(name, &work->handler.path);
    if (why == 0) {
        return EX_OK;
    }
    return report(why == ENOMEM ? EX_OSERR : EX_UNAVAILABLE,
                  "%s: %s; expected a program to run for each job", quote(name).text,
                  why == ENOENT ? "no such program" : strerror(why));
}

/* Makes all checks that are possible before the store is opened. */
static int check(struct work *work, const struct arguments *arguments, char **program)
{
    int code = EX_OK;
    if (arguments->count == 0) {
        return report(EX_USAGE, "no tube; expected %s", arguments->command->operands);
    }
    if (program != NULL || arguments->count == 1) {
        code = work_tubes_read(&work->tubes, arguments);
    }
    if (code == EX_OK && program == NULL) {
        return report(EX_USAGE, "no -- with a program after it; expected %s",
                      arguments->command->operands);
    }
    if (code == EX_OK && program[0] == NULL) {
        return report(EX_USAGE, "no program after --; expected %s", arguments->command->operands);
    }
    if (code == EX_OK && work->options.retry_max_ns != 0 &&
        work->options.retry_max_ns < work->options.retry_base_ns) {
        return report(EX_USAGE, "--retry-max: less than --retry-delay; expected at least that");
    }
    if (code == EX_OK) {
        code = check_program(work, program[0]);
    }
    return code == EX_OK ? check_summary(work->summary) : code;
}

static void count_run(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                      int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct work *work = arg;
    tally_add(&work->tally, outcome, run_ns);
    handler_report(&work->handler, job, outcome, status, delay_ns);
}

static int run_job(weir_context *context, const struct weir_job *job, void *arg)
{
    struct work *work = arg;
    atomic_fetch_add(&work->tally.running, 1);
    int status = handler_run(&work->handler, context, job);
    atomic_fetch_sub(&work->tally.running, 1);
    return status;
}

/* The exit status at the end. */
static int choose_exit_status(const struct work *work, unsigned stops, enum weir_status status,
                              const struct weir_error *error)
{
    bool until_empty = (work->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    if (atomic_load(&work->handler.broken) != 0) {
        return EX_UNAVAILABLE;
    }
    if (status != WEIR_OK) {
        return report_status(status, work->tubes.label, error);
    }
    if (stops > 1 || (stops == 1 && until_empty)) {
        return EX_TEMPFAIL;
    }
    return until_empty && atomic_load(&work->tally.buried) > 0 ? EXIT_BURIED : EX_OK;
}

/* Reports the totals at the end. */
static int summarize(const struct work *work)
{
    int code = EX_OK;
    if ((work->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0) {
        tally_report(&work->tally, work->tubes.label);
    }
    if (work->summary != NULL) {
        code = tally_write(&work->tally, work->tubes.label, work->summary);
    }
    if (work->json && code == EX_OK) {
        code = tally_write(&work->tally, work->tubes.label, NULL);
    }
    return code;
}

/* Runs the consumer to its end. The store is open. */
static int work_on(struct work *work, weir_broker *broker)
{
    struct weir_error error = {""};
    weir_consumer *consumer = NULL;
    work->options.handler = run_job;
    work->options.after_run = count_run;
    work->options.arg = work;
    work->options.tubes = work->tubes.all;
    work->options.tube_count = work->tubes.count;
    enum weir_status status = weir_consumer_new(broker, NULL, &work->options, &consumer, &error);
    if (status != WEIR_OK) {
        return report_status(status, work->tubes.label, &error);
    }
    bool terminal = isatty(STDERR_FILENO) == 1;
    struct monitor monitor = {.consumer = consumer,
                              .broker = broker,
                              .tubes = &work->tubes,
                              .tally = &work->tally,
                              .progress = terminal || work->progress,
                              .terminal = terminal};
    work->handler.consumer = consumer;
    work->tally.started_ns = weir_clock_now(weir_clock_monotonic());
    status = weir_consumer_start(consumer, &error);
    if (status == WEIR_OK) {
        status = monitor_start(&monitor);
    }
    int code;
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, &error);
        monitor_stop(&monitor);
        work->tally.ended_ns = weir_clock_now(weir_clock_monotonic());
        code = choose_exit_status(work, atomic_load(&monitor.stops), status, &error);
        int told = summarize(work);
        code = code != EX_OK ? code : told;
    } else {
        code = report_status(status, work->tubes.label, &error);
    }
    weir_consumer_free(consumer);
    return code;
}

/* All steps between the checks and the exit. */
static int run_checked(struct work *work, const struct arguments *arguments)
{
    struct store store;
    guard_start();
    child_raise_limit(work->options.workers);
    monitor_block_signals(&work->mask);
    work->handler.mask = &work->mask;
    int code = store_open(&store, arguments, STORE_CHANGE);
    if (code == EX_OK) {
        work->handler.broker = store.url;
        code = work_on(work, store.broker);
    }
    store_close(&store);
    guard_stop();
    return code;
}

/* Splits the words at the first `--`: the words after it belong to the program, unchanged. NULL:
 * there is none. */
static char **split(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            *argc = i;
            return argv + i + 1;
        }
    }
    return NULL;
}

static int run_work(const struct command *command, int argc, char **argv)
{
    static struct work work = {.options = WEIR_CONSUMER_OPTIONS_INIT,
                               .handler = {.grace_ns = WEIR_SECONDS(5)}};
    struct arguments arguments;
    char **program = split(&argc, argv);
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &work);
    if (code == EX_OK && !arguments.helped) {
        code = check(&work, &arguments, program);
        if (code == EX_OK) {
            work.handler.argv = program;
            code = run_checked(&work, &arguments);
        }
    }
    free(work.handler.path);
    work_tubes_free(&work.tubes);
    arguments_free(&arguments);
    return code;
}

const struct command command_work = {
    .name = "work",
    .operands = "TUBE[=WEIGHT]... -- PROGRAM [ARGUMENT...]",
    .summary = "run a program for each job of some tubes",
    .examples = "  weir work mail -- ./send             the body on standard input; for ever\n"
                "  weir work -j 4 -e img -- ./convert   four at once, until the tube is empty\n"
                "  weir work mail=3 news -- ./send      three of mail to one of news\n"
                "  weir work --rate 100/m web -- ./fetch\n"
                "  weir work --deadline 30s --attempts 3 web -- ./fetch\n"
                "  weir work img -- sh -c 'read -r file; gzip -- \"$file\"'\n"
                "\n"
                "The program's exit status tells how the run went: 0 done, 75 or a signal retry;\n"
                "any other retry too, unless --bury-on names it.\n",
    .options = work_options,
    .run = run_work,
};
