/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* What a failure hook may decide about a one-off envelope, and what its retries are bounded by
 * (retry_test.c has those without a hook, and the delays). */

static void start_failing(struct script *script, int failures, int64_t decision)
{
    script_init(script);
    for (int i = 0; i < failures; i++) {
        script->statuses[i] = WEIR_EUSER + i;
    }
    script->decision = decision;
}

TEST(drop, "a drop ends the envelope, which can be sent anew and is at its first attempt again")
{
    struct script script;
    start_failing(&script, 2, WEIR_DROP);
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    CHECK_INT(script.failure.attempt, ==, 1);
    CHECK_INT(script.failure.status, ==, WEIR_EUSER);
    CHECK_STRING(script.failure.message, "");
    CHECK_INT(script.failure.signal, ==, 0);
    CHECK_INT(script.failure.exit_status, ==, -1);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(script.failure.attempt, ==, 1);
    CHECK_INT(script.failure.status, ==, WEIR_EUSER + 1);
    script_end(&script, 2, 0);
    CHECK_INT(counts_of(script.pool).retries, ==, 0);
    script_fini(&script);
}

TEST(default_is_drop, "an envelope without a failure hook, and without attempts, is dropped")
{
    struct script script;
    start_failing(&script, 1, 0);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.failure = NULL;
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke outcome");
    script_fini(&script);
}

TEST(now, "retry now: at once, until it succeeds; attempts are counted (R9)")
{
    struct script script;
    start_failing(&script, 3, 0);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.before = NULL;
    options.after = NULL;
    script_start(&script, &options, NULL);
    script_wait(&script, 4);
    CHECK_INT(script.failure.attempt, ==, 3);
    script_end(&script, 4, 0);
    CHECK_STRING(script.steps, "invoke failure outcome invoke failure outcome "
                               "invoke failure outcome invoke success outcome");
    CHECK_INT(counts_of(script.pool).retries, ==, 3);
    CHECK_INT(counts_of(script.pool).failed, ==, 3);
    CHECK_INT(counts_of(script.pool).succeeded, ==, 1);
    script_fini(&script);
}

TEST(after, "retry after d: d after the failure hook returned, and not a nanosecond earlier")
{
    struct script script;
    start_failing(&script, 1, WEIR_SECONDS(3));
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(3) - 1), WEIR_OK);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    script_fini(&script);
}

TEST(after_nothing, "retry after 0, or any negative number but two, is at once, not a drop (R10)")
{
    static const int64_t delays[] = {0, -1, WEIR_DROP + 1};
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        struct script script;
        start_failing(&script, 1, delays[i]);
        script_start(&script, NULL, NULL);
        script_wait(&script, 2);
        script_end(&script, 2, 0);
        CHECK_INT(counts_of(script.pool).retries, ==, 1);
        script_fini(&script);
    }
}

TEST(after_for_ever, "retry after the longest delay overflows nothing")
{
    struct script script;
    start_failing(&script, 1, INT64_MAX);
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    script_end(&script, 1, 1);
    script_fini(&script);
}

/* A pool with a limiter of its own: 1 s, doubled with each failure. */
static struct weir_pool_options pool_with_limiter(struct script *script, weir_limiter **ret_limiter)
{
    struct weir_limiter_options limiter = {0};
    limiter.allocator = *test_allocator();
    CHECK_STATUS(weir_limiter_exponential_new(WEIR_SECONDS(1), WEIR_SECONDS(1000), &limiter,
                                              ret_limiter, NULL),
                 WEIR_OK);
    struct weir_pool_options options = script_pool(script);
    options.limiter = *ret_limiter;
    return options;
}

TEST(limited, "retry by the limiter: after the pool's limiter's answers, which grow (R4)")
{
    struct script script;
    weir_limiter *limiter;
    start_failing(&script, 3, WEIR_RETRY);
    struct weir_pool_options options = pool_with_limiter(&script, &limiter);
    script_start(&script, NULL, &options);
    for (int run = 1; run <= 3; run++) {
        script_wait(&script, run);
        CHECK_INT(script.failure.attempt, ==, run);
        CHECK_STATUS(weir_clock_advance(script.clock, (WEIR_SECONDS(1) << (run - 1)) - 1), WEIR_OK);
        CHECK_INT(counts_of(script.pool).waiting, ==, 1);
        CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    }
    script_wait(&script, 4);
    script_end(&script, 4, 0);
    script_fini(&script);
    weir_limiter_free(limiter);
}

