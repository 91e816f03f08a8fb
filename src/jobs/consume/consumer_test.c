/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A consumer's handling of jobs, and the arguments that it refuses. */
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/consumer.h"

TEST(all_are_run, "every job is run once and deleted; the consumer ends with its tube")
{
    struct scene scene;
    scene_open(&scene);
    enum {
        COUNT = 500
    };
    for (int i = 0; i < COUNT; i += 50) {
        struct weir_body bodies[50];
        for (int k = 0; k < 50; k++) {
            bodies[k] = (struct weir_body){"body", 4, NULL};
        }
        CHECK_STATUS(weir_broker_put(scene.broker, "t", bodies, 50, NULL, NULL, NULL), WEIR_OK);
    }
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.workers = 4;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, COUNT);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, COUNT);
    CHECK_COUNTS(scene.broker, "t", 0, 0, 0, 0);
    CHECK_INT(jobs_counts(scene.broker, "t").done, ==, COUNT);
    scene_close(&scene);
}

TEST(empty_tube, "a consumer of a tube that never was ends at once where it is to end when empty")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 0);
    CHECK_STATUS(weir_consumer_start(scene.consumer, NULL), WEIR_ESTATE);
    scene_wait_for_end(&scene);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_close(&scene);
}

TEST(retries, "a failed job comes back with its attempts counted and growing delays")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene.statuses[0] = WEIR_EUSER + 3;
    scene.statuses[1] = -7;
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 3);
    CHECK_INT(scene.last_attempts, ==, 3);
    CHECK_INT(scene.outcomes[WEIR_RUN_RETRY], ==, 2);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
    struct weir_tube_counts counts = jobs_counts(scene.broker, "t");
    CHECK_INT(counts.retried, ==, 2);
    CHECK_INT(counts.done, ==, 1);
    scene_close(&scene);
}

static int copy_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s", job->reason);
    return 0;
}

static int explain(weir_context *context, const struct weir_job *job, void *arg)
{
    char text[WEIR_EXPLANATION_SIZE + 1];
    int status = scene_count_run(context, job, arg);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    if (job->attempts == 3) {
        (void)snprintf(text, sizeof(text), "exit status %d", status - WEIR_EUSER);
    }
    if (job->attempts < 4) {
        CHECK_STATUS(weir_context_explain(context, text), WEIR_OK);
    }
    return status;
}

TEST(explained, "a failed job's reason is what the user says of the status, or names its number")
{
    for (uint32_t attempts = 2; attempts <= 4; attempts++) {
        struct scene scene;
        scene_open(&scene);
        (void)jobs_put(scene.broker, "t", "x", NULL);
        for (int i = 0; i < 32; i++) {
            scene.statuses[i] = WEIR_EUSER + 5;
        }
        struct weir_consumer_options options = scene_options_of(&scene, explain);
        options.retry.attempts = attempts;
        scene_start(&scene, &options);
        scene_wait_for_end(&scene);
        char reason[WEIR_REASON_SIZE];
        CHECK_STATUS(weir_broker_peek_id(scene.broker, "1", copy_reason, reason, NULL), WEIR_OK);
        if (attempts == 2) {
            CHECK_INT(strlen(reason), ==, WEIR_REASON_SIZE - 1);
        } else {
            CHECK_STRING(reason, attempts == 3 ? "attempt 3: exit status 5"
                                               : "attempt 4: the task's own error (status 1005)");
        }
        scene_close(&scene);
        jobs_store_remove("jobs.db");
    }
}

TEST(buried, "a job is buried after its last attempt, or at once when the handler says so")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    for (int i = 0; i < 32; i++) {
        scene.statuses[i] = WEIR_EUSER + 5;
    }
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.retry.attempts = 3;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 3);
    CHECK_INT(scene.outcomes[WEIR_RUN_BURIED], ==, 1);
    CHECK_INT(scene.last_delay_ns, ==, 0);
    char reason[WEIR_REASON_SIZE];
    CHECK_STATUS(weir_broker_peek_id(scene.broker, "1", copy_reason, reason, NULL), WEIR_OK);
    CHECK_STRING(reason, "attempt 3: the task's own error (status 1005)");
    weir_consumer_free(scene.consumer);
    scene.consumer = NULL;

    scene.runs = 0;
    scene.statuses[0] = WEIR_ESTOP;
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 1);
    CHECK_COUNTS(scene.broker, "t", 0, 0, 0, 2);
    scene_close(&scene);
}

/* A handler that cannot start the first time, with the times and jobs of its calls. */
struct late_start {
    struct scene scene; /* first, for scene_note_run() */
    int64_t times_ns[3];
    char ids[3];
};

