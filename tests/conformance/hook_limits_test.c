/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* The time that hooks have: half of the envelope's deadline, at least 800 ms, both options, and not
 * past the deadline of the run unless that has passed already. */

static void run_with(struct script *script, int64_t deadline_ns,
                     const struct weir_pool_options *of_pool)
{
    struct weir_envelope_options options = script_envelope(script, 0);
    options.deadline_ns = deadline_ns;
    options.flags = WEIR_ENVELOPE_AFTER_ALWAYS;
    script_start(script, &options, of_pool);
    script_wait(script, 1);
    script_end(script, 1, 0);
}

TEST(half, "each hook has half of the deadline, from its own start")
{
    struct script script;
    script_init(&script);
    script.before_ns = WEIR_SECONDS(1);
    script.invoke_ns = WEIR_SECONDS(2);
    script.after_ns = WEIR_SECONDS(1);
    run_with(&script, WEIR_SECONDS(10), NULL);
    CHECK_INT(script.before_left_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(script.invoke_left_ns, ==, WEIR_SECONDS(9)); /* the task has what the run has */
    CHECK_INT(script.after_left_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(script.hook_left_ns, ==, WEIR_SECONDS(5));
    script_fini(&script);
}

TEST(at_least, "at least 800 ms")
{
    struct script script;
    script_init(&script);
    run_with(&script, WEIR_MS(1200), NULL);
    CHECK_INT(script.before_left_ns, ==, WEIR_MS(800));
    script_fini(&script);
}

TEST(capped, "never past the deadline of the run")
{
    struct script script;
    script_init(&script);
    run_with(&script, WEIR_MS(500), NULL);
    CHECK_INT(script.before_left_ns, ==, WEIR_MS(500));
    script_fini(&script);

    script_init(&script);
    script.invoke_ns = WEIR_SECONDS(9);
    run_with(&script, WEIR_SECONDS(10), NULL);
    CHECK_INT(script.after_left_ns, ==, WEIR_SECONDS(1));
    script_fini(&script);
}

TEST(no_deadline, "without a deadline it is the least time, for each hook")
{
    struct script script;
    script_init(&script);
    script.after_ns = WEIR_SECONDS(100);
    run_with(&script, 0, NULL);
    CHECK_INT(script.before_left_ns, ==, WEIR_MS(800));
    CHECK(script.invoke_left_ns == WEIR_FOREVER);
    CHECK_INT(script.after_left_ns, ==, WEIR_MS(800));
    CHECK_INT(script.hook_left_ns, ==, WEIR_MS(800));
    script_fini(&script);
}

TEST(after_time_out,
     "a hook that begins when the run's deadline has passed has its own time nevertheless (R8)")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ETIMEDOUT;
    script.invoke_ns = WEIR_SECONDS(4);
    struct weir_pool_options options = script_pool(&script);
    options.flags = WEIR_POOL_TIMEOUTS_FAIL;
    run_with(&script, WEIR_SECONDS(4), &options);
    CHECK_STRING(script.steps, "before invoke after failure outcome");
    CHECK_INT(script.after_left_ns, ==, WEIR_SECONDS(2));
    CHECK_INT(script.hook_left_ns, ==, WEIR_SECONDS(2));
    script_fini(&script);
}

TEST(options, "both figures are options of the pool")
{
    struct script script;
    script_init(&script);
    struct weir_pool_options options = script_pool(&script);
    options.hook_fraction = 250;
    options.hook_min_ns = WEIR_SECONDS(2);
    run_with(&script, WEIR_SECONDS(12), &options);
    CHECK_INT(script.before_left_ns, ==, WEIR_SECONDS(3));
    script_fini(&script);

    script_init(&script);
    options = script_pool(&script);
    options.hook_fraction = 250;
    options.hook_min_ns = WEIR_SECONDS(2);
    run_with(&script, WEIR_SECONDS(4), &options);
    CHECK_INT(script.before_left_ns, ==, WEIR_SECONDS(2));
    script_fini(&script);
}

TEST(extremes, "the longest deadline and the least and greatest figures overflow nothing")
{
    struct script script;
    script_init(&script);
    struct weir_pool_options options = script_pool(&script);
    options.hook_fraction = 1000;
    options.hook_min_ns = 1;
    run_with(&script, INT64_MAX - WEIR_SECONDS(2000), &options);
    CHECK_INT(script.before_left_ns, ==, INT64_MAX - WEIR_SECONDS(2000));
    script_fini(&script);

    script_init(&script);
    options = script_pool(&script);
    options.hook_fraction = 1;
    options.hook_min_ns = 1;
    run_with(&script, 1999, &options);
    CHECK_INT(script.before_left_ns, ==, 1);
    script_fini(&script);

    script_init(&script);
    options = script_pool(&script);
    options.hook_min_ns = INT64_MAX;
    run_with(&script, 0, &options);
    CHECK(script.before_left_ns == WEIR_FOREVER);
    script_fini(&script);
}

TEST(ended_by_time, "a hook that sleeps is woken when its time is up")
{
    struct script script;
    script_init(&script);
    script.sleeps = true;
    struct weir_envelope_options options = script_envelope(&script, 0);
    script_start(&script, &options, NULL);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_DEADLINE_NS), WEIR_OK);
    script_wait(&script, 1);
    CHECK_INT(script.status, ==, WEIR_ETIMEDOUT);
    script_end(&script, 1, 0);
    script_fini(&script);
}