/* How long the limiter makes the next retry of the envelope wait, once it has failed. */
static int64_t wait_of_retry(struct script *script, int run)
{
    script_wait(script, run);
    int64_t waited = 0;
    for (int step = 0; counter_value(&script->ends) == run; step++) {
        CHECK_INT(step, <, 64);
        int64_t size = WEIR_SECONDS(1);
        CHECK_STATUS(weir_clock_advance(script->clock, size), WEIR_OK);
        waited += size;
        if (counts_of(script->pool).waiting == 0) {
            script_wait(script, run + 1);
        }
    }
    return waited;
}

TEST(forgotten, "a success forgets by itself: the next failure waits as the first one did (W9)")
{
    struct script script;
    weir_limiter *limiter;
    start_failing(&script, 2, WEIR_RETRY);
    script.statuses[3] = WEIR_EUSER;
    struct weir_pool_options options = pool_with_limiter(&script, &limiter);
    script_start(&script, NULL, &options);
    CHECK_INT(wait_of_retry(&script, 1), ==, WEIR_SECONDS(1));
    CHECK_INT(wait_of_retry(&script, 2), ==, WEIR_SECONDS(2));
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK); /* the third succeeded */
    CHECK_INT(wait_of_retry(&script, 4), ==, WEIR_SECONDS(1));
    CHECK_INT(script.failure.attempt, ==, 1);
    script_end(&script, 5, 0);
    script_fini(&script);
    weir_limiter_free(limiter);
}

/* A limiter that counts what it knows. */
struct knowing {
    int tries;
    int forgotten;
    enum weir_status answer;
};

static enum weir_status knowing_when(void *self, struct weir_key key, int64_t now_ns,
                                     int64_t *ret_delay_ns)
{
    (void)key;
    (void)now_ns;
    struct knowing *knowing = self;
    if (knowing->answer == WEIR_OK) {
        knowing->tries++;
        *ret_delay_ns = WEIR_SECONDS(5);
    }
    return knowing->answer;
}

static void knowing_forget(void *self, struct weir_key key)
{
    (void)key;
    ((struct knowing *)self)->forgotten++;
}

static uint64_t knowing_num_requeues(void *self, struct weir_key key)
{
    (void)key;
    return (uint64_t)((struct knowing *)self)->tries;
}

static void knowing_destroy(void *self)
{
    (void)self;
}

static weir_limiter *new_knowing(struct knowing *knowing)
{
    const struct weir_limiter_ops ops = {
        .when = knowing_when,
        .forget = knowing_forget,
        .num_requeues = knowing_num_requeues,
        .destroy = knowing_destroy,
    };
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(&ops, knowing, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

TEST(forgotten_when_dropped,
     "what the limiter knows of an envelope goes with it: a stop, a drop, too many attempts")
{
    for (int way = 0; way < 3; way++) {
        struct knowing knowing = {.answer = WEIR_OK};
        struct script script;
        weir_limiter *limiter = new_knowing(&knowing);
        start_failing(&script, 2, WEIR_RETRY);
        struct weir_pool_options pool = script_pool(&script);
        pool.limiter = limiter;
        struct weir_envelope_options envelope = script_envelope(&script, 0);
        envelope.retry.attempts = way == 2 ? 2 : 0;
        script_start(&script, &envelope, &pool);
        script_wait(&script, 1);
        CHECK_INT(knowing.forgotten, ==, 0);
        if (way > 0) {
            script.decision = way == 1 ? WEIR_DROP : script.decision;
            CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(5)), WEIR_OK);
            script_wait(&script, 2);
        }
        script_end(&script, way > 0 ? 2 : 1, way > 0 ? 0 : 1);
        CHECK_INT(knowing.forgotten, ==, 1);
        script_fini(&script);
        weir_limiter_free(limiter);
    }
}

