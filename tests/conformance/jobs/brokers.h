/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BROKERS_H
#define WEIR_TEST_CONFORMANCE_BROKERS_H

#include <stdatomic.h>

#include <weir/consumer.h>
#include <weir/context.h>

#include "conformance/jobs/place.h"
#include "support/changes.h"

/* What the conformance tests of brokers share: consumers of a place, and looks at its jobs. */

/* --- consuming --- */

#define RUNS_MAX 400

/* What handlers did, in the order in which they began. */
struct runs {
    const char *tube; /* of all */
    _Atomic int count;
    _Atomic int ends[WEIR_RUN_CANCELED + 1]; /* by outcome */
    struct {
        char body[32];
        uint32_t attempts;
        int64_t began_ns;
    } run[RUNS_MAX];
    _Atomic int failures_left; /* the next so many runs fail */
    int answer;                /* of runs that do not fail; default WEIR_OK */
    /* Called in the handler; may be NULL. */
    void (*during)(weir_context *context, struct runs *runs);
    void *arg;
};

#define RUNS_EXPLANATION "the handler's own words"

static inline int runs_handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct runs *runs = arg;
    int number = atomic_fetch_add(&runs->count, 1);
    CHECK_INT(number, <, RUNS_MAX);
    size_t size = job->body_size < 31 ? job->body_size : 31;
    memcpy(runs->run[number].body, job->body, size);
    runs->run[number].attempts = job->attempts;
    runs->run[number].began_ns = place_now();
    CHECK_INT(job->run_at_ns, <=, runs->run[number].began_ns);
    CHECK_INT(job->state, ==, WEIR_JOB_RESERVED);
    CHECK_STRING(job->tube, runs->tube);
    if (runs->during != NULL) {
        runs->during(context, runs);
    }
    if (atomic_load(&runs->failures_left) > 0) {
        atomic_fetch_sub(&runs->failures_left, 1);
        CHECK_STATUS(weir_context_explain(context, RUNS_EXPLANATION), WEIR_OK);
        return WEIR_EUSER;
    }
    return weir_context_check(context) == WEIR_OK ? runs->answer : WEIR_ECANCELED;
}

static inline void runs_after(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                              int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct runs *runs = arg;
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    atomic_fetch_add(&runs->ends[outcome], 1);
}

static inline weir_consumer *place_consumer(const struct place *place, struct runs *runs,
                                            uint32_t workers, uint32_t attempts_max,
                                            int64_t retry_ns, uint32_t flags)
{
    struct weir_consumer_options options = {0};
    weir_consumer *consumer = NULL;
    struct weir_error error;
    runs->tube = place->tube;
    options.handler = runs_handle;
    options.after_run = runs_after;
    options.arg = runs;
    options.workers = workers;
    options.retry.attempts = attempts_max;
    options.retry.base_ns = retry_ns;
    options.flags = flags;
    CHECK_STATUS(weir_consumer_new(place->broker, place->tube, &options, &consumer, &error),
                 WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    return consumer;
}

static inline void place_wait(weir_consumer *consumer)
{
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

/* Ends a consumer once what it has begun is over. */
static inline void place_end(weir_consumer *consumer)
{
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    place_wait(consumer);
}

/* Consumes until the tube is empty. The consumer of a cluster ends where the nodes that answer have
 * no job left: a copy of one that is settled may be on a node that was slow, and another consumer
 * finds it. */
static inline void place_consume(const struct place *place, struct runs *runs, uint32_t workers,
                                 uint32_t attempts_max, int64_t retry_ns)
{
    bool has_copies = true;
    for (int pass = 0; pass < 5 && has_copies; pass++) {
        place_wait(place_consumer(place, runs, workers, attempts_max, retry_ns,
                                  WEIR_CONSUMER_UNTIL_EMPTY));
        struct weir_tube_counts left = place_counts(place);
        has_copies = place->is_cluster && left.delayed + left.ready + left.reserved > 0;
    }
}

/* --- looking --- */

/* What a peek showed last. */
struct shown {
    int count;
    char body[64];
    size_t body_size;
    char id[WEIR_JOB_ID_SIZE];
    char reason[WEIR_REASON_SIZE];
    struct weir_job job;
};

static inline int place_show(const struct weir_job *job, void *arg)
{
    struct shown *shown = arg;
    shown->count++;
    shown->job = *job;
    shown->body_size = job->body_size;
    memcpy(shown->body, job->body, job->body_size < 64 ? job->body_size : 64);
    (void)snprintf(shown->id, sizeof(shown->id), "%s", job->id);
    (void)snprintf(shown->reason, sizeof(shown->reason), "%s", job->reason);
    return 0;
}

/* Whether it keeps jobs that have ended: a removal finds each twice. */
static inline bool place_keeps(const struct place *place)
{
    return weir_broker_can(place->broker, WEIR_CAN_POLICIES);
}

static inline size_t place_remove(const struct place *place, const struct weir_job_id *id)
{
    const char *text = id->text;
    enum weir_status removed;
    CHECK_STATUS(change_remove(place->broker, &text, 1, &removed, NULL), WEIR_OK);
    return removed == WEIR_OK;
}

#endif
