/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/panic.h>

#include "pool/script.h"

/* Retries without a failure hook, and the delays of those that ask for no other
 * (decision_test.c has what a hook decides). */

/* An envelope without a failure hook, the first failures runs of which fail. */
static struct weir_envelope_options without_hook(struct script *script, int failures)
{
    script_init(script);
    for (int i = 0; i < failures; i++) {
        script->statuses[i] = WEIR_EUSER;
    }
    struct weir_envelope_options options = script_envelope(script, 0);
    options.before = NULL;
    options.after = NULL;
    options.failure = NULL;
    options.retry.jitter = WEIR_JITTER_NONE;
    options.retry.attempts = 3;
    return options;
}

/* The next run comes after the delay, to the nanosecond. */
static void wait_exactly(struct script *script, int runs, int64_t delay_ns)
{
    script_wait(script, runs);
    CHECK_STATUS(weir_clock_advance(script->clock, delay_ns - 1), WEIR_OK);
    CHECK_INT(counts_of(script->pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(script->clock, 1), WEIR_OK);
}

/* So many runs, 5 ms, 10 ms and so on after one another; the last one ends the envelope. */
static void expect_runs(struct script *script, int runs, enum weir_ended_reason reason)
{
    for (int i = 1; i < runs; i++) {
        wait_exactly(script, i, WEIR_MS(5) << (i - 1));
    }
    script_wait(script, runs);
    script_pass_by(script);
    CHECK_INT(script->ended.reason, ==, reason);
}

TEST(without_hook, "attempts alone retry: the run after the last one that may fail is not made")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, SCRIPT_RUNS);
    script_start(&script, &options, NULL);
    expect_runs(&script, 3, WEIR_ENDED_EXHAUSTED);
    script_end(&script, 3, 0);
    CHECK_STRING(script.steps, "invoke outcome invoke outcome invoke outcome");
    CHECK_INT(script.ended.runs, ==, 3);
    CHECK_INT(script.attempt, ==, 3);
    CHECK_INT(counts_of(script.pool).retries, ==, 2);
    CHECK_INT(counts_of(script.pool).exhausted, ==, 1);
    script_fini(&script);
}

TEST(one_attempt, "one attempt is one run")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 1);
    options.retry.attempts = 1;
    script_start(&script, &options, NULL);
    expect_runs(&script, 1, WEIR_ENDED_EXHAUSTED);
    script_end(&script, 1, 0);
    script_fini(&script);
}

TEST(succeeds, "a retry that succeeds ends the envelope as done, and its attempts start anew")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 2);
    script.statuses[3] = WEIR_EUSER;
    script_start(&script, &options, NULL);
    expect_runs(&script, 3, WEIR_ENDED_DONE);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    wait_exactly(&script, 4, WEIR_MS(5));
    script_wait(&script, 5);
    script_end(&script, 5, 0);
    CHECK_INT(counts_of(script.pool).exhausted, ==, 0);
    script_fini(&script);
}

TEST(panics, "a run that panicked is tried again too")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 0);
    script.statuses[0] = WEIR_EPANIC;
    script_start(&script, &options, NULL);
    expect_runs(&script, 2, WEIR_ENDED_DONE);
    script_end(&script, 2, 0);
    script_fini(&script);
}

