/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* The scenarios of rate-envelope-queue's own tests of envelopes and workers
 * (tests/envelope_test.go, tests/worker_test.go), named as there, on a manual clock. Where weir
 * answers otherwise, the case says so. Those of sending and of the queue are in
 * rate_envelope_sending_test.c and rate_envelope_queue_test.c. */

/* Runs one-off options once, and compares what was called. */
static void check_once(struct script *script, const struct weir_envelope_options *options,
                       const char *steps)
{
    script_start(script, options, NULL);
    script_wait(script, 1);
    script_end(script, 1, 0);
    CHECK_STRING(script->steps, steps);
    script_fini(script);
}

/* Envelope. */

TEST(envelope_base_interface, "TestEnvelope: Envelope base interface testing")
{
    struct script script;
    script_init(&script);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.id = 1;
    options.type = "someEnvelope";
    script_start(&script, &options, NULL);
    CHECK_INT(weir_envelope_id(script.envelope), ==, 1);
    CHECK_STRING(weir_envelope_type(script.envelope), "someEnvelope");
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    script_fini(&script);
}

static struct weir_envelope_options every(struct script *script, int64_t interval_ns,
                                          int64_t deadline_ns)
{
    struct weir_envelope_options options = script_envelope(script, interval_ns);
    options.deadline_ns = deadline_ns;
    return options;
}

TEST(envelope_interval_calling, "TestEnvelope: Envelope interval calling testing: 2 runs in 3 s")
{
    struct script script;
    script_init(&script);
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(2), WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(3)), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(envelope_interval_calling_time_greater, "TestEnvelope: Envelope interval calling testing with "
                                             "time greater than deadline: 1 run in 5 s; "
                                             "and it has succeeded, late")
{
    struct script script;
    script_init(&script);
    script.invoke_ns = WEIR_SECONDS(3);
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(2), WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(2) - 1), WEIR_OK);
    CHECK_INT(counts_of(script.pool).runs, ==, 1);
    CHECK_INT(counts_of(script.pool).late, ==, 1);
    script_end(&script, 1, 1);
    script_fini(&script);
}

TEST(envelope_invoke_deadline, "TestEnvelope: Envelope invoke deadline testing")
{
    struct script script;
    script_init(&script);
    script.sleeps = true;
    script_start(&script, NULL, NULL);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_DEADLINE_NS), WEIR_OK);
    script_wait(&script, 1);
    CHECK_INT(script.status, ==, WEIR_ETIMEDOUT);
    script_end(&script, 1, 0);
    script_fini(&script);
}

TEST(envelope_hooks_deadline,
     "TestEnvelope: Envelope hooks deadline testing: a hook that takes too long finds that out")
{
    struct script script;
    script_init(&script);
    script.before_ns = WEIR_SECONDS(4);
    struct weir_envelope_options options = every(&script, 0, WEIR_SECONDS(2));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(script.before_end, WEIR_ETIMEDOUT);
    script_end(&script, 1, 0);
    script_fini(&script);
}

TEST(envelope_hooks_min_timeout,
     "TestEnvelope: Envelope hooks deadline min timeout testing: 800 ms here")
{
    struct script script;
    script_init(&script);
    script.before_ns = WEIR_MS(799);
    struct weir_envelope_options options = every(&script, 0, WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(script.before_end, WEIR_OK);
    script_end(&script, 1, 0);
    script_fini(&script);
}

/* Errors. */

TEST(beforehook_without_afterhook,
     "TestBaseWorkerBehaviourOnError: Worker error in beforehook without afterhook")
{
    struct script script;
    script_init(&script);
    script.before = WEIR_EUSER;
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.after = NULL;
    check_once(&script, &options, "before failure outcome");
}

TEST(beforehook_skip_afterhook,
     "TestBaseWorkerBehaviourOnError: Worker error in beforehook with skip afterhook")
{
    struct script script;
    script_init(&script);
    script.before = WEIR_EUSER;
    check_once(&script, NULL, "before failure outcome");
}

TEST(beforehook_call_afterhook,
     "TestBaseWorkerBehaviourOnError: Worker error in beforehook with success call afterhook")
{
    struct script script;
    script_init(&script);
    script.before = WEIR_ESTOP;
    check_once(&script, NULL, "before after outcome");
}

TEST(invoke_skip_afterhook,
     "TestBaseWorkerBehaviourOnError: Worker error in invoke with skip afterhook")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    check_once(&script, NULL, "before invoke failure outcome");
}

