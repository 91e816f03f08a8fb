/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a handler tells of its run. */
#include <weir/admin.h>
#include <weir/envelope.h>
#include <weir/lifecycle.h>
#include <weir/policy.h>

#include "support/consumer.h"

#define UMLAUT "\xc3\xbc"

/* The last output of a handler: longer than what is kept, which would begin within a character. */
static char output[3000];

struct told {
    int count;
    struct weir_attempt attempt;
    char reason[WEIR_REASON_SIZE];
    char tail[WEIR_TAIL_SIZE];
    char after[WEIR_REASON_SIZE]; /* the reason that after_run was told */
};

static struct told told;

static int keep(const struct weir_attempt *attempt, void *arg)
{
    (void)arg;
    told.count++;
    told.attempt = *attempt;
    (void)snprintf(told.reason, sizeof(told.reason), "%s", attempt->reason);
    (void)snprintf(told.tail, sizeof(told.tail), "%s", attempt->tail);
    return 0;
}

static int copy_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s", job->reason);
    return 0;
}

static void note(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                 int64_t run_ns, int64_t delay_ns, void *arg)
{
    scene_note_run(job, outcome, status, run_ns, delay_ns, arg);
    (void)copy_reason(job, told.after);
}

static int describe(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)scene_count_run(context, job, arg);
    struct weir_run_details details = {0};
    CHECK_STATUS(weir_context_explain(context, "replaced"), WEIR_OK);
    CHECK_STATUS(weir_job_describe(context, &details), WEIR_OK);
    CHECK_STATUS(weir_context_explain(context, "the disk of the other side is full"), WEIR_OK);
    details.tail = output;
    details.tail_size = sizeof(output);
    details.exit_status = 9;
    details.signal = 11;
    CHECK_STATUS(weir_job_describe(context, &details), WEIR_OK);
    /* What is refused changes nothing. */
    details.tail = NULL;
    CHECK_STATUS(weir_job_describe(context, &details), WEIR_EINVAL);
    CHECK_STATUS(weir_job_describe(context, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_job_describe(NULL, &details), WEIR_EINVAL);
    details.tail = output;
    details.retry_ns = -1;
    CHECK_STATUS(weir_job_describe(context, &details), WEIR_EINVAL);
    return WEIR_ESTOP;
}

TEST(described, "what a handler tells is the job's reason and its history, cut to what is kept")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    for (size_t i = 0; i < sizeof(output); i += 2) {
        memcpy(output + i, UMLAUT, 2);
    }
    output[sizeof(output) - 2] = '\0';
    output[sizeof(output) - 1] = '!';
    struct weir_consumer_options options = scene_options_of(&scene, describe);
    options.after_run = note;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_STATUS(weir_broker_attempts(scene.broker, "1", keep, NULL, NULL), WEIR_OK);
    CHECK_INT(told.count, ==, 1);
    CHECK_INT(told.attempt.outcome, ==, WEIR_RUN_BURIED);
    CHECK_INT(told.attempt.status, ==, WEIR_ESTOP);
    CHECK_INT(told.attempt.exit_status, ==, 9);
    CHECK_INT(told.attempt.signal, ==, 11);
    CHECK_STRING(told.reason, "the disk of the other side is full");
    CHECK_STRING(told.after, "the disk of the other side is full");
    char reason[WEIR_REASON_SIZE];
    CHECK_STATUS(weir_broker_peek_id(scene.broker, "1", copy_reason, reason, NULL), WEIR_OK);
    CHECK_STRING(reason, "attempt 1: the disk of the other side is full");
    /* 1023 bytes would begin with the second one of a character. */
    size_t length = strlen(told.tail);
    CHECK_INT(length, ==, WEIR_TAIL_SIZE - 2);
    CHECK_INT(memcmp(told.tail, UMLAUT, 2), ==, 0);
    CHECK_STRING(told.tail + length - 4, UMLAUT "?!");
    scene_close(&scene);
}

