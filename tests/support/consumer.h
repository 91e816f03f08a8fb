/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONSUMER_H
#define WEIR_TEST_CONSUMER_H

#include "base/time.h"
#include "jobs/consume/consumer.h"
#include "support/jobs.h"

/* A consumer on a real store with the system's clocks, its handlers, and a record of their calls.
 * Delays are short and real; nothing is assumed about how long anything takes. */

/* Shared by a test's handler and after_run. */
struct scene {
    weir_broker *broker;
    weir_consumer *consumer;
    struct weiri_mutex mutex;
    struct weiri_cond changed;
    /* Guarded by the mutex. */
    int runs;
    int outcomes[WEIR_RUN_CANCELED + 1]; /* by enum weir_run_outcome */
    int64_t last_delay_ns;
    uint32_t last_attempts;
    int last_status;
    bool is_inside;   /* a handler runs */
    bool may_go;      /* it may return */
    int statuses[32]; /* of the runs, in turn; the last one repeats */
};

static inline int64_t scene_wall_now(void *arg)
{
    (void)arg;
    return weiri_wall_now();
}

static inline void scene_open(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    weiri_mutex_init(&scene->mutex);
    weiri_cond_init(&scene->changed, &scene->mutex);
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    CHECK_STATUS(
        jobs_open_at("sqlite:jobs.db", &options, scene_wall_now, NULL, &scene->broker, NULL),
        WEIR_OK);
}

static inline void scene_close(struct scene *scene)
{
    weir_consumer_free(scene->consumer);
    weir_broker_close(scene->broker);
    weiri_cond_fini(&scene->changed);
    weiri_mutex_fini(&scene->mutex);
}

static inline int scene_count_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    struct scene *scene = arg;
    weiri_mutex_lock(&scene->mutex);
    int status = scene->statuses[scene->runs < 31 ? scene->runs : 31];
    scene->runs++;
    scene->last_attempts = job->attempts;
    weiri_mutex_unlock(&scene->mutex);
    return status;
}

static inline void scene_note_run(const struct weir_job *job, enum weir_run_outcome outcome,
                                  int status, int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct scene *scene = arg;
    CHECK(run_ns >= 0);
    CHECK(job->id[0] != '\0');
    weiri_mutex_lock(&scene->mutex);
    scene->outcomes[outcome]++;
    scene->last_delay_ns = delay_ns;
    scene->last_status = status;
    weiri_cond_broadcast(&scene->changed);
    weiri_mutex_unlock(&scene->mutex);
}

static inline struct weir_consumer_options scene_options_of(struct scene *scene,
                                                            weir_handler_fn *handler)
{
    struct weir_consumer_options options = {0};
    options.handler = handler;
    options.after_run = scene_note_run;
    options.arg = scene;
    options.retry.base_ns = WEIR_MS(1);
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    return options;
}

static inline void scene_start(struct scene *scene, const struct weir_consumer_options *options)
{
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(scene->broker, "t", options, &scene->consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(scene->consumer, &error), WEIR_OK);
}

static inline void scene_wait_for_end(struct scene *scene)
{
    struct weir_error error = {.text = "untouched"};
    CHECK_STATUS(weir_consumer_wait(scene->consumer, WEIR_FOREVER, &error), WEIR_OK);
    CHECK_STRING(error.text, "");
}

static inline int scene_sleep_for_ever(weir_context *context, const struct weir_job *job, void *arg)
{
    struct scene *scene = arg;
    weiri_mutex_lock(&scene->mutex);
    scene->runs++;
    scene->is_inside = true;
    scene->last_attempts = job->attempts;
    weiri_cond_broadcast(&scene->changed);
    weiri_mutex_unlock(&scene->mutex);
    enum weir_status status = weir_context_sleep(context, WEIR_FOREVER);
    weiri_mutex_lock(&scene->mutex);
    scene->is_inside = false;
    weiri_mutex_unlock(&scene->mutex);
    return (int)status;
}

static inline void scene_wait_inside(struct scene *scene)
{
    weiri_mutex_lock(&scene->mutex);
    while (!scene->is_inside) {
        weiri_cond_wait(&scene->changed);
    }
    weiri_mutex_unlock(&scene->mutex);
}

static inline int scene_hold(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    struct scene *scene = arg;
    weiri_mutex_lock(&scene->mutex);
    scene->runs++;
    scene->is_inside = true;
    weiri_cond_broadcast(&scene->changed);
    while (!scene->may_go) {
        weiri_cond_wait(&scene->changed);
    }
    scene->is_inside = false;
    weiri_mutex_unlock(&scene->mutex);
    return WEIR_OK;
}

static inline void scene_let_go(struct scene *scene)
{
    weiri_mutex_lock(&scene->mutex);
    scene->may_go = true;
    weiri_cond_broadcast(&scene->changed);
    weiri_mutex_unlock(&scene->mutex);
}

#endif
