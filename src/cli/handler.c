/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/duration.h>

#include "cli/child.h"
#include "cli/environment.h"
#include "cli/report.h"
#include "view/text.h"

/* The end of a program as a status, for the consumer and handler_report(): from WEIR_EUSER up, the
 * exit status, or this and the signal. */
#define STATUS_SIGNAL 256

/* Up to three digits, at most 255. */
static bool read_status(const char **at, unsigned *ret_number)
{
    unsigned number = 0;
    size_t count = strspn(*at, "0123456789");
    if (count == 0 || count > 3) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + (unsigned)(*(*at)++ - '0');
    }
    *ret_number = number;
    return number <= 255;
}

int handler_read_statuses(const char *name, const char *text, struct handler *handler)
{
    const char *at = text;
    bool valid = true;
    do {
        unsigned first = 0;
        valid = read_status(&at, &first);
        unsigned last = first;
        if (valid && *at == '-') {
            at++;
            valid = read_status(&at, &last);
        }
        valid = valid && (*at == ',' || *at == '\0') && first <= last && first > 0 &&
                (last < EX_TEMPFAIL || first > EX_TEMPFAIL);
        for (unsigned i = first; valid && i <= last; i++) {
            handler->bury[i] = true;
        }
    } while (valid && *at++ == ',');
    if (!valid) {
        return report(EX_USAGE,
                      "%s: %s: expected exit statuses such as 1,3,64-70, from 1 to 255 without %d",
                      name, quote(text).text, EX_TEMPFAIL);
    }
    return EX_OK;
}

int handler_read_mode(const char *name, const char *text, struct handler *handler)
{
    bool is_lines = strcmp(text, "lines") == 0;
    if (!is_lines && strcmp(text, "frames") != 0) {
        return report(EX_USAGE, "%s: %s: expected lines or frames", name, quote(text).text);
    }
    handler->residents.mode = is_lines ? RESIDENT_LINES : RESIDENT_FRAMES;
    return EX_OK;
}

/* Errors that a retry cannot mend: the program does not exist or cannot be run. */
static bool is_broken(int why)
{
    return why == ENOENT || why == EACCES || why == ENOEXEC || why == ENOTDIR || why == ELOOP ||
           why == EPERM || why == E2BIG;
}

/* Errors that pass: the system lacks a resource, or the program is just being replaced. */
static bool is_shortage(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOMEM || why == EAGAIN || why == ENOSPC ||
           why == ETXTBSY;
}

/* A shortage is no failure of the job. It is reported once, not for every job that it delays. */
static int put_off(struct handler *handler, int why)
{
    if (atomic_exchange(&handler->lacking, why) != why) {
        (void)report(
            0, "%s: cannot be run now: %s; its jobs are given back uncounted, and tried again",
            quote(handler->path).text, strerror(why));
    }
    return WEIR_EAGAIN;
}

/* The program is gone. The consumer ends before any run of its jobs does: jobs that were begun
 * meanwhile are given back, and do not count as failed. */
static int give_up(const struct handler *handler)
{
    (void)weir_consumer_end(handler->consumer, WEIR_END_FINISH, 0, NULL);
    return WEIR_ECANCELED;
}

/* Handles a program that could not be started. If it never can be, no more jobs are taken. */
static int refuse_start(struct handler *handler, const struct weir_job *job, int why)
{
    if (is_shortage(why)) {
        return put_off(handler, why);
    }
    if (!is_broken(why)) {
        (void)report(0, "job %s: %s: cannot be run: %s", job->id, quote(handler->path).text,
                     strerror(why));
        return WEIR_EIO;
    }
    int expected = 0;
    int status = give_up(handler);
    if (atomic_compare_exchange_strong(&handler->broken, &expected, why)) {
        (void)report(0, "%s: cannot be run: %s; stopping", quote(handler->path).text,
                     strerror(why));
    }
    return status;
}

/* Writes the last line that the program wrote, as it may be shown, or "". A line that is longer
 * than what is kept of it begins in its middle. */
static void last_line(const struct child_end *end, char line[RESIDENT_REASON_SIZE])
{
    char text[CAPTURE_TAIL_SIZE + 1] = "";
    size_t last = 0;
    for (size_t i = 0; i < end->tail_size; i++) {
        text[i] = end->tail[i] == '\0' ? ' ' : end->tail[i];
        last = strchr(" \t\r\n", text[i]) == NULL ? i + 1 : last;
    }
    text[last] = '\0';
    const char *newline = strrchr(text, '\n');
    (void)text_escape_message(newline == NULL ? text : newline + 1, line, RESIDENT_REASON_SIZE);
}