TEST(no_failures, "a stop, a cancellation and a time-out are no failures, and not tried again; a "
                  "time-out is where the pool takes it for one")
{
    static const struct {
        int status;
        uint32_t flags;
        int runs;
    } rows[] = {{WEIR_ESTOP, 0, 1},
                {WEIR_ECANCELED, 0, 1},
                {WEIR_ETIMEDOUT, 0, 1},
                {WEIR_ECANCELED, WEIR_POOL_TIMEOUTS_FAIL, 1},
                {WEIR_ETIMEDOUT, WEIR_POOL_TIMEOUTS_FAIL, 2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct script script;
        struct weir_envelope_options options = without_hook(&script, 0);
        script.statuses[0] = rows[i].status;
        struct weir_pool_options pool = script_pool(&script);
        pool.flags = rows[i].flags;
        script_start(&script, &options, &pool);
        if (rows[i].runs == 2) {
            wait_exactly(&script, 1, WEIR_MS(5));
        }
        script_wait(&script, rows[i].runs);
        script_end(&script, rows[i].runs, 0);
        script_fini(&script);
    }
}

TEST(own_delays, "an envelope's base and maximum are its delays, whatever the pool's limiter says")
{
    for (int is_hook = 0; is_hook < 2; is_hook++) {
        struct script script;
        weir_limiter *limiter;
        struct weir_envelope_options options = without_hook(&script, 3);
        CHECK_STATUS(weir_limiter_bucket_new(1, 1, test_allocator(), &limiter, NULL), WEIR_OK);
        struct weir_pool_options pool = script_pool(&script);
        pool.limiter = limiter;
        script.decision = WEIR_RETRY;
        options.failure = is_hook == 1 ? script_failure : NULL;
        options.retry.attempts = 4;
        options.retry.base_ns = WEIR_SECONDS(2);
        options.retry.max_ns = WEIR_SECONDS(3);
        script_start(&script, &options, &pool);
        wait_exactly(&script, 1, WEIR_SECONDS(2));
        wait_exactly(&script, 2, WEIR_SECONDS(3));
        wait_exactly(&script, 3, WEIR_SECONDS(3));
        script_wait(&script, 4);
        script_end(&script, 4, 0);
        script_fini(&script);
        /* It was not asked: its only token is there. */
        int64_t delay_ns = -1;
        CHECK_STATUS(weir_limiter_when(limiter, weir_key_string("x"), 0, &delay_ns), WEIR_OK);
        CHECK_INT(delay_ns, ==, 0);
        weir_limiter_free(limiter);
    }
}

TEST(limiter, "without them the pool's limiter says the delays, exactly")
{
    struct script script;
    weir_limiter *limiter;
    struct weir_envelope_options options = without_hook(&script, 2);
    struct weir_limiter_options of_limiter = {0};
    of_limiter.allocator = *test_allocator();
    CHECK_STATUS(weir_limiter_exponential_new(WEIR_SECONDS(1), WEIR_SECONDS(1000), &of_limiter,
                                              &limiter, NULL),
                 WEIR_OK);
    struct weir_pool_options pool = script_pool(&script);
    pool.limiter = limiter;
    options.retry.jitter = 1000;
    script_start(&script, &options, &pool);
    wait_exactly(&script, 1, WEIR_SECONDS(1));
    wait_exactly(&script, 2, WEIR_SECONDS(2));
    script_wait(&script, 3);
    script_end(&script, 3, 0);
    script_fini(&script);
    weir_limiter_free(limiter);
}

TEST(jitter, "by default a delay is longer by a part at random of up to a tenth")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 1);
    options.retry = (struct weir_retry){.attempts = 2, .base_ns = WEIR_SECONDS(1000)};
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    /* That nothing is added to 10^12 ns is as good as impossible. */
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(1000)), WEIR_OK);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(100)), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    script_fini(&script);
}

TEST(for_ever, "the longest delay overflows nothing, with its jitter")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 1);
    options.retry = (struct weir_retry){
        .attempts = 2, .jitter = 1000, .base_ns = INT64_MAX, .max_ns = INT64_MAX};
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    script_end(&script, 1, 1);
    CHECK_INT(script.told, ==, WEIR_ENDED_DRAINED);
    script_fini(&script);
}

TEST(periodic, "of a periodic envelope it decides nothing: the next run is that of its schedule")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 2);
    options.interval_ns = SCRIPT_INTERVAL_NS;
    options.retry.attempts = 1;
    options.retry.base_ns = WEIR_SECONDS(1);
    script_start(&script, &options, NULL);
    for (int run = 1; run <= 2; run++) {
        script_wait(&script, run);
        script_pass_by(&script);
        CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_INTERVAL_NS - 1), WEIR_OK);
        CHECK_INT(counts_of(script.pool).waiting, ==, 1);
        CHECK_STATUS(weir_clock_advance(script.clock, WEIR_MS(1)), WEIR_OK);
    }
    script_wait(&script, 3);
    script_pass_by(&script);
    script_end(&script, 3, 1);
    CHECK_INT(counts_of(script.pool).retries, ==, 0);
    CHECK_INT(counts_of(script.pool).exhausted, ==, 0);
    script_fini(&script);
}

static int64_t panic(weir_context *context, weir_envelope *envelope,
                     const struct weir_failure *failure, void *payload)
{
    (void)envelope;
    (void)failure;
    (void)payload;
    weir_panic(context, "no answer");
}

TEST(hook_panics, "a failure hook that panics is a drop, whatever the attempts")
{
    struct script script;
    struct weir_envelope_options options = without_hook(&script, 1);
    options.failure = panic;
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_FAILED);
    CHECK_INT(counts_of(script.pool).hook_errors, ==, 1);
    script_fini(&script);
}
