/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Ends, and reservations that must be renewed or are lost. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

#include "jobs/sqlite/store.h"
#include "support/consumer.h"

TEST(finish, "a finish lets handlers end; what is not started stays as it was")
{
    struct scene scene;
    scene_open(&scene);
    for (int i = 0; i < 5; i++) {
        (void)jobs_put(scene.broker, "t", "x", NULL);
    }
    struct weir_consumer_options options = scene_options_of(&scene, scene_hold);
    options.flags = 0;
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(scene.broker, "t").reserved, ==, 1);
    scene_let_go(&scene);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 1);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
    CHECK_COUNTS(scene.broker, "t", 0, 4, 0, 0);
    scene_close(&scene);
}

TEST(stop_cancels,
     "a finish cancels nothing, however often it is asked for; a stop cancels running "
     "handlers, whose jobs are given back uncounted")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    struct weir_consumer_options options = scene_options_of(&scene, scene_sleep_for_ever);
    options.retry.attempts = 1; /* counted, it would be buried */
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, WEIR_MS(1), NULL),
                 WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_STOP, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(scene.last_status, ==, WEIR_ECANCELED);
    CHECK_INT(scene.outcomes[WEIR_RUN_RETURNED], ==, 1);
    CHECK_INT(scene.last_delay_ns, ==, 0);
    CHECK_COUNTS(scene.broker, "t", 0, 1, 0, 0);
    scene_close(&scene);
}

TEST(strongest, "of several ends the strongest counts, and weaker ones say so, also after the end")
{
    struct scene scene;
    struct weir_error error;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    struct weir_consumer_options options = scene_options_of(&scene, scene_sleep_for_ever);
    options.flags = 0;
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_DRAIN, 0, &error), WEIR_OK);
    CHECK_STRING(error.text, "");
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_DRAIN, 0, &error), WEIR_ECANCELED);
    CHECK_STRING(error.text, "mode is 0: a stronger end was asked for");
    CHECK_STATUS(weir_consumer_wait(scene.consumer, 0, &error), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_TERMINATE, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL),
                 WEIR_ECANCELED);
    CHECK_STATUS(weir_consumer_wait(scene.consumer, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_STOP, WEIR_FOREVER, NULL), WEIR_OK);
    scene_close(&scene);
}

static struct weiri_broker_ops slow_ops;
static void (*wake_in_time)(void *store, const struct weiri_mark *mark, int count);
static atomic_bool is_slow;
static atomic_bool is_woken;
static enum weir_status ended;

#define TIMEOUT_NS WEIR_MS(100)

/* While it is slow it wakes nobody, and takes all the time that its caller has. */
static void wake_late(void *store, const struct weiri_mark *mark, int count)
{
    int64_t limit = weiri_monotonic_now() + TIMEOUT_NS;
    if (!atomic_load(&is_slow)) {
        wake_in_time(store, mark, count);
        return;
    }
    while (weiri_monotonic_now() < limit) {
    }
    atomic_store(&is_woken, true);
}

static void end_in_time(void *arg)
{
    ended = weir_consumer_end(arg, WEIR_END_DRAIN, TIMEOUT_NS, NULL);
}

TEST(one_deadline, "the timeout of an end is that of the call, whatever comes before its wait")
{
    struct scene scene;
    scene_open(&scene);
    slow_ops = *scene.broker->ops;
    wake_in_time = slow_ops.wake;
    slow_ops.wake = wake_late;
    scene.broker->ops = &slow_ops; /* before another thread reads it */
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    scene_start(&scene, &options);
    bool is_waiting = false;
    while (!is_waiting) {
        weiri_mutex_lock(&scene.consumer->mutex);
        is_waiting = scene.consumer->is_waiting;
        weiri_mutex_unlock(&scene.consumer->mutex);
    }
    atomic_store(&is_slow, true);
    struct test_thread *thread = test_start(end_in_time, scene.consumer);
    while (!atomic_load(&is_woken)) {
    }
    (void)test_wait_asleep_or_end(thread);
    atomic_store(&is_slow, false);
    struct weiri_mark mark = jobs_mark(scene.broker, "t");
    wake_in_time(scene.broker->store, &mark, INT_MAX);
    test_join(thread);
    CHECK_STATUS(ended, WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_consumer_wait(scene.consumer, WEIR_FOREVER, NULL), WEIR_OK);
    scene_close(&scene);
}

TEST(after_itself, "an end that comes after the consumer has ended by itself changes no answer")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_DRAIN, WEIR_FOREVER, NULL), WEIR_OK);
    scene_close(&scene);
}