TEST(forgotten_when_dropped_early,
     "the same where a stop meets the retry before the run that asked for it has ended")
{
    struct knowing knowing = {.answer = WEIR_OK};
    struct script script;
    weir_limiter *limiter = new_knowing(&knowing);
    start_failing(&script, 1, WEIR_RETRY);
    script.is_held = true;
    struct weir_pool_options pool = script_pool(&script);
    pool.limiter = limiter;
    script_start(&script, NULL, &pool);
    script_wait(&script, 1);
    struct ender ender = {.pool = script.pool, .mode = WEIR_END_STOP};
    struct test_thread *thread = test_start(ender_run, &ender);
    test_wait_asleep(thread); /* for the worker */
    CHECK_INT(counts_of(script.pool).dropped, ==, 0);
    CHECK_INT(knowing.forgotten, ==, 0);
    counter_add(&script.let_go, 1);
    test_join(thread);
    CHECK_INT(counts_of(script.pool).dropped, ==, 1);
    CHECK_INT(knowing.forgotten, ==, 1);
    CHECK_INT(script.told, ==, WEIR_ENDED_STOPPED);
    CHECK_INT(script.tellings, ==, 1);
    weir_envelope_unref(script.envelope);
    CHECK_INT(counter_value(&script.released), ==, 1);
    script_fini(&script);
    weir_limiter_free(limiter);
}

/* Runs to the end, with one run if the retry is pending by then; why it was dropped. */
static int reason_of(int64_t decision, uint32_t attempts_max, int runs, enum weir_end_mode mode)
{
    struct script script;
    start_failing(&script, SCRIPT_RUNS, decision);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.retry.attempts = attempts_max;
    script_start(&script, &options, NULL);
    script_wait(&script, runs);
    CHECK_STATUS(weir_pool_end(script.pool, mode, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&script.ends), ==, runs);
    CHECK_INT(script.tellings, <=, 1);
    weir_envelope_unref(script.envelope);
    CHECK_INT(counter_value(&script.released), ==, 1);
    int told = script.told;
    script_fini(&script);
    return told;
}

TEST(told, "whoever is told of drops is told of each failure that ends an envelope, and why")
{
    const int64_t later = WEIR_SECONDS(1);
    CHECK_INT(reason_of(WEIR_DROP, 0, 1, WEIR_END_DRAIN), ==, WEIR_ENDED_FAILED);
    CHECK_INT(reason_of(0, 3, 3, WEIR_END_DRAIN), ==, WEIR_ENDED_EXHAUSTED);
    CHECK_INT(reason_of(later, 0, 1, WEIR_END_DRAIN), ==, WEIR_ENDED_DRAINED);
    CHECK_INT(reason_of(later, 0, 1, WEIR_END_FINISH), ==, WEIR_ENDED_FINISHED);
    CHECK_INT(reason_of(later, 0, 1, WEIR_END_STOP), ==, WEIR_ENDED_STOPPED);
    CHECK_INT(reason_of(later, 0, 1, WEIR_END_TERMINATE), ==, WEIR_ENDED_TERMINATED);
    CHECK_INT(reason_of(WEIR_RETRY, 0, 1, WEIR_END_STOP), ==, WEIR_ENDED_STOPPED);
}

TEST(not_told, "nobody is told of an envelope that succeeded, was stopped, canceled or timed out")
{
    static const int statuses[] = {WEIR_OK, WEIR_ESTOP, WEIR_ECANCELED, WEIR_ETIMEDOUT};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct script script;
        script_init(&script);
        script.statuses[0] = statuses[i];
        script_start(&script, NULL, NULL);
        script_wait(&script, 1);
        script_end(&script, 1, 0);
        CHECK_INT(script.tellings, ==, 0);
        script_fini(&script);
    }
}

static int64_t retry_once_shut(weir_context *context, weir_envelope *envelope,
                               const struct weir_failure *failure, void *payload)
{
    struct script *script = payload;
    (void)script_failure(context, envelope, failure, payload);
    /* By then the queue is shut down, or the run is noted as canceled. */
    CHECK_STATUS(weir_context_sleep(context, WEIR_FOREVER), WEIR_ECANCELED);
    return script->decision;
}

TEST(canceled_early, "a retry that is canceled before its run has ended is told as canceled")
{
    struct script script;
    start_failing(&script, 1, WEIR_SECONDS(1));
    script.is_held = true;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    uint32_t found;
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, &found), WEIR_OK);
    CHECK_INT(found, ==, WEIR_CANCELED_PENDING | WEIR_CANCELED_RUNNING);
    counter_add(&script.let_go, 1);
    script_end(&script, 1, 1);
    CHECK_INT(script.told, ==, WEIR_ENDED_CANCELED);
    CHECK_INT(script.tellings, ==, 1);
    script_fini(&script);
}

