/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Why a job does not run. */
#include <weir/admin.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "jobs/broker.h"

struct kept {
    weir_broker *broker;
    struct weiri_reservation *copy; /* NULL: out of memory */
};

static int keep_job(const struct weir_job *job, void *arg)
{
    struct kept *kept = arg;
    void *body; /* is left out */
    kept->copy = weiri_reservation_new(&kept->broker->config.allocator, job, 0, &body);
    return 0;
}

static int keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    *(struct weir_tube_counts *)arg = *counts;
    return 1;
}

/* ": what happened before", or nothing. */
static void add_reason(struct weir_why *why, const char *reason)
{
    size_t used = strlen(why->text);
    if (reason[0] != '\0') {
        (void)snprintf(why->text + used, sizeof(why->text) - used, ": %s", reason);
    }
}

/* For a job that waits. */
static void explain_wait(struct weir_why *why, const struct weir_job *job,
                         const struct weir_tube_counts *counts)
{
    bool is_paused = counts->paused_until_ns > job->run_at_ns;
    why->start_ns = is_paused ? counts->paused_until_ns : job->run_at_ns;
    if (is_paused) {
        why->reason = WEIR_WHY_PAUSED;
        (void)snprintf(why->text, sizeof(why->text), "tube %s is paused", job->tube);
    } else if (job->state == WEIR_JOB_READY) {
        why->reason = WEIR_WHY_WORKER;
        (void)snprintf(why->text, sizeof(why->text),
                       "no worker has taken it yet: tube %s has %" PRIu64 " ready, %" PRIu64
                       " reserved",
                       job->tube, counts->ready, counts->reserved);
    } else if (job->attempts > 0) {
        why->reason = WEIR_WHY_TIME;
        (void)snprintf(why->text, sizeof(why->text), "it waits for its next run, after run %u",
                       (unsigned)job->attempts);
        add_reason(why, job->reason);
    } else {
        why->reason = WEIR_WHY_TIME;
        (void)snprintf(why->text, sizeof(why->text), "its time has not come");
    }
}

enum {
    GROUP_NAMES = 4 /* of jobs that run are told */
};

struct group {
    const char *name;
    uint32_t running;
    char jobs[128]; /* " (17, 20)"; "": none */
};

static int count_group(const struct weir_job *job, void *arg)
{
    struct group *group = arg;
    if (job->group == NULL || strcmp(job->group, group->name) != 0) {
        return 0;
    }
    size_t used = strcspn(group->jobs, ")");
    if (group->running < GROUP_NAMES) {
        (void)snprintf(group->jobs + used, sizeof(group->jobs) - used, "%s%.20s)",
                       used == 0 ? " (" : ", ", job->id);
    } else if (group->running == GROUP_NAMES) {
        (void)snprintf(group->jobs + used, sizeof(group->jobs) - used, ", ...)");
    }
    group->running++;
    return 0;
}

/* Which jobs of its group run, and whether these are all that may. */
static enum weir_status add_group(weir_broker *broker, const struct weir_job *job,
                                  uint32_t group_limit, struct weir_why *why,
                                  struct weir_error *ret_error)
{
    struct group group = {.name = job->group};
    enum weir_status status = weir_broker_peek(broker, job->tube, WEIR_JOB_RESERVED, SIZE_MAX,
                                               count_group, &group, ret_error);
    size_t used = strlen(why->text);
    if (group_limit > 0 && group.running >= group_limit && why->reason == WEIR_WHY_WORKER) {
        why->reason = WEIR_WHY_GROUP;
        why->start_ns = 0;
        (void)snprintf(why->text, sizeof(why->text),
                       "its group \"%s\" is full: %u of at most %u run%s", group.name,
                       (unsigned)group.running, (unsigned)group_limit, group.jobs);
    } else {
        (void)snprintf(why->text + used, sizeof(why->text) - used, "; %u of its group \"%s\" run%s",
                       (unsigned)group.running, group.name, group.jobs);
    }
    return status;
}

static enum weir_status explain(weir_broker *broker, const struct weir_job *job,
                                struct weir_why *ret_why, struct weir_error *ret_error)
{
    struct weir_tube_counts counts = {.delayed = 0};
    enum weir_status status = weir_broker_tubes(broker, job->tube, keep_counts, &counts, ret_error);
    struct weir_tube_policy policy = {0};
    if (status == WEIR_OK && weir_broker_can(broker, WEIR_CAN_POLICIES)) {
        status = weir_broker_policy(broker, job->tube, &policy, NULL, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_why why = {.state = job->state};
    switch (job->state) {
    case WEIR_JOB_RESERVED:
        why.reason = WEIR_WHY_RESERVED;
        why.owner = job->owner;
        why.start_ns = job->reserved_until_ns;
        (void)snprintf(why.text, sizeof(why.text), "a worker has it, run %u",
                       (unsigned)job->attempts);
        break;
    case WEIR_JOB_BURIED:
        why.reason = WEIR_WHY_BURIED;
        (void)snprintf(why.text, sizeof(why.text), "buried after run %u", (unsigned)job->attempts);
        add_reason(&why, job->reason);
        break;
    case WEIR_JOB_ARCHIVED:
        why.reason = WEIR_WHY_DONE;
        (void)snprintf(why.text, sizeof(why.text), "it is done, after run %u",
                       (unsigned)job->attempts);
        break;
    default:
        explain_wait(&why, job, &counts);
        break;
    }
    if (job->group != NULL && job->state <= WEIR_JOB_READY) {
        status = add_group(broker, job, policy.group_limit, &why, ret_error);
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (job->key != NULL) {
        size_t used = strlen(why.text);
        (void)snprintf(why.text + used, sizeof(why.text) - used, "; it has the key \"%s\"",
                       job->key);
    }
    *ret_why = why;
    return WEIR_OK;
}

enum weir_status weir_broker_why(weir_broker *broker, const char *id, struct weir_why *ret_why,
                                 struct weir_error *ret_error)
{
    struct kept kept = {.broker = broker};
    enum weir_status status = weiri_check_given("ret_why", ret_why, ret_error);
    if (status == WEIR_OK) {
        status = weir_broker_peek_id(broker, id, keep_job, &kept, ret_error);
    }
    if (status != WEIR_OK || kept.copy == NULL) {
        return status != WEIR_OK ? status : weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    status = explain(broker, &kept.copy->job, ret_why, ret_error);
    weiri_reservation_free(&broker->config.allocator, kept.copy);
    return status;
}