static int begin_later(weir_context *context, const struct weir_job *job, void *arg)
{
    struct late_start *late_start = arg;
    weiri_mutex_lock(&late_start->scene.mutex);
    int run = late_start->scene.runs < 3 ? late_start->scene.runs : 2;
    late_start->times_ns[run] = weiri_monotonic_now();
    late_start->ids[run] = job->id[0];
    weiri_mutex_unlock(&late_start->scene.mutex);
    return scene_count_run(context, job, &late_start->scene);
}

/* While its worker pauses, it has no job reserved that others could run. */
static void expect_none_reserved(const struct weir_job *job, enum weir_run_outcome outcome,
                                 int status, int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct scene *scene = arg;
    if (outcome == WEIR_RUN_RETURNED) {
        CHECK_INT(jobs_counts(scene->broker, "t").reserved, ==, 0);
    }
    scene_note_run(job, outcome, status, run_ns, delay_ns, scene);
}

TEST(buried_without_a_run, "jobs that the store buries for a consumer are told: a worker that died "
                           "in its last attempt, a damaged body")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_put_options put = {0};
    put.ttr_ns = WEIR_MS(100);
    (void)jobs_put(scene.broker, "t", "lost", &put);
    jobs_free_one(scene.broker, jobs_reserve_one(scene.broker, "t"));
    (void)jobs_put(scene.broker, "t", "damaged", NULL);
    struct weiri_store *store = scene.broker->store;
    CHECK_INT(sqlite3_exec(store->writer.db, "UPDATE jobs SET body = x'64' WHERE id = 2", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.retry.attempts = 1;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 0);
    CHECK_INT(scene.outcomes[WEIR_RUN_BURIED], ==, 2);
    CHECK_COUNTS(scene.broker, "t", 0, 0, 0, 2);
    scene_close(&scene);
}

TEST(late_start, "a handler that cannot start is no attempt; job and worker wait for a second")
{
    struct late_start late_start;
    memset(&late_start, 0, sizeof(late_start));
    struct scene *scene = &late_start.scene;
    scene_open(scene);
    (void)jobs_put(scene->broker, "t", "x", NULL);
    (void)jobs_put(scene->broker, "t", "x", NULL);
    scene->statuses[0] = WEIR_EAGAIN;
    struct weir_consumer_options options = scene_options_of(scene, begin_later);
    options.after_run = expect_none_reserved;
    options.retry.attempts = 1;
    scene_start(scene, &options);
    scene_wait_for_end(scene);
    CHECK_INT(scene->runs, ==, 3);
    CHECK_INT(scene->last_attempts, ==, 1);
    CHECK_INT(scene->outcomes[WEIR_RUN_RETURNED], ==, 1);
    CHECK_INT(scene->outcomes[WEIR_RUN_DONE], ==, 2);
    CHECK_INT(late_start.ids[0], ==, '1');
    CHECK_INT(late_start.times_ns[1] - late_start.times_ns[0], >=, WEIR_SECONDS(1));
    struct weir_tube_counts counts = jobs_counts(scene->broker, "t");
    CHECK_INT(counts.done, ==, 2);
    CHECK_INT(counts.retried, ==, 0);
    scene_close(scene);
}

static int keep_run_at(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 0;
}

TEST(start_delay,
     "a job comes back a second later if its handler cannot start, and that is reported")
{
    struct scene scene;
    scene_open(&scene);
    for (int i = 0; i < 32; i++) {
        scene.statuses[i] = WEIR_EAGAIN;
    }
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    int64_t start = weiri_wall_now();
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene_start(&scene, &options);
    weiri_mutex_lock(&scene.mutex);
    while (scene.outcomes[WEIR_RUN_RETURNED] == 0) {
        weiri_cond_wait(&scene.changed);
    }
    CHECK_INT(scene.last_delay_ns, ==, WEIR_SECONDS(1));
    CHECK_INT(scene.last_status, ==, WEIR_EAGAIN);
    weiri_mutex_unlock(&scene.mutex);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&scene);
    int64_t run_at = 0;
    CHECK_STATUS(weir_broker_peek_id(scene.broker, "1", keep_run_at, &run_at, NULL), WEIR_OK);
    CHECK_INT(run_at, >=, start + WEIR_SECONDS(1));
    scene_close(&scene);
}

/* The delays after the first three attempts. */
struct delays {
    struct scene scene; /* first, for scene_count_run() */
    int64_t told_ns[3];
};

static void note_delay(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                       int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct delays *delays = arg;
    if (outcome == WEIR_RUN_RETRY) {
        delays->told_ns[job->attempts - 1] = delay_ns;
    }
    scene_note_run(job, outcome, status, run_ns, delay_ns, &delays->scene);
}