TEST(not_told, "a run of which nothing is told leaves its status; one that succeeds leaves nothing")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene.statuses[0] = WEIR_EUSER + 5;
    scene.statuses[1] = WEIR_ESTOP;
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.after_run = note;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_STATUS(weir_broker_attempts(scene.broker, "1", keep, NULL, NULL), WEIR_OK);
    CHECK_INT(told.count, ==, 2);
    CHECK_INT(told.attempt.status, ==, WEIR_ESTOP);
    CHECK_INT(told.attempt.exit_status, ==, 0);
    CHECK_STRING(told.tail, "");
    CHECK_STRING(told.reason, told.after);
    scene_close(&scene);
}

static uint32_t attempts[2];            /* that the contexts told */
static char key[WEIR_KEY_SIZE_MAX + 1]; /* that the job had */

static int note_attempt(weir_context *context, const struct weir_job *job, void *arg)
{
    CHECK_INT(job->attempts, <=, 2);
    attempts[job->attempts - 1] = weir_context_attempt(context);
    (void)snprintf(key, sizeof(key), "%s", job->key == NULL ? "none" : job->key);
    return scene_count_run(context, job, arg);
}

TEST(attempt, "a run's context tells which attempt it is; a success has no reason of a failure")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene.statuses[0] = WEIR_EUSER;
    struct weir_consumer_options options = scene_options_of(&scene, note_attempt);
    options.after_run = note;
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
    CHECK_INT(attempts[0], ==, 1);
    CHECK_INT(attempts[1], ==, 2);
    CHECK_STRING(told.after, "");
    scene_close(&scene);
}

static int tell_result(weir_context *context, const struct weir_job *job, void *arg)
{
    int status = scene_count_run(context, job, arg);
    CHECK_STATUS(weir_context_explain(context, status == WEIR_OK ? "2 pages" : "no paper"),
                 WEIR_OK);
    return status;
}

/* A job fails, then succeeds, and is kept. Its reason is copied. */
static void run_ended(struct scene *scene, weir_handler_fn *handler, char reason[WEIR_REASON_SIZE])
{
    struct weir_tube_policy policy = {0};
    scene_open(scene);
    policy.keep_ns = WEIR_FOREVER;
    CHECK_STATUS(weir_broker_set_policy(scene->broker, "t", &policy, NULL), WEIR_OK);
    (void)jobs_put(scene->broker, "t", "x", NULL);
    scene->statuses[0] = WEIR_EUSER;
    struct weir_consumer_options options = scene_options_of(scene, handler);
    scene_start(scene, &options);
    scene_wait_for_end(scene);
    CHECK_STATUS(weir_broker_peek_id(scene->broker, "1", copy_reason, reason, NULL), WEIR_OK);
}

TEST(result, "an ended job and its history keep what a handler tells of a run that succeeded")
{
    struct scene scene;
    char reason[WEIR_REASON_SIZE];
    run_ended(&scene, tell_result, reason);
    CHECK_STRING(reason, "2 pages");
    told.count = 0;
    CHECK_STATUS(weir_broker_attempts(scene.broker, "1", keep, NULL, NULL), WEIR_OK);
    CHECK_INT(told.count, ==, 2);
    CHECK_INT(told.attempt.outcome, ==, WEIR_RUN_DONE);
    CHECK_STRING(told.reason, "2 pages");
    scene_close(&scene);
}

TEST(no_result, "an ended job without a result does not keep what it failed of before")
{
    struct scene scene;
    char reason[WEIR_REASON_SIZE];
    run_ended(&scene, scene_count_run, reason);
    CHECK_STRING(reason, "");
    scene_close(&scene);
}

TEST(keyed, "a handler is told its job's key")
{
    static const char *const keys[] = {"customer 7", NULL};
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        struct weir_put_options put = {.key = keys[i]};
        scene_open(&scene);
        (void)jobs_put(scene.broker, "t", "x", &put);
        struct weir_consumer_options options = scene_options_of(&scene, note_attempt);
        scene_start(&scene, &options);
        scene_wait_for_end(&scene);
        CHECK_STRING(key, i == 0 ? "customer 7" : "none");
        scene_close(&scene);
    }
}

static int64_t delay_ns; /* of the first run */

static void note_delay(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                       int64_t run_ns, int64_t told_ns, void *arg)
{
    delay_ns = outcome == WEIR_RUN_DONE ? delay_ns : told_ns;
    scene_note_run(job, outcome, status, run_ns, told_ns, arg);
}

