/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BROKERS_H
#define WEIR_TEST_CONFORMANCE_BROKERS_H

#include <stdatomic.h>

#include <weir/admin.h>
#include <weir/consumer.h>
#include <weir/context.h>

#include "cluster/servers.h"

/* What the conformance tests of brokers share. A promise is written once, by public functions, and
 * runs on every broker:
 *
 *     TEST_BROKERS(put_has_an_id, "each job that is put has an id of its own")
 *     {
 *         struct place place;
 *         place_open(&place, kind, "");
 *         ...
 *         place_close(&place);
 *     }
 *
 * Where a cluster promises less, the test says so and checks just that. */

enum place_kind {
    ON_SQLITE,
    ON_CLUSTER /* of three beanstalkds, with claims in Redis */
};

#define TEST_BROKERS(name, sentence)                                                               \
    static void each_##name(enum place_kind kind);                                                 \
    TEST(name##_sqlite, sentence " (SQLite)")                                                      \
    {                                                                                              \
        each_##name(ON_SQLITE);                                                                    \
    }                                                                                              \
    TEST(name##_cluster, sentence " (cluster)")                                                    \
    {                                                                                              \
        each_##name(ON_CLUSTER);                                                                   \
    }                                                                                              \
    static void each_##name(enum place_kind kind)

struct place {
    enum place_kind kind;
    struct servers servers;
    char url[512];
    weir_broker *broker;
    uint64_t copies; /* of a job; counts are of copies */
};

static inline weir_broker *place_broker(const struct place *place)
{
    struct weir_broker_options options = {0};
    weir_broker *broker = NULL;
    struct weir_error error;
    options.allocator = *test_allocator();
    if (weir_broker_open(place->url, &options, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", place->url, error.text);
    }
    return broker;
}

/* Starts servers and opens no broker: for a test that forks first. parts: of the cluster's URL. */
static inline void place_start(struct place *place, enum place_kind kind, const char *parts)
{
    memset(place, 0, sizeof(*place));
    place->kind = kind;
    place->copies = 1;
    (void)snprintf(place->url, sizeof(place->url), "sqlite:jobs.db");
    if (kind == ON_CLUSTER) {
        char all[128];
        servers_start(&place->servers);
        place->copies = SERVER_NODES;
        /* All copies are counted: no put leaves out a node that is slow. */
        (void)snprintf(all, sizeof(all), "%s%smin_written=3&claims=REDIS", parts,
                       parts[0] == '\0' ? "" : "&");
        servers_url(&place->servers, all, place->url, sizeof(place->url));
    }
}

static inline void place_open(struct place *place, enum place_kind kind, const char *parts)
{
    place_start(place, kind, parts);
    place->broker = place_broker(place);
}

static inline void place_close(struct place *place)
{
    weir_broker_close(place->broker);
    if (place->kind == ON_CLUSTER) {
        servers_end(&place->servers);
    }
}

static inline int64_t place_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
}

static inline enum weir_status place_try_put(const struct place *place, const char *text,
                                             const struct weir_put_options *options,
                                             struct weir_job_id *ret_id)
{
    struct weir_body body = {text, strlen(text)};
    struct weir_error error;
    return weir_broker_put(place->broker, "t", &body, 1, options, ret_id, &error);
}

static inline void place_put(const struct place *place, const char *text,
                             const struct weir_put_options *options, struct weir_job_id *ret_id)
{
    CHECK_STATUS(place_try_put(place, text, options, ret_id), WEIR_OK);
}

static inline int place_keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    memcpy(arg, counts, sizeof(*counts));
    return 0;
}

static inline struct weir_tube_counts place_counts(const struct place *place)
{
    struct weir_tube_counts counts;
    struct weir_error error;
    memset(&counts, 0, sizeof(counts));
    CHECK_STATUS(weir_broker_tubes(place->broker, "t", place_keep_counts, &counts, &error),
                 WEIR_OK);
    return counts;
}

/* delayed, ready, reserved, buried. */
#define CHECK_PLACE(place, d, r, v, b)                                                             \
    do {                                                                                           \
        struct weir_tube_counts check_counts = place_counts(place);                                \
        CHECK_INT(check_counts.delayed, ==, d);                                                    \
        CHECK_INT(check_counts.ready, ==, r);                                                      \
        CHECK_INT(check_counts.reserved, ==, v);                                                   \
        CHECK_INT(check_counts.buried, ==, b);                                                     \
    } while (0)

/* --- consuming --- */

#define RUNS_MAX 400

/* What handlers did, in the order in which they began. */
struct runs {
    _Atomic int count;
    _Atomic int ends[WEIR_RUN_RETURNED + 1]; /* by outcome */
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
    CHECK_STRING(job->tube, "t");
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

static inline weir_consumer *place_consumer(weir_broker *broker, struct runs *runs,
                                            uint32_t workers, uint32_t attempts_max,
                                            int64_t retry_ns, uint32_t flags)
{
    struct weir_consumer_options options = {0};
    weir_consumer *consumer = NULL;
    struct weir_error error;
    options.handler = runs_handle;
    options.after_run = runs_after;
    options.arg = runs;
    options.workers = workers;
    options.retry.attempts = attempts_max;
    options.retry.base_ns = retry_ns;
    options.flags = flags;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    return consumer;
}

static inline void place_wait(weir_consumer *consumer)
{
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

/* Consumes until the tube is empty. */
static inline void place_consume(const struct place *place, struct runs *runs, uint32_t workers,
                                 uint32_t attempts_max, int64_t retry_ns)
{
    place_wait(place_consumer(place->broker, runs, workers, attempts_max, retry_ns,
                              WEIR_CONSUMER_UNTIL_EMPTY));
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

static inline size_t place_remove(const struct place *place, const struct weir_job_id *id)
{
    const char *text = id->text;
    enum weir_status removed;
    CHECK_STATUS(weir_broker_remove_ids(place->broker, &text, 1, &removed, NULL), WEIR_OK);
    return removed == WEIR_OK;
}

#endif