/* A handler that would wait for itself. */
static int end_own(weir_context *context, const struct weir_job *job, void *arg)
{
    struct scene *scene = arg;
    (void)job;
    CHECK_STATUS(weir_consumer_wait(scene->consumer, WEIR_FOREVER, NULL), WEIR_ESTATE);
    CHECK_STATUS(weir_consumer_end(scene->consumer, WEIR_END_STOP, WEIR_FOREVER, NULL),
                 WEIR_ESTATE);
    CHECK_STATUS(weir_consumer_wait(scene->consumer, 0, NULL), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_consumer_end(scene->consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    return (int)weir_context_check(context);
}

TEST(from_handler, "a handler may end its consumer, and cannot wait for that")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    (void)jobs_put(scene.broker, "t", "y", NULL);
    struct weir_consumer_options options = scene_options_of(&scene, end_own);
    struct weir_error error;
    options.flags = 0;
    CHECK_STATUS(weir_consumer_new(scene.broker, "t", &options, &scene.consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(scene.consumer, &error), WEIR_OK);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
    CHECK_COUNTS(scene.broker, "t", 0, 1, 0, 0);
    scene_close(&scene);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, timeout_ms) == 1;
}

TEST(descriptor, "its descriptor is readable once it has ended, not before")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    struct weir_consumer_options options = scene_options_of(&scene, scene_hold);
    int fd = -1;
    int again = -1;
    CHECK_STATUS(weir_consumer_new(scene.broker, "t", &options, &scene.consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_fd(scene.consumer, &fd, NULL), WEIR_OK);
    CHECK(!is_readable(fd, 0));
    CHECK_STATUS(weir_consumer_start(scene.consumer, NULL), WEIR_OK);
    scene_wait_inside(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    CHECK(!is_readable(fd, 0));
    scene_let_go(&scene);
    CHECK(is_readable(fd, -1));
    CHECK_STATUS(weir_consumer_wait(scene.consumer, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_fd(scene.consumer, &again, NULL), WEIR_OK);
    CHECK_INT(again, ==, fd);
    scene_close(&scene);
}

TEST(freed_while_running, "a free ends a consumer that sleeps, and one with a handler that does")
{
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        scene_open(&scene);
        struct weir_consumer_options options = scene_options_of(&scene, scene_sleep_for_ever);
        options.flags = 0;
        options.workers = 3;
        if (i == 1) {
            (void)jobs_put(scene.broker, "t", "x", NULL);
        }
        scene_start(&scene, &options);
        if (i == 1) {
            scene_wait_inside(&scene);
        }
        scene_close(&scene);
    }
}

/* Ends the consumer after its first run, when the worker's next job is already reserved. */
static struct {
    struct scene scene;
    enum weir_end_mode mode;
} ending;

static void end_after(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                      int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct scene *scene = arg;
    scene_note_run(job, outcome, status, run_ns, delay_ns, arg);
    if (scene->outcomes[WEIR_RUN_DONE] == 1) {
        CHECK_INT(jobs_counts(scene->broker, "t").reserved, ==, 1);
        CHECK_STATUS(weir_consumer_end(scene->consumer, ending.mode, 0, NULL), WEIR_OK);
    }
}

TEST(reserved_unstarted, "a job that was reserved and not started when the end came is run by a "
                         "drain, which reserves no more; else it comes back without an attempt")
{
    for (int mode = WEIR_END_DRAIN; mode <= WEIR_END_TERMINATE; mode++) {
        struct scene *scene = &ending.scene;
        ending.mode = (enum weir_end_mode)mode;
        scene_open(scene);
        (void)jobs_put(scene->broker, "t", "first", NULL);
        (void)jobs_put(scene->broker, "t", "second", NULL);
        (void)jobs_put(scene->broker, "t", "third", NULL);
        struct weir_consumer_options options = scene_options_of(scene, scene_count_run);
        options.after_run = end_after;
        scene_start(scene, &options);
        scene_wait_for_end(scene);
        bool is_drain = mode == WEIR_END_DRAIN;
        CHECK_INT(scene->runs, ==, is_drain ? 2 : 1);
        CHECK_COUNTS(scene->broker, "t", 0, (is_drain ? 1 : 2), 0, 0);
        struct weiri_reservation *job = jobs_reserve_one(scene->broker, "t");
        CHECK_INT(job->number, ==, is_drain ? 3 : 2);
        CHECK_INT(job->job.attempts, ==, 1);
        jobs_free_one(scene->broker, job);
        scene_close(scene);
        static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm",
                                            "jobs.db.lock"};
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
            (void)remove(files[i]);
        }
    }
}