static int tell_retry(weir_context *context, const struct weir_job *job, void *arg)
{
    struct weir_run_details details = {0};
    int status = scene_count_run(context, job, arg);
    details.retry_ns = WEIR_MS(7);
    CHECK_STATUS(weir_job_describe(context, &details), WEIR_OK);
    return status;
}

TEST(retry, "a run that failed comes back when its handler says, counted; a job put off, uncounted")
{
    static const struct {
        int status;
        enum weir_run_outcome outcome;
        uint32_t attempts; /* of the second run */
    } cases[] = {{WEIR_EUSER, WEIR_RUN_RETRY, 2}, {WEIR_EAGAIN, WEIR_RUN_RETURNED, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_open(&scene);
        (void)jobs_put(scene.broker, "t", "x", NULL);
        scene.statuses[0] = cases[i].status;
        struct weir_consumer_options options = scene_options_of(&scene, tell_retry);
        options.retry.base_ns = WEIR_SECONDS(1000);
        options.after_run = note_delay;
        delay_ns = 0;
        scene_start(&scene, &options);
        scene_wait_for_end(&scene);
        CHECK_INT(scene.runs, ==, 2);
        CHECK_INT(delay_ns, ==, WEIR_MS(7));
        CHECK_INT(scene.outcomes[cases[i].outcome], ==, 1);
        CHECK_INT(scene.outcomes[WEIR_RUN_DONE], ==, 1);
        CHECK_INT(scene.last_attempts, ==, cases[i].attempts);
        scene_close(&scene);
    }
}

static int keep_job(const struct weir_job *job, void *arg)
{
    *(struct weir_job *)arg = *job;
    return 0;
}

static int tell_progress(weir_context *context, const struct weir_job *job, void *arg)
{
    CHECK_STATUS(weir_job_progress(context, -1), WEIR_ERANGE);
    CHECK_STATUS(weir_job_progress(context, 101), WEIR_ERANGE);
    CHECK_STATUS(weir_job_progress(NULL, 1), WEIR_EINVAL);
    struct scene *scene = arg;
    struct weir_job seen = {.progress = -2};
    CHECK_STATUS(weir_broker_peek_id(scene->broker, job->id, keep_job, &seen, NULL), WEIR_OK);
    CHECK_INT(seen.progress, ==, -1);
    CHECK_INT(seen.started_ns, >=, job->run_at_ns);
    const int32_t told_values[] = {0, 40, 100};
    for (size_t i = 0; i < 3 && job->attempts == 1; i++) {
        CHECK_STATUS(weir_job_progress(context, 7), WEIR_OK);
        CHECK_STATUS(weir_job_progress(context, told_values[i]), WEIR_OK);
        while (seen.progress != told_values[i]) {
            CHECK_STATUS(weir_context_sleep(context, WEIR_MS(5)), WEIR_OK);
            CHECK_STATUS(weir_broker_peek_id(scene->broker, job->id, keep_job, &seen, NULL),
                         WEIR_OK);
        }
    }
    return scene_count_run(context, job, arg);
}

TEST(progress, "what a handler tells of its progress is seen while it runs, and gone at the next")
{
    struct scene scene;
    scene_open(&scene);
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene.statuses[0] = WEIR_EUSER;
    struct weir_consumer_options options = scene_options_of(&scene, tell_progress);
    scene_start(&scene, &options);
    scene_wait_for_end(&scene);
    CHECK_INT(scene.runs, ==, 2);
    scene_close(&scene);
}

static int describe_elsewhere(weir_context *context, void *payload)
{
    (void)payload;
    struct weir_run_details details = {0};
    return (int)weir_job_describe(context, &details);
}

static void keep_status(weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    *(int *)payload = status;
}

TEST(elsewhere, "a run that is no consumer's cannot be described")
{
    int status = WEIR_OK;
    weir_pool *pool;
    weir_envelope *envelope;
    struct weir_pool_options pool_options = {0};
    struct weir_envelope_options options = {0};
    pool_options.workers = 1;
    options.invoke = describe_elsewhere;
    options.outcome = keep_status;
    options.payload = &status;
    CHECK_STATUS(weir_pool_new(&pool_options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(status, ==, WEIR_EINVAL);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
}