TEST(canceled_failing, "what fails because it was canceled is not tried again, whatever is decided")
{
    struct script script;
    start_failing(&script, 1, 0);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.failure = retry_once_shut;
    script_start(&script, &options, NULL);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(counter_value(&script.ends), ==, 1);
    script_end(&script, 1, 1);
    CHECK_INT(script.told, ==, WEIR_ENDED_CANCELED);
    CHECK_INT(counts_of(script.pool).retries, ==, 0);
    script_fini(&script);
}

TEST(silent_limiter, "a limiter that fails costs no envelope: it is tried again a second later")
{
    struct knowing knowing = {.answer = WEIR_ENOMEM};
    struct script script;
    weir_limiter *limiter = new_knowing(&knowing);
    start_failing(&script, 1, WEIR_RETRY);
    struct weir_pool_options pool = script_pool(&script);
    pool.limiter = limiter;
    script_start(&script, NULL, &pool);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    CHECK_INT(counts_of(script.pool).retries, ==, 1);
    script_fini(&script);
    weir_limiter_free(limiter);
}

TEST(attempts, "past the last attempt a retry is a drop, whatever the answer (R9)")
{
    const int64_t decisions[] = {0, -1, WEIR_SECONDS(1), WEIR_RETRY};
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        struct script script;
        start_failing(&script, 5, decisions[i]);
        struct weir_envelope_options options = script_envelope(&script, 0);
        options.retry.attempts = 3;
        script_start(&script, &options, NULL);
        for (int run = 1; run <= 3; run++) {
            script_wait(&script, run);
            CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
        }
        CHECK_INT(script.failure.attempt, ==, 3);
        script_end(&script, 3, 0);
        CHECK_INT(counts_of(script.pool).retries, ==, 2);
        CHECK_INT(counts_of(script.pool).exhausted, ==, 1);
        script_fini(&script);
    }
}

TEST(exhausted_starts_anew, "an envelope that ran out of attempts has all of them when sent again")
{
    struct script script;
    start_failing(&script, 4, 0);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.retry.attempts = 2;
    script_start(&script, &options, NULL);
    script_wait(&script, 2);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 4);
    CHECK_INT(script.failure.attempt, ==, 2);
    script_end(&script, 4, 0);
    CHECK_INT(counts_of(script.pool).exhausted, ==, 2);
    script_fini(&script);
}

TEST(full, "a retry needs no slot: it comes also where the capacity is reached (R2)")
{
    struct script script;
    start_failing(&script, 2, WEIR_SECONDS(1));
    struct weir_pool_options options = script_pool(&script);
    options.capacity = 1;
    script_start(&script, NULL, &options);
    script_wait(&script, 1);
    CHECK_INT(counts_of(script.pool).in_flight, ==, 1);
    struct weir_envelope_options another = script_envelope(&script, 0);
    another.release = NULL;
    weir_envelope *refused;
    CHECK_STATUS(weir_envelope_new(&another, &refused, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, refused), WEIR_EFULL);
    weir_envelope_unref(refused);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 2);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1)), WEIR_OK);
    script_wait(&script, 3);
    script_end(&script, 3, 0);
    script_fini(&script);
}

TEST(while_stopping, "a retry that meets a stop is dropped, and nothing is left behind")
{
    const int64_t decisions[] = {0, WEIR_SECONDS(1), WEIR_RETRY};
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        struct script script;
        start_failing(&script, 2, decisions[i]);
        struct weir_envelope_options options = script_envelope(&script, 0);
        options.failure = retry_once_shut;
        script_start(&script, &options, NULL);
        counter_wait(&script.begun, 1);
        CHECK_STATUS(weir_pool_end(script.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        struct weir_pool_counts counts = counts_of(script.pool);
        CHECK_INT(counts.runs, ==, 1);
        CHECK_INT(counts.retries, ==, 0);
        CHECK_INT(counts.dropped, ==, 1);
        CHECK_INT(counts.in_flight, ==, 0);
        weir_envelope_unref(script.envelope);
        CHECK_INT(counter_value(&script.released), ==, 1);
        script_fini(&script);
    }
}