TEST(invoke_call_afterhook,
     "TestBaseWorkerBehaviourOnError: Worker error in invoke with success call afterhook")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ESTOP;
    check_once(&script, NULL, "before invoke after outcome");
}

/* Cancelled and timed out. */

TEST(beforehook_default_deadline,
     "TestWorkerCtxCancelledOrDeadlineExceededOnPeriodicEnvelope: Worker beforehook ctx canceled "
     "with default deadline value: the second cycle runs")
{
    struct script script;
    script_init(&script);
    script.before_sleeps = 1;
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(1), 0);
    script_start(&script, &options, NULL);
    counter_wait(&script.slept, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_MS(800)), WEIR_OK);
    script_wait(&script, 1);
    CHECK_INT(script.status, ==, WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    CHECK_STRING(script.steps, "before outcome before invoke after success outcome");
    script_end(&script, 2, 1);
    script_fini(&script);
}

/* Stops the pool while a function of the first cycle waits for its context: no second cycle. */
static void check_stopped(const char *steps, int status, weir_failure_fn *failure)
{
    struct script all;
    struct script *script = &all;
    script_init(script);
    script->before_sleeps = strcmp(steps, "before outcome") == 0 ? 1 : 0;
    script->sleeps = strcmp(steps, "before invoke outcome") == 0;
    script->after_sleeps = !script->sleeps && script->before_sleeps == 0;
    struct weir_envelope_options options = every(script, WEIR_SECONDS(1), 0);
    options.failure = failure;
    script_start(script, &options, NULL);
    counter_wait(script->sleeps ? &script->begun : &script->slept, 1);
    CHECK_STATUS(weir_pool_end(script->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STRING(script->steps, steps);
    CHECK_INT(script->status, ==, status);
    CHECK_INT(counts_of(script->pool).runs, ==, 1);
    CHECK_INT(counts_of(script->pool).in_flight, ==, 0);
    weir_envelope_unref(script->envelope);
    script_fini(script);
}

TEST(beforehook_queue_stop, "TestWorkerCtxCancelledOrDeadlineExceededOnPeriodicEnvelope: Worker "
                            "beforehook context canceled with queue stop")
{
    check_stopped("before outcome", WEIR_ECANCELED, NULL);
}

TEST(invoke_queue_stop, "TestWorkerCtxCancelledOrDeadlineExceededOnPeriodicEnvelope: Worker invoke "
                        "context canceled with queue stop")
{
    check_stopped("before invoke outcome", WEIR_ECANCELED, NULL);
}

TEST(afterhook_queue_stop, "TestWorkerCtxCancelledOrDeadlineExceededOnPeriodicEnvelope: Worker "
                           "afterhook context canceled with queue stop: the task has succeeded")
{
    check_stopped("before invoke after success outcome", WEIR_OK, NULL);
}

TEST(afterhook_skip_failurehook, "TestWorkerCtxCancelledOrDeadlineExceededOnPeriodicEnvelope: "
                                 "Worker afterhook context canceled with skip failurehook")
{
    check_stopped("before invoke after success outcome", WEIR_OK, script_failure);
}

/* Intervals and errors. */

TEST(rescheduling_beforehook,
     "TestIntervalCallingOnPeriodicEnvelopeWithError: Envelope rescheduling if error is in "
     "beforehook calling")
{
    struct script script;
    script_init(&script);
    script.before = WEIR_EUSER;
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(1), WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    script.before = WEIR_OK;
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    CHECK_STRING(script.steps, "before failure outcome before invoke after success outcome");
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(rescheduling_invoke,
     "TestIntervalCallingOnPeriodicEnvelopeWithError: Envelope rescheduling if error is in invoke "
     "calling")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(1), WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(script.status, ==, WEIR_OK);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(rescheduling_afterhook,
     "TestIntervalCallingOnPeriodicEnvelopeWithError: Envelope default interval calling and skip "
     "error call if error is in afterhook")
{
    struct script script;
    script_init(&script);
    script.after = WEIR_EUSER;
    struct weir_envelope_options options = every(&script, WEIR_SECONDS(1), WEIR_SECONDS(1));
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(counts_of(script.pool).succeeded, ==, 2);
    script_end(&script, 2, 1);
    script_fini(&script);
}

/* Decisions. */

static void check_decision(int64_t decision, int64_t wait_ns, int runs)
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    script.decision = decision;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    if (wait_ns > 0) {
        CHECK_STATUS(weir_clock_advance(script.clock, wait_ns - 1), WEIR_OK);
        CHECK_INT(counts_of(script.pool).runs, ==, 1);
        CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    }
    script_wait(&script, runs);
    script_end(&script, runs, 0); /* and no further one */
    CHECK_INT(counts_of(script.pool).succeeded, ==, runs - 1);
    script_fini(&script);
}

TEST(automatic_drop,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Envelope automatic drop decision setting if "
     "WithFailureHook is nil")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.failure = NULL;
    check_once(&script, &options, "before invoke outcome");
}

TEST(default_once,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Envelope WithFailureHook DefaultOnceDecision")
{
    check_decision(WEIR_DROP, 0, 1);
}

TEST(retry_once_now,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Envelope WithFailureHook RetryOnceNowDecision")
{
    check_decision(0, 0, 2);
}

TEST(retry_once_after,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Envelope RetryOnceAfterDecision with deadline "
     "timeout")
{
    check_decision(WEIR_SECONDS(2), WEIR_SECONDS(2), 2);
}

TEST(retry_once_after_0,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Envelope automatic deadline setting if "
     "RetryOnceAfterDecision timeout is 0: at once here, after 1 s there")
{
    check_decision(0, 0, 2);
}

struct voice {
    char name;
    int failures;
    int64_t decision;
    struct choir *choir;
};

struct choir {
    char order[8];
    struct counter sung;
};

static int sing(weir_context *context, void *payload)
{
    struct voice *voice = payload;
    (void)context;
    if (voice->failures > 0) {
        voice->failures--;
        return WEIR_EUSER;
    }
    size_t length = strlen(voice->choir->order);
    voice->choir->order[length] = voice->name;
    counter_add(&voice->choir->sung, 1);
    return WEIR_OK;
}

static int64_t decide(weir_context *context, weir_envelope *envelope,
                      const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    return ((const struct voice *)payload)->decision;
}

TEST(different_timeouts,
     "TestFailureHookDecisionsOnOneTimeEnvelope: Multiple envelope with different timeouts in "
     "WithFailureHook in queue win single(1) worker: first, third, fifth, forth, second")
{
    struct choir choir = {.order = ""};
    counter_init(&choir.sung);
    struct voice voices[] = {{'1', 0, WEIR_SECONDS(1), &choir},
                             {'2', 1, WEIR_SECONDS(3), &choir},
                             {'3', 0, WEIR_SECONDS(1), &choir},
                             {'4', 1, WEIR_SECONDS(2), &choir},
                             {'5', 1, 0, &choir}};
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    for (int i = 0; i < 5; i++) {
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.payload = &voices[i];
        options.invoke = sing;
        options.failure = decide;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&choir.sung, 3);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_SECONDS(2)), WEIR_OK);
    counter_wait(&choir.sung, 4);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_SECONDS(1)), WEIR_OK);
    counter_wait(&choir.sung, 5);
    CHECK_STRING(choir.order, "13542");
    weir_pool_free(pool);
    weir_clock_free(clock);
    counter_fini(&choir.sung);
}

TEST(success_hook, "TestSuccessHookOnOneTimeEnvelope: Envelope success hook")
{
    struct script script;
    script_init(&script);
    check_once(&script, NULL, "before invoke after success outcome");
}
