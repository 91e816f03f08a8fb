/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Why a job does not run: what is known of it is read, and put into words (core/why.c). */
#include "base/error.h"
#include "jobs/broker.h"
#include "jobs/core/job.h"

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

static int keep_pause(const struct weir_tube_counts *tube, void *arg)
{
    *(int64_t *)arg = tube->paused_until_ns;
    return 1;
}

static int add_running(const struct weir_job *job, void *arg)
{
    weiri_running_add(arg, job);
    return 0;
}

static enum weir_status explain(weir_broker *broker, const struct weir_job *job,
                                struct weir_why *ret_why, struct weir_error *ret_error)
{
    int64_t paused_until_ns = 0;
    struct weir_tube_policy policy = {0};
    struct weiri_running running = {.group = job->group};
    const struct weir_job_filter reserved = {
        .tube = job->tube, .state = WEIR_JOB_RESERVED, .first = SIZE_MAX, .no_bodies = 1};
    bool asks_group = job->group != NULL && job->state <= WEIR_JOB_READY;
    enum weir_status status =
        weir_broker_find_tubes(broker, job->tube, keep_pause, &paused_until_ns, ret_error);
    if (status == WEIR_OK && weir_broker_can(broker, WEIR_CAN_POLICIES)) {
        status = weir_broker_policy(broker, job->tube, &policy, NULL, ret_error);
    }
    if (status == WEIR_OK && asks_group) {
        status = weir_broker_list(broker, &reserved, add_running, &running, ret_error);
    }
    if (status == WEIR_OK) {
        weiri_why_explain(job, paused_until_ns, policy.group_limit, &running, ret_why);
    }
    return status;
}

enum weir_status weir_broker_why(weir_broker *broker, const char *id, struct weir_why *ret_why,
                                 struct weir_error *ret_error)
{
    const struct weir_job_filter one = {.id = id, .no_bodies = 1};
    struct kept kept = {.broker = broker};
    enum weir_status status = weiri_broker_enter_for(broker, 0, id == NULL ? "id" : "ret_why",
                                                     id != NULL && ret_why != NULL, ret_error);
    if (status == WEIR_OK) {
        status = weir_broker_list(broker, &one, keep_job, &kept, ret_error);
    }
    if (status != WEIR_OK || kept.copy == NULL) {
        return status != WEIR_OK ? status : weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    int64_t now_ns = broker->ops->now(broker->store);
    struct weir_job *job = &kept.copy->job;
    if (job->state == WEIR_JOB_READY && job->run_at_ns > now_ns && /* the clock was set back */
        weir_broker_can(broker, WEIR_CAN_LIST)) {                  /* not so of a cluster's */
        job->run_at_ns = now_ns;
    }
    status = explain(broker, job, ret_why, ret_error);
    weiri_reservation_free(&broker->config.allocator, kept.copy);
    return status;
}
