/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/jobs.h>
#include <weir/weir.h>

#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/guard.h"
#include "cli/init.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/worker.h"

/* The time between two updates of the progress on a terminal, and between lines elsewhere. */
#define TERMINAL_MS 250
#define LINES_MS 1000

/* The exit status if jobs were buried, with --until-empty. */
#define EXIT_BURIED 1

enum work_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_PROGRESS,
    OPTION_SUMMARY,
    OPTION_UNTIL_EMPTY
};

static const struct poptOption work_options[] = {
    OPTION_FLAG("until-empty", 'e', OPTION_UNTIL_EMPTY,
                "End once no job of the tubes is delayed, ready or reserved"),
    WORKER_OPTIONS,
    OPTION_FLAG("progress", '\0', OPTION_PROGRESS,
                "Show progress even where standard error is no terminal"),
    OPTION_VALUE("summary", '\0', OPTION_SUMMARY,
                 "At the end write the counts and run times to this file, as JSON", "FILE"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "At the end print the same on standard output"),
    POPT_TABLEEND,
};

struct work {
    struct worker worker;
    struct signals signals;
    char **program;      /* NULL: none was given */
    const char *summary; /* File, or NULL. */
    bool json;
    bool progress;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct work *work = arg;
    switch ((enum work_option)option) {
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
        work->worker.options.flags |= WEIR_CONSUMER_UNTIL_EMPTY;
        return EX_OK;
    }
    return worker_set(option, name, text, &work->worker);
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

/* Makes all checks that are possible before the store is opened. */
static int check(struct work *work, const struct arguments *arguments)
{
    char **program = work->program;
    int code = EX_OK;
    if (arguments->count == 0) {
        return report(EX_USAGE, "no tube; expected %s", arguments->command->operands);
    }
    if (program != NULL || arguments->count == 1) {
        code = work_tubes_read(&work->worker.tubes, arguments->operands, arguments->count);
    }
    if (code == EX_OK && program == NULL) {
        return report(EX_USAGE, "no -- with a program after it; expected %s",
                      arguments->command->operands);
    }
    if (code == EX_OK && program[0] == NULL) {
        return report(EX_USAGE, "no program after --; expected %s", arguments->command->operands);
    }
    if (code == EX_OK) {
        code = worker_check(&work->worker, program, "", "--");
    }
    return code == EX_OK ? check_summary(work->summary) : code;
}

/* The exit status at the end. */
static int choose_exit_status(const struct work *work)
{
    unsigned stops = work->signals.stops;
    bool until_empty = (work->worker.options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    if (atomic_load(&work->worker.handler.broken) != 0) {
        return EX_UNAVAILABLE;
    }
    if (work->worker.status != WEIR_OK) {
        return report_status(work->worker.status, work->worker.tubes.label, &work->worker.error);
    }
    if (stops > 1 || (stops == 1 && until_empty)) {
        return EX_TEMPFAIL;
    }
    return until_empty && atomic_load(&work->worker.tally.buried) > 0 ? EXIT_BURIED : EX_OK;
}

/* Reports the totals at the end. */
static int summarize(const struct work *work)
{
    int code = EX_OK;
    if ((work->worker.options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0) {
        tally_report(&work->worker.tally, work->worker.tubes.label);
    }
    if (work->summary != NULL) {
        code = tally_write(&work->worker.tally, work->worker.tubes.label, work->summary);
    }
    if (work->json && code == EX_OK) {
        code = tally_write(&work->worker.tally, work->worker.tubes.label, NULL);
    }
    return code;
}

/* --- running --- */

/* Tells what this process knows, and asks nothing of the broker, which would count its jobs. */
static void show_progress(const struct worker *worker, bool terminal)
{
    const struct tally *tally = &worker->tally;
    report_progress(terminal,
                    "%s: %" PRIuFAST64 " done (%.0f/s), %" PRIuFAST64 " running, %" PRIuFAST64
                    " retries, %" PRIuFAST64 " buried",
                    worker->tubes.label, atomic_load(&tally->done), tally_rate(tally),
                    atomic_load(&tally->running), atomic_load(&tally->retried),
                    atomic_load(&tally->buried));
}

static void take_signal(struct work *work)
{
    int number = signals_read(&work->signals);
    if (number != 0 &&
        signals_count(&work->signals, number, weir_clock_now(weir_clock_monotonic()))) {
        uint64_t running = atomic_load(&work->worker.tally.running);
        worker_stop(&work->worker, work->signals.stops > 1);
        signals_tell(&work->signals, running);
    }
}

/* Takes the signals and shows progress until the worker has ended. */
static void attend(struct work *work, int ended)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    int timeout = terminal ? TERMINAL_MS : work->progress ? LINES_MS : -1;
    struct pollfd pollers[] = {{.fd = work->signals.fd, .events = POLLIN},
                               {.fd = ended, .events = POLLIN}};
    while (pollers[1].revents == 0) {
        int count = poll(pollers, 2, timeout);
        if (count > 0 && pollers[0].revents != 0) {
            take_signal(work);
        }
        if (count == 0) {
            show_progress(&work->worker, terminal);
        }
    }
    report_progress_end();
}

/* Runs the worker to its end. The store is open. */
static int work_on(struct work *work, const struct store *store)
{
    struct worker *worker = &work->worker;
    int ended = eventfd(0, EFD_CLOEXEC);
    enum weir_status status = WEIR_EIO;
    if (work->signals.fd >= 0 && ended >= 0) {
        status = worker_start(worker, store->broker, store->url, &work->signals.before, ended);
    }
    if (status != WEIR_OK) {
        return report_status(status, worker->tubes.label, &worker->error);
    }
    attend(work, ended);
    worker_end(worker);
    int code = choose_exit_status(work);
    int told = summarize(work);
    return code != EX_OK ? code : told;
}

static int act(struct arguments *arguments, void *arg)
{
    struct work *work = arg;
    struct store store;
    int code = check(work, arguments);
    if (code != EX_OK) {
        return code;
    }
    init_start();
    guard_start();
    child_raise_limit(work->worker.options.workers);
    signals_block(&work->signals, false);
    code = store_open(&store, arguments, STORE_CHANGE);
    if (code == EX_OK) {
        code = work_on(work, &store);
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
    static struct work work = {.worker = WORKER_INIT};
    work.program = split(&argc, argv);
    int code = arguments_run(command, argc, argv, set_option, act, &work);
    worker_free(&work.worker);
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
