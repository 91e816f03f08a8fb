/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Stamps around handlers, metrics of a consumer's pool, and handlers that panic. */
#include <weir/panic.h>

#include "support/consumer.h"

static char trace[200]; /* one worker */

static void note(const char *text, const struct weir_job *job)
{
    size_t used = strlen(trace);
    (void)snprintf(trace + used, sizeof(trace) - used, "%s %s;", text, job->id);
}

static int outer(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    const struct weir_job *job = weir_job_of(context);
    CHECK(job != NULL);
    note(arg, job);
    int status = weir_next_run(next, context);
    note(status == WEIR_OK ? "good" : "bad", job);
    return status;
}

/* Leaves the second job out, and makes a failure of the third a success. */
static int inner(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    (void)arg;
    const struct weir_job *job = weir_job_of(context);
    if (job->id[0] == '2') {
        return WEIR_OK;
    }
    int status = weir_next_run(next, context);
    return job->id[0] == '3' && status == WEIR_EUSER ? WEIR_OK : status;
}

static int run_and_note(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)arg;
    CHECK(weir_job_of(context) == job);
    CHECK(weir_context_pool(context) == NULL);
    note("run", job);
    return job->id[0] == '3' ? WEIR_EUSER : WEIR_OK;
}

TEST(stamps, "stamps are around each run, know its job, and decide about it")
{
    struct scene scene;
    scene_open(&scene);
    static char name[] = "outer";
    const struct weir_stamp stamps[] = {{outer, name}, {inner, NULL}};
    struct weir_consumer_options options = scene_options_of(&scene, run_and_note);
    options.stamps = stamps;
    options.stamp_count = 2;
    for (int i = 0; i < 3; i++) {
        (void)jobs_put(scene.broker, "t", "x", NULL);
    }
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_STRING(trace, "outer 1;run 1;good 1;outer 2;good 2;outer 3;run 3;good 3;");
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 3);
    CHECK_COUNTS(scene.broker, "t", 0, 0, 0, 0);
    CHECK(weir_job_of(NULL) == NULL);
    scene_close(&scene);
}

static int append(const char *text, size_t size, void *arg)
{
    char *all = arg;
    size_t used = strlen(all);
    CHECK_INT(used + size, <, 100000);
    memcpy(all + used, text, size);
    all[used + size] = '\0';
    return WEIR_OK;
}

TEST(metrics, "a consumer with a registry shows its workers and runs under its name")
{
    struct scene scene;
    weir_metrics *metrics;
    static char text[100000];
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.metrics = metrics;
    weir_consumer *consumer;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(scene.broker, "t", &options, &consumer, &error), WEIR_EINVAL);
    options.name = "mail";
    options.workers = 3;
    scene.statuses[0] = WEIR_EUSER;
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_STATUS(weir_consumer_new(scene.broker, "t", &options, &consumer, &error), WEIR_EBUSY);
    CHECK_INT(weir_metrics_write(metrics, append, text), ==, WEIR_OK);
    CHECK(strstr(text, "weir_pool_runs_total{name=\"mail\",outcome=\"error\"} 1\n") != NULL);
    CHECK(strstr(text, "weir_pool_runs_total{name=\"mail\",outcome=\"success\"} 1\n") != NULL);
    CHECK(strstr(text, "workqueue_work_duration_seconds_count{name=\"mail\"} 2\n") != NULL);
    scene_close(&scene);
    CHECK_STATUS(weir_metrics_free(metrics), WEIR_OK);
}

static int panic_once(weir_context *context, const struct weir_job *job, void *arg)
{
    struct scene *scene = arg;
    if (job->attempts == 1) {
        weir_panic(context, "no");
    }
    (void)scene_count_run(context, job, scene);
    return WEIR_OK;
}

TEST(panics,
     "a handler that panics has failed; the worker goes on, and a stop finds no context of it")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, panic_once);
    for (int i = 0; i < 20; i++) {
        (void)jobs_put(scene.broker, "t", "x", NULL);
    }
    options.workers = 2;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.outcomes[WEIR_RUN_RETRY], ==, 20);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 20);
    CHECK_INT(scene.runs, ==, 20);
    struct weiri_list *tasks = &scene.consumer->tasks;
    CHECK(weiri_list_is_empty(tasks));
    scene_close(&scene);
}
