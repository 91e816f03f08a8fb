/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Consumers after the wall clock was set forward, or the machine slept. */
#include "support/consumer.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* The handler of one job blocks, the others run. */
struct stage {
    struct scene scene;
    int held_runs;
    bool was_canceled;
};

static int hold_first(weir_context *context, const struct weir_job *job, void *arg)
{
    struct stage *stage = arg;
    if (*(const char *)job->body != 'h') {
        return scene_count_run(context, job, &stage->scene);
    }
    weiri_mutex_lock(&stage->scene.mutex);
    stage->held_runs++;
    stage->scene.is_inside = true;
    weiri_cond_broadcast(&stage->scene.changed);
    while (!stage->scene.may_go) {
        weiri_cond_wait(&stage->scene.changed);
    }
    stage->was_canceled = weir_context_check(context) != WEIR_OK;
    weiri_mutex_unlock(&stage->scene.mutex);
    return WEIR_OK;
}

static void note(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                 int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct stage *stage = arg;
    scene_note_run(job, outcome, status, run_ns, delay_ns, &stage->scene);
}

static void open_stage(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    weiri_mutex_init(&stage->scene.mutex);
    weiri_cond_init(&stage->scene.changed, &stage->scene.mutex);
    stage->scene.broker = jobs_store_open("jobs.db", &wall);
}

static void start(struct stage *stage, uint32_t workers, uint32_t attempts_max, uint32_t flags)
{
    struct weir_consumer_options options = {0};
    options.handler = hold_first;
    options.after_run = note;
    options.arg = stage;
    options.workers = workers;
    options.retry.attempts = attempts_max;
    options.flags = flags;
    (void)jobs_put(stage->scene.broker, "t", "held", NULL);
    scene_start(&stage->scene, &options);
    scene_wait_inside(&stage->scene);
}

static void put_and_wait(struct stage *stage, int done)
{
    (void)jobs_put(stage->scene.broker, "t", "x", NULL);
    weiri_mutex_lock(&stage->scene.mutex);
    while (stage->scene.outcomes[WEIR_RUN_DONE] < done) {
        weiri_cond_wait(&stage->scene.changed);
    }
    weiri_mutex_unlock(&stage->scene.mutex);
}

TEST(own_job, "a job that runs is not taken for ended by its own consumer when the clock jumps")
{
    struct stage stage;
    open_stage(&stage);
    /* With one attempt, it would be buried while it runs. */
    start(&stage, 2, 1, WEIR_CONSUMER_UNTIL_EMPTY);
    for (int i = 1; i <= 3; i++) {
        jobs_wall_step(&wall, WEIR_SECONDS(3600));
        put_and_wait(&stage, i);
        CHECK_COUNTS(stage.scene.broker, "t", 0, 0, 1, 0);
    }
    scene_let_go(&stage.scene);
    scene_wait_for_end(&stage.scene);
    CHECK_INT(stage.held_runs, ==, 1);
    CHECK(!stage.was_canceled);
    CHECK_INT(stage.scene.outcomes[WEIR_RUN_DONE], ==, 4);
    struct weir_tube_counts counts = jobs_counts(stage.scene.broker, "t");
    CHECK_INT(counts.done, ==, 4);
    CHECK_INT(counts.expired, ==, 0);
    scene_close(&stage.scene);
}

TEST(touched, "what survives a jump is touched by it, so that others leave it alone from then on")
{
    struct stage stage;
    open_stage(&stage);
    /* One worker, so that its consumer reserves nothing meanwhile. */
    start(&stage, 1, 25, 0);
    weir_broker *other = jobs_store_open("jobs.db", &wall);
    struct weiri_list list;
    jobs_wall_step(&wall, WEIR_SECONDS(3600));
    (void)jobs_reserve(stage.scene.broker, "t", 1, 25, &list);
    CHECK(weiri_list_is_empty(&list));
    jobs_wall_step(&wall, WEIR_SECONDS(59));
    (void)jobs_reserve(other, "t", 1, 25, &list);
    CHECK(weiri_list_is_empty(&list));
    /* By its own clock another consumer takes jobs with ended reservations, as after a worker's
     * death. */
    jobs_wall_step(&wall, WEIR_SECONDS(2));
    struct weiri_reservation *taken = jobs_reserve_one(other, "t");
    CHECK_INT(taken->job.attempts, ==, 2);
    CHECK_INT(jobs_counts(other, "t").expired, ==, 1);
    /* The first one does so too, though it still runs the job under its old token. */
    jobs_wall_step(&wall, WEIR_SECONDS(3600));
    struct weiri_reservation *retaken = jobs_reserve_one(stage.scene.broker, "t");
    CHECK_INT(retaken->job.attempts, ==, 3);
    scene_let_go(&stage.scene);
    CHECK_STATUS(weir_consumer_end(stage.scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&stage.scene);
    CHECK_INT(stage.scene.outcomes[WEIR_RUN_LOST], ==, 1);
    CHECK_STATUS(jobs_settle(other, taken, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    CHECK_STATUS(jobs_settle(other, retaken, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(other, taken);
    jobs_free_one(stage.scene.broker, retaken);
    weir_broker_close(other);
    scene_close(&stage.scene);
}

TEST(let_go, "a reservation that its holder released ends as any other")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        struct weiri_exchange exchange = {
            .tube = "t", .wanted = 1, .attempts_max = 25, .is_keeping = true};
        CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
        CHECK_INT(exchange.reserved_count, ==, 1);
        struct weiri_reservation *reservation = jobs_first(&exchange.reserved);
        CHECK_INT(reservation->job.attempts, ==, attempt);
        jobs_wall_step(&wall, WEIR_SECONDS(3600));
        struct weiri_list none;
        (void)jobs_reserve(broker, "t", 1, 25, &none);
        CHECK(weiri_list_is_empty(&none));
        jobs_wall_step(&wall, WEIR_SECONDS(3600));
        broker->ops->let_go(broker->store, reservation);
        jobs_free(broker, &exchange.reserved);
    }
    weir_broker_close(broker);
}