static int outlive_ttr(weir_context *context, const struct weir_job *job, void *arg)
{
    struct scene *scene = arg;
    weiri_mutex_lock(&scene->mutex);
    scene->runs++;
    weiri_mutex_unlock(&scene->mutex);
    return (int)weir_context_sleep(context, job->ttr_ns + job->ttr_ns / 3);
}

TEST(kept_alive, "handlers that take longer than the TTR keep their jobs")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_put_options put = {0};
    put.ttr_ns = WEIR_SECONDS(3); /* a touch has two of them to reach a slow disk */
    for (int i = 0; i < 3; i++) {
        (void)jobs_put(scene.broker, "t", "x", &put);
    }
    struct weir_consumer_options options = scene_options_of(&scene, outlive_ttr);
    options.workers = 3;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 3);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 3);
    CHECK_INT(jobs_counts(scene.broker, "t").expired, ==, 0);
    scene_close(&scene);
}

TEST(lost, "a handler is cancelled when it loses its reservation, and its status is not counted")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_put_options put = {0};
    put.ttr_ns = WEIR_MS(100);
    (void)jobs_put(scene.broker, "t", "x", &put);
    struct weir_consumer_options options = scene_options_of(&scene, scene_sleep_for_ever);
    options.flags = 0;
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    /* Another process, with a clock that is an hour ahead. */
    struct jobs_wall ahead = {weiri_wall_now() + WEIR_SECONDS(3600)};
    weir_broker *other = jobs_store_open("jobs.db", &ahead);
    struct weiri_reservation *thief = jobs_reserve_one(other, "t");
    CHECK_INT(thief->job.attempts, ==, 2);
    /* The next touch fails. */
    weiri_mutex_lock(&scene.mutex);
    while (scene.outcomes[WEIR_RUN_LOST] == 0) {
        weiri_cond_wait(&scene.changed);
    }
    weiri_mutex_unlock(&scene.mutex);
    CHECK_INT(scene.last_status, ==, WEIR_ECANCELED);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 1);
    struct weir_tube_counts counts = jobs_counts(scene.broker, "t");
    CHECK_INT(counts.retried, ==, 0);
    CHECK_INT(counts.reserved, ==, 1);
    CHECK_STATUS(jobs_settle(other, thief, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(other, thief);
    weir_broker_close(other);
    scene_close(&scene);
}

/* What the store buried without a run. */
struct burials {
    struct scene scene;
    int by_status[32];
};

static void note_burial(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                        int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct burials *burials = arg;
    CHECK_INT(outcome, ==, WEIR_RUN_BURIED);
    CHECK_INT(run_ns, ==, 0);
    CHECK_INT(delay_ns, ==, 0);
    CHECK_INT(job->state, ==, WEIR_JOB_BURIED);
    CHECK_STRING(job->tube, "t");
    CHECK(job->reason[0] != '\0');
    weiri_mutex_lock(&burials->scene.mutex);
    burials->by_status[status]++;
    weiri_mutex_unlock(&burials->scene.mutex);
}

TEST(buried_by_store,
     "jobs that the store buries are told, one by one: no attempt left, or damaged")
{
    enum {
        JOBS = 150
    };
    static struct jobs_wall wall = {JOBS_WALL_START};
    struct burials burials;
    memset(&burials, 0, sizeof(burials));
    weiri_mutex_init(&burials.scene.mutex);
    weiri_cond_init(&burials.scene.changed, &burials.scene.mutex);
    burials.scene.broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = burials.scene.broker->store;
    store->promote_max = 20;
    for (int i = 0; i < JOBS; i++) {
        (void)jobs_put(burials.scene.broker, "t", "x", NULL);
    }
    struct weiri_list list;
    (void)jobs_reserve(burials.scene.broker, "t", JOBS, 1, &list);
    jobs_free(burials.scene.broker, &list);
    jobs_wall_step(&wall, WEIR_SECONDS(60));
    (void)jobs_put(burials.scene.broker, "t", "x", NULL);
    CHECK_INT(sqlite3_exec(store->writer.db, "UPDATE jobs SET checksum = 1 WHERE id = 151", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    struct weir_consumer_options options = scene_options_of(&burials.scene, scene_count_run);
    options.after_run = note_burial;
    options.arg = &burials;
    options.retry.attempts = 1;
    scene_start(&burials.scene, &options);
    scene_wait_for_end(&burials.scene);
    CHECK_INT(burials.by_status[WEIR_ELEASELOST], ==, JOBS);
    CHECK_INT(burials.by_status[WEIR_ECORRUPT], ==, 1);
    CHECK_COUNTS(burials.scene.broker, "t", 0, 0, 0, JOBS + 1);
    scene_close(&burials.scene);
}