TEST(delays,
     "the delays of retries are those of the options, with their jitter; a base that is 0 is "
     "no more than the maximum")
{
    static const struct {
        struct weir_retry retry;
        int64_t delays_ns[3];
        int64_t part; /* of a delay, at random */
    } rows[] = {
        {{.base_ns = WEIR_MS(1), .max_ns = WEIR_MS(3)}, {WEIR_MS(1), WEIR_MS(2), WEIR_MS(3)}, 10},
        {{.max_ns = WEIR_MS(2), .jitter = 500}, {WEIR_MS(2), WEIR_MS(2), WEIR_MS(2)}, 2},
        {{.base_ns = WEIR_MS(1), .jitter = WEIR_JITTER_NONE},
         {WEIR_MS(1), WEIR_MS(2), WEIR_MS(4)},
         INT64_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct delays delays;
        memset(&delays, 0, sizeof(delays));
        scene_open(&delays.scene);
        (void)jobs_put(delays.scene.broker, "t", "x", NULL);
        for (int k = 0; k < 3; k++) {
            delays.scene.statuses[k] = WEIR_EUSER;
        }
        struct weir_consumer_options options = scene_options_of(&delays.scene, scene_count_run);
        options.after_run = note_delay;
        options.retry = rows[i].retry;
        scene_start(&delays.scene, &options);
        scene_wait_for_end(&delays.scene);
        CHECK_INT(delays.scene.outcomes[WEIR_RUN_DONE], ==, 1);
        for (int k = 0; k < 3; k++) {
            int64_t delay_ns = rows[i].delays_ns[k];
            CHECK_INT(delays.told_ns[k], >=, delay_ns);
            CHECK_INT(delays.told_ns[k], <=, delay_ns + delay_ns / rows[i].part);
        }
        scene_close(&delays.scene);
        jobs_store_remove("jobs.db");
    }
}

struct counting_limiter {
    int asked;
    int forgotten;
};

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct counting_limiter *limiter = self;
    CHECK(now_ns > 0);
    CHECK_INT(key.size, ==, 1);
    CHECK_INT(*(const char *)key.data, ==, '1');
    limiter->asked++;
    *ret_delay_ns = 5;
    return WEIR_OK;
}

static void forget(void *self, struct weir_key key)
{
    (void)key;
    ((struct counting_limiter *)self)->forgotten++;
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    (void)key;
    return (uint64_t)((struct counting_limiter *)self)->asked;
}

static void destroy(void *self)
{
    (void)self;
}

TEST(limiter, "a limiter gives the delays, keyed by the job's id, and forgets at the end")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene.statuses[0] = WEIR_EUSER;
    static const struct weir_limiter_ops ops = {
        .when = when, .forget = forget, .num_requeues = num_requeues, .destroy = destroy};
    struct counting_limiter counting = {0, 0};
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(&ops, &counting, NULL, &limiter, NULL), WEIR_OK);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.limiter = limiter;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(counting.asked, ==, 1);
    CHECK_INT(counting.forgotten, ==, 1);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_EBUSY);
    scene_close(&scene);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
}

TEST(deadline, "a run ends its sleep at its deadline, and that is a failure")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    struct weir_consumer_options options = scene_options_of(&scene, scene_sleep_for_ever);
    options.deadline_ns = WEIR_MS(2);
    options.retry.attempts = 2;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 2);
    CHECK_INT(scene.last_status, ==, WEIR_ETIMEDOUT);
    CHECK_INT(scene.outcomes[WEIR_RUN_RETRY], ==, 1);
    CHECK_INT(scene.outcomes[WEIR_RUN_BURIED], ==, 1);
    scene_close(&scene);
}

TEST(delayed, "a delayed job is run when its time comes, not before")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_put_options put = {0};
    put.run_at_ns = weiri_wall_now() + WEIR_MS(120);
    (void)jobs_put(scene.broker, "t", "x", &put);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(weiri_wall_now(), >=, put.run_at_ns);
    CHECK_INT(scene.runs, ==, 1);
    scene_close(&scene);
}

static int succeed(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

TEST_OOM(making, "a consumer that cannot be made leaves nothing")
{
    weir_broker *broker;
    struct weir_broker_options broker_options = {0};
    broker_options.allocator = *test_allocator();
    if (CHECK_OR_OOM(weir_broker_open("sqlite:jobs.db", &broker_options, &broker, NULL))) {
        return;
    }
    struct weir_consumer_options options = {0};
    options.handler = succeed;
    options.workers = 3;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    if (!CHECK_OR_OOM(weir_consumer_new(broker, "t", &options, &consumer, &error))) {
        weir_consumer_free(consumer);
    }
    weir_broker_close(broker);
}
