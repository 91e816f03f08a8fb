/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    IDS_MAX = 4 /* of jobs that run are told */
};

void weiri_running_add(struct weiri_running *running, const struct weir_job *job)
{
    if (job->group == NULL || strcmp(job->group, running->group) != 0) {
        return;
    }
    size_t used = strcspn(running->ids, ")");
    if (running->count < IDS_MAX) {
        (void)snprintf(running->ids + used, sizeof(running->ids) - used, "%s%.20s)",
                       used == 0 ? " (" : ", ", job->id);
    } else if (running->count == IDS_MAX) {
        (void)snprintf(running->ids + used, sizeof(running->ids) - used, ", ...)");
    }
    running->count++;
}

static __attribute__((format(printf, 2, 3))) void say(struct weir_why *why, const char *format, ...)
{
    size_t used = strlen(why->text);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(why->text + used, sizeof(why->text) - used, format, values);
    va_end(values);
}

static void say_reason(struct weir_why *why, const struct weir_job *job)
{
    if (job->reason[0] != '\0') {
        say(why, ": %s", job->reason);
    }
}

/* Of a job that is delayed or ready. */
static void explain_wait(const struct weir_job *job, int64_t paused_until_ns, uint32_t group_limit,
                         const struct weiri_running *running, struct weir_why *why)
{
    bool is_paused = paused_until_ns > job->run_at_ns;
    bool is_full = job->group != NULL && group_limit > 0 && running->count >= group_limit;
    why->start_ns = is_paused ? paused_until_ns : job->run_at_ns;
    if (is_paused) {
        why->reason = WEIR_WHY_PAUSED;
        say(why, "tube %s is paused", job->tube);
    } else if (job->state == WEIR_JOB_READY && is_full) {
        why->reason = WEIR_WHY_GROUP;
        why->start_ns = 0; /* a run is renewed: nobody knows */
        say(why, "its group \"%s\" is full: %u of at most %u run%s", job->group,
            (unsigned)running->count, (unsigned)group_limit, running->ids);
        return;
    } else if (job->state == WEIR_JOB_READY) {
        why->reason = WEIR_WHY_WORKER;
        say(why, "no worker has taken it yet%s",
            job->is_suspect
                ? "; its last runs ended with their worker, which begins one such job at a time"
                : "");
    } else if (job->attempts > 0) {
        why->reason = WEIR_WHY_TIME;
        say(why, "it waits for its next run, after run %u", (unsigned)job->attempts);
        say_reason(why, job);
    } else {
        why->reason = WEIR_WHY_TIME;
        say(why, "its time has not come");
    }
    if (job->group != NULL) {
        say(why, "; %u of its group \"%s\" run%s", (unsigned)running->count, job->group,
            running->ids);
    }
}

void weiri_why_explain(const struct weir_job *job, int64_t paused_until_ns, uint32_t group_limit,
                       const struct weiri_running *running, struct weir_why *ret_why)
{
    struct weir_why why = {.state = job->state};
    unsigned attempts = (unsigned)job->attempts;
    switch (job->state) {
    case WEIR_JOB_RESERVED:
        why.reason = WEIR_WHY_RESERVED;
        why.owner = job->owner;
        why.start_ns = job->reserved_until_ns;
        say(&why, "a worker has it, run %u%s", attempts,
            job->owner_life == 2 ? ": its process does not live" : "");
        if (job->verdict != 0) {
            say(&why, "; it was asked to end, and is then %s",
                job->verdict == WEIR_VERDICT_BURY     ? "buried"
                : job->verdict == WEIR_VERDICT_REMOVE ? "deleted"
                                                      : "retried");
            say_reason(&why, job);
        }
        break;
    case WEIR_JOB_BURIED:
        why.reason = WEIR_WHY_BURIED;
        say(&why, "buried after run %u", attempts);
        say_reason(&why, job);
        break;
    case WEIR_JOB_ENDED:
        why.reason = WEIR_WHY_DONE;
        say(&why, "it %s %s, after run %u", job->end == WEIR_RUN_DONE ? "is" : "was",
            weir_job_outcome_name(job->end), attempts);
        say_reason(&why, job);
        break;
    default:
        explain_wait(job, paused_until_ns, group_limit, running, &why);
        break;
    }
    if (job->key != NULL) {
        say(&why, "; it has the key \"%s\"", job->key);
    }
    *ret_why = why;
}
