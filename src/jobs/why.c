/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Why a job does not run. */
#include <weir/admin.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "jobs/broker.h"

struct facts {
    enum weir_job_state state;
    int64_t run_at_ns;
    int64_t reserved_until_ns;
    int64_t owner;
    uint32_t attempts;
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    char reason[WEIR_REASON_SIZE];
    char key[WEIR_KEY_SIZE_MAX + 1];     /* "": none */
    char group[WEIR_GROUP_SIZE_MAX + 1]; /* "": none */
};

static int keep_job(const struct weir_job *job, void *arg)
{
    struct facts *facts = arg;
    facts->state = job->state;
    facts->run_at_ns = job->run_at_ns;
    facts->reserved_until_ns = job->reserved_until_ns;
    facts->owner = job->owner;
    facts->attempts = job->attempts;
    (void)snprintf(facts->tube, sizeof(facts->tube), "%s", job->tube);
    (void)snprintf(facts->reason, sizeof(facts->reason), "%s", job->reason);
    (void)snprintf(facts->key, sizeof(facts->key), "%s", job->key == NULL ? "" : job->key);
    (void)snprintf(facts->group, sizeof(facts->group), "%s", job->group == NULL ? "" : job->group);
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
static void explain_wait(struct weir_why *why, const struct facts *facts,
                         const struct weir_tube_counts *counts)
{
    bool is_paused = counts->paused_until_ns > facts->run_at_ns;
    why->start_ns = is_paused ? counts->paused_until_ns : facts->run_at_ns;
    if (is_paused) {
        why->reason = WEIR_WHY_PAUSED;
        (void)snprintf(why->text, sizeof(why->text), "tube %s is paused", facts->tube);
    } else if (facts->state == WEIR_JOB_READY) {
        why->reason = WEIR_WHY_WORKER;
        (void)snprintf(why->text, sizeof(why->text),
                       "no worker has taken it yet: tube %s has %" PRIu64 " ready, %" PRIu64
                       " reserved",
                       facts->tube, counts->ready, counts->reserved);
    } else if (facts->attempts > 0) {
        why->reason = WEIR_WHY_TIME;
        (void)snprintf(why->text, sizeof(why->text), "it waits for its next run, after run %u",
                       (unsigned)facts->attempts);
        add_reason(why, facts->reason);
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
static enum weir_status add_group(weir_broker *broker, const struct facts *facts,
                                  uint32_t group_limit, struct weir_why *why,
                                  struct weir_error *ret_error)
{
    struct group group = {.name = facts->group};
    enum weir_status status = weir_broker_peek(broker, facts->tube, WEIR_JOB_RESERVED, SIZE_MAX,
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

enum weir_status weir_broker_why(weir_broker *broker, const char *id, struct weir_why *ret_why,
                                 struct weir_error *ret_error)
{
    struct facts facts = {.state = WEIRI_JOB_GONE};
    struct weir_tube_counts counts;
    memset(&counts, 0, sizeof(counts));
    enum weir_status status = weiri_check_given("ret_why", ret_why, ret_error);
    if (status == WEIR_OK) {
        status = weir_broker_peek_id(broker, id, keep_job, &facts, ret_error);
    }
    if (status == WEIR_OK) {
        status = weir_broker_tubes(broker, facts.tube, keep_counts, &counts, ret_error);
    }
    struct weir_tube_policy policy = {0};
    if (status == WEIR_OK && weir_broker_can(broker, WEIR_CAN_POLICIES)) {
        status = weir_broker_policy(broker, facts.tube, &policy, NULL, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_why why = {.state = facts.state};
    switch (facts.state) {
    case WEIR_JOB_RESERVED:
        why.reason = WEIR_WHY_RESERVED;
        why.owner = facts.owner;
        why.start_ns = facts.reserved_until_ns;
        (void)snprintf(why.text, sizeof(why.text), "a worker has it, run %u",
                       (unsigned)facts.attempts);
        break;
    case WEIR_JOB_BURIED:
        why.reason = WEIR_WHY_BURIED;
        (void)snprintf(why.text, sizeof(why.text), "buried after run %u", (unsigned)facts.attempts);
        add_reason(&why, facts.reason);
        break;
    case WEIR_JOB_ARCHIVED:
        why.reason = WEIR_WHY_DONE;
        (void)snprintf(why.text, sizeof(why.text), "it is done, after run %u",
                       (unsigned)facts.attempts);
        break;
    default:
        explain_wait(&why, &facts, &counts);
        break;
    }
    if (facts.group[0] != '\0' && facts.state <= WEIR_JOB_READY) {
        status = add_group(broker, &facts, policy.group_limit, &why, ret_error);
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (facts.key[0] != '\0') {
        size_t used = strlen(why.text);
        (void)snprintf(why.text + used, sizeof(why.text) - used, "; it has the key \"%s\"",
                       facts.key);
    }
    *ret_why = why;
    return WEIR_OK;
}