/* Tells how the program ended, for the job's reason and history. */
static void describe(const struct control_run *run, const struct resident_end *ended)
{
    const struct child_end *end = &ended->child;
    char reason[RESIDENT_REASON_SIZE + 32];
    char line[RESIDENT_REASON_SIZE];
    struct weir_run_details details = {0};
    last_line(end, line);
    const char *said = ended->reason[0] != '\0' ? ended->reason : line;
    if (end->ended_by != WEIR_OK) {
        (void)snprintf(reason, sizeof(reason), "%s", weir_status_text((int)end->ended_by));
    } else {
        (void)snprintf(reason, sizeof(reason), "%s %d%s%s", end->exited ? "exit status" : "signal",
                       end->number, said[0] != '\0' ? ": " : "", said);
    }
    (void)weir_context_explain(run->context,
                               run->is_buried && end->ended_by == WEIR_OK ? run->reason : reason);
    details.tail = end->tail;
    details.tail_size = end->tail_size;
    details.exit_status = end->exited ? end->number : 0;
    details.signal = end->exited ? 0 : end->number;
    details.retry_ns = run->retry_ns;
    enum weir_status described = weir_job_describe(run->context, &details);
    (void)described; /* The context is that of the run. */
}

/* The status of a run, from its program's end and what it told before. */
static int judge(const struct handler *handler, const struct control_run *run,
                 const struct resident_end *ended)
{
    const struct child_end *end = &ended->child;
    bool has_succeeded = end->ended_by == WEIR_OK && end->exited && end->number == 0;
    if (has_succeeded && run->retry_ns == 0 && !run->is_buried) {
        if (run->result[0] != '\0') {
            (void)weir_context_explain(run->context, run->result);
        }
        return WEIR_OK;
    }
    describe(run, ended);
    if (end->ended_by != WEIR_OK) {
        return (int)end->ended_by;
    }
    if (run->is_buried) {
        return WEIR_ESTOP;
    }
    if (run->retry_ns > 0 && has_succeeded) {
        return WEIR_EAGAIN;
    }
    if (!end->exited) {
        return WEIR_EUSER + STATUS_SIGNAL + end->number;
    }
    return handler->bury[end->number] && run->retry_ns == 0 ? WEIR_ESTOP : WEIR_EUSER + end->number;
}

int handler_run(struct handler *handler, weir_context *context, const struct weir_job *job)
{
    bool is_persistent = handler->residents.mode != RESIDENT_NONE;
    if (atomic_load(&handler->broken) != 0) {
        return WEIR_ECANCELED;
    }
    if (!resident_takes(&handler->residents, job)) {
        (void)weir_context_explain(
            context, "its body has a newline, which --persistent lines cannot hand on");
        return WEIR_ESTOP;
    }
    char **environment = environment_new(is_persistent ? NULL : job, handler->broker);
    if (environment == NULL) {
        return put_off(handler, ENOMEM);
    }
    struct child_request request = {.path = handler->path,
                                    .argv = handler->argv,
                                    .environment = environment,
                                    .input = job->body,
                                    .input_size = job->body_size,
                                    .grace_ns = handler->grace_ns,
                                    .mask = handler->mask};
    struct control_run run = control_begin(context, job, handler->deadline_ns);
    struct resident_end ended = {.reason = ""};
    int why = is_persistent ? resident_run(&handler->residents, &request, &run, &ended)
                            : child_run(&request, &run, &ended.child);
    free(environment);
    /* A failed run: other jobs' environments may be shorter, or the worker's own is what is too
     * long. A persistent program's has no headers. */
    if (why == E2BIG && !is_persistent && job->headers != NULL && job->headers[0] != '\0') {
        (void)weir_context_explain(
            context, "its headers and the environment are longer than a program may be "
                     "given");
        return WEIR_ETOOBIG;
    }
    return why == 0 ? judge(handler, &run, &ended) : refuse_start(handler, job, why);
}

void handler_report(const struct handler *handler, const struct weir_job *job,
                    enum weir_run_outcome outcome, int status, int64_t delay_ns)
{
    char delay[32];
    if (outcome == WEIR_RUN_BURIED) {
        (void)report(0, "job %s: buried after run %u: %s", job->id, job->attempts, job->reason);
    } else if (outcome == WEIR_RUN_CANCELED) {
        (void)report(0, "job %s: run %u was canceled", job->id, job->attempts);
    } else if (outcome == WEIR_RUN_LOST) {
        (void)report(0, "job %s: the reservation ended before run %u did; it will run again",
                     job->id, job->attempts);
    } else if (outcome == WEIR_RUN_RETURNED && handler->verbose) {
        (void)weir_duration_format(delay_ns, delay, sizeof(delay));
        (void)report(0, "job %s: run %u: %s; given back%s%s", job->id, job->attempts,
                     weir_status_text(status), delay_ns > 0 ? ", again in " : "",
                     delay_ns > 0 ? delay : "");
    } else if (outcome == WEIR_RUN_RETRY && handler->verbose) {
        (void)weir_duration_format(delay_ns, delay, sizeof(delay));
        (void)report(0, "job %s: run %u: %s; again in %s", job->id, job->attempts, job->reason,
                     delay);
    }
}
