/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/pipes.h"
#include "cli/report.h"

#define PIPE_SIZE 65536

/* What no descriptor tells is seen after this time at most: that a program is stopped, and a
 * cancellation where descriptors are scarce. The deadline is known in advance and is met to
 * the millisecond. */
#define CONTEXT_CHECK_NS WEIR_MS(100)

/* Of a line: what follows its first word. Returns whether the line makes sense. */
typedef bool tell_fn(struct control_run *run, const char *rest);

static int64_t now(void)
{
    return weir_clock_now(weir_clock_monotonic());
}

static void set_deadline(struct control_run *run, int64_t allowed_ns)
{
    int64_t at = now();
    bool is_never = allowed_ns == 0 || allowed_ns > INT64_MAX - at;
    run->allowed_ns = allowed_ns;
    run->until_ns = is_never ? 0 : at + allowed_ns;
}

struct control_run control_begin(weir_context *context, const struct weir_job *job,
                                 int64_t allowed_ns)
{
    struct control_run run = {.context = context, .job = job};
    set_deadline(&run, allowed_ns);
    return run;
}

void control_restart(struct control_run *run)
{
    set_deadline(run, run->allowed_ns);
}

int64_t control_left(const struct control_run *run)
{
    if (run->until_ns == 0) {
        return WEIR_FOREVER;
    }
    int64_t left = run->until_ns - now();
    return left > 0 ? left : 0;
}

enum weir_status control_check(const struct control_run *run)
{
    enum weir_status status = weir_context_check(run->context);
    return status == WEIR_OK && control_left(run) == 0 ? WEIR_ETIMEDOUT : status;
}

int64_t control_check_ns(const struct control_run *run)
{
    int64_t of_context = weir_context_remaining(run->context);
    int64_t left = control_left(run);
    left = left < of_context ? left : of_context;
    return left < CONTEXT_CHECK_NS ? left : CONTEXT_CHECK_NS;
}

/* --- lines --- */

static bool tell_progress(struct control_run *run, const char *rest)
{
    char *end;
    if (rest[0] < '0' || rest[0] > '9') {
        return false;
    }
    unsigned long percent = strtoul(rest, &end, 10);
    return *end == '\0' && percent <= 100 &&
           weir_job_progress(run->context, (int32_t)percent) == WEIR_OK;
}

static bool tell_touch(struct control_run *run, const char *rest)
{
    if (rest[0] == '\0') {
        control_restart(run);
    }
    return rest[0] == '\0';
}

/* A duration of at least 1 ns. */
static bool read_time(const char *text, int64_t *ret_ns)
{
    return weir_duration_parse(text, ret_ns, NULL) == WEIR_OK && *ret_ns > 0;
}

static bool tell_deadline(struct control_run *run, const char *rest)
{
    int64_t allowed = 0;
    bool is_valid = strcmp(rest, "none") == 0 || read_time(rest, &allowed);
    if (is_valid) {
        set_deadline(run, allowed);
    }
    return is_valid;
}

static bool tell_retry(struct control_run *run, const char *rest)
{
    int64_t retry = 0;
    bool is_valid = read_time(rest, &retry);
    if (is_valid) {
        run->retry_ns = retry;
        run->is_buried = false;
    }
    return is_valid;
}

static bool tell_bury(struct control_run *run, const char *rest)
{
    run->is_buried = true;
    run->retry_ns = 0;
    (void)snprintf(run->reason, sizeof(run->reason), "%s",
                   rest[0] != '\0' ? rest : "buried by its handler");
    return true;
}

static bool tell_result(struct control_run *run, const char *rest)
{
    (void)snprintf(run->result, sizeof(run->result), "%s", rest);
    return rest[0] != '\0';
}

static const struct {
    const char *word;
    tell_fn *tell;
} words[] = {
    {"progress", tell_progress}, {"touch", tell_touch}, {"deadline", tell_deadline},
    {"retry", tell_retry},       {"bury", tell_bury},   {"result", tell_result},
};

static void complain(struct control_run *run, const char *line)
{
    if (!run->has_complained) {
        (void)report(0,
                     "job %s: control line %s: expected progress 0 to 100, touch, deadline "
                     "DURATION or none, retry DURATION, bury [REASON] or result TEXT",
                     run->job->id, quote(line).text);
    }
    run->has_complained = true;
}

static void obey(struct control_run *run, const char *line)
{
    size_t size = strcspn(line, " ");
    const char *rest = line + size + strspn(line + size, " ");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == size && memcmp(words[i].word, line, size) == 0) {
            if (!words[i].tell(run, rest)) {
                complain(run, line);
            }
            return;
        }
    }
    complain(run, line);
}

/* Ends the line that is being read. */
static void end_line(struct control *control, struct control_run *run)
{
    control->line[control->used] = '\0';
    if (run != NULL && control->is_skipped) {
        complain(run, control->line);
    } else if (run != NULL) {
        obey(run, control->line);
    }
    control->used = 0;
    control->is_skipped = false;
}

static void take(struct control *control, struct control_run *run, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            end_line(control, run);
        } else if (control->used < CONTROL_LINE_SIZE - 1) {
            control->line[control->used++] = bytes[i];
        } else {
            control->is_skipped = true;
        }
    }
}

void control_read(struct control *control, struct control_run *run)
{
    char bytes[4096];
    size_t total = 0;
    ssize_t size = 1;
    while (control->reader >= 0 && size > 0 && total < PIPE_SIZE) {
        size = read(control->reader, bytes, sizeof(bytes));
        if (size > 0) {
            take(control, run, bytes, (size_t)size);
            total += (size_t)size;
        } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
            pipe_close(&control->reader);
        }
    }
}

void control_finish(struct control *control, struct control_run *run)
{
    control_read(control, run);
    if (control->used > 0) {
        end_line(control, run);
    }
}
