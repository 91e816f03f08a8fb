/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Sleeping consumers are woken, in this process and in others. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/consumer.h"

/* Puts one job after the other while a consumer sleeps in between. */
static void put_one_by_one(weir_broker *broker, int count, int64_t delay_ns,
                           bool (*is_done)(void *arg, int done), void *arg)
{
    struct weir_put_options put = {0};
    put.delay_ns = delay_ns;
    for (int i = 1; i <= count; i++) {
        (void)jobs_put(broker, "t", "x", &put);
        while (!is_done(arg, i)) {
        }
    }
}

static bool has_run(void *arg, int done)
{
    struct scene *scene = arg;
    weiri_mutex_lock(&scene->mutex);
    if (scene->outcomes[WEIR_RUN_DONE] < done) {
        weiri_cond_wait(&scene->changed);
    }
    bool has = scene->outcomes[WEIR_RUN_DONE] >= done;
    weiri_mutex_unlock(&scene->mutex);
    return has;
}

TEST(woken, "a sleeping consumer is woken by each put; it neither polls nor misses one")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    options.workers = 2;
    scene_start(&scene, &options);
    enum {
        COUNT = 50
    };
    put_one_by_one(scene.broker, COUNT, 0, has_run, &scene);
    put_one_by_one(scene.broker, 5, WEIR_MS(10), has_run, &scene);
    CHECK_INT(scene.consumer->long_sleeps, ==, 0);
    /* A few transactions for each job, and none while there is no job. */
    CHECK_INT(scene.consumer->exchanges, <=, 6 * COUNT + 20);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&scene);
    scene_close(&scene);
}

/* The counts that a consumer in another process shares with its parent. */
struct report {
    _Atomic int done;
    _Atomic uint64_t long_sleeps;
};

static bool has_reported(void *arg, int done)
{
    struct report *report = arg;
    (void)sched_yield();
    return atomic_load_explicit(&report->done, memory_order_acquire) >= done;
}

static void add_to_report(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                          int64_t run_ns, int64_t delay_ns, void *arg)
{
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    struct report *report = arg;
    if (outcome == WEIR_RUN_DONE) {
        atomic_fetch_add_explicit(&report->done, 1, memory_order_release);
    }
}

static int succeed(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

/* Runs a consumer until the tube is empty or a byte comes. Returns the process' exit status. */
static int consume(struct report *report, uint32_t flags, int fd)
{
    weir_broker *broker;
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = succeed;
    options.after_run = add_to_report;
    options.arg = report;
    options.flags = flags;
    if (jobs_open_at("sqlite:jobs.db", NULL, scene_wall_now, NULL, &broker, NULL) != WEIR_OK ||
        weir_consumer_new(broker, "t", &options, &consumer, NULL) != WEIR_OK ||
        weir_consumer_start(consumer, NULL) != WEIR_OK) {
        return 1;
    }
    char byte;
    if (fd >= 0) {
        if (read(fd, &byte, 1) < 0) {
            return 2;
        }
        CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    }
    if (weir_consumer_wait(consumer, WEIR_FOREVER, NULL) != WEIR_OK) {
        return 3;
    }
    report->long_sleeps += consumer->long_sleeps;
    weir_consumer_free(consumer);
    weir_broker_close(broker);
    return 0;
}

static struct report *share_report(void)
{
    struct report *report =
        mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(report != MAP_FAILED);
    return report;
}

static void expect_exit_0(pid_t child)
{
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
}

TEST(woken_process, "a consumer in another process is woken by each put, and by due times")
{
    struct report *report = share_report();
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[1]);
        _exit(consume(report, 0, ends[0]));
    }
    (void)close(ends[0]);
    struct scene scene;
    scene_open(&scene);
    put_one_by_one(scene.broker, 30, 0, has_reported, report);
    atomic_store(&report->done, 0);
    put_one_by_one(scene.broker, 5, WEIR_MS(15), has_reported, report);
    (void)close(ends[1]);
    expect_exit_0(child);
    CHECK_INT(report->long_sleeps, ==, 0);
    scene_close(&scene);
    CHECK_INT(munmap(report, sizeof(*report)), ==, 0);
}

TEST(end_together, "consumers of several processes that end when empty all do, by being woken")
{
    struct report *report = share_report();
    struct scene scene;
    scene_open(&scene);
    enum {
        JOBS = 40,
        CHILDREN = 3
    };
    struct weir_put_options put = {0};
    for (int i = 0; i < JOBS; i++) {
        put.delay_ns = WEIR_MS(i);
        (void)jobs_put(scene.broker, "t", "x", &put);
    }
    scene_close(&scene); /* a child may not open beside it */
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            _exit(consume(report, WEIR_CONSUMER_UNTIL_EMPTY, -1));
        }
    }
    scene_open(&scene);
    for (int i = 0; i < CHILDREN; i++) {
        expect_exit_0(children[i]);
    }
    CHECK_INT(report->done, ==, JOBS);
    CHECK_INT(report->long_sleeps, ==, 0);
    CHECK_INT(jobs_counts(scene.broker, "t").done, ==, JOBS);
    scene_close(&scene);
    CHECK_INT(munmap(report, sizeof(*report)), ==, 0);
}
