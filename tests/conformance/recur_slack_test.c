/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/fixture.h"

/* How late a pool may begin the runs of a schedule, and that their firings stay where they are. */

#define START WEIR_SECONDS(1000)
#define INTERVAL WEIR_SECONDS(10)

/* What the runs of one envelope saw; read after they were counted. */
struct seen {
    weir_clock *clock;
    struct counter runs;
    int64_t due_ns;
    int64_t begun_ns;
};

static int see(weir_context *context, void *payload)
{
    struct seen *seen = payload;
    seen->due_ns = weir_context_due(context);
    seen->begun_ns = weir_clock_now(seen->clock);
    counter_add(&seen->runs, 1);
    return WEIR_OK;
}

struct world {
    weir_clock *clock;
    weir_pool *pool;
    struct seen seen[2];
    weir_envelope *envelopes[2];
};

/* Envelopes with a fixed rate from so long after the start on. */
static void world_init(struct world *world, const int64_t *first_ns, int64_t slack_ns)
{
    *world = (struct world){.clock = manual_clock(START)};
    world->pool = pool_with(1, 0, world->clock);
    CHECK_STATUS(weir_pool_start(world->pool), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        struct weir_schedule schedule = {0};
        schedule.kind = WEIR_SCHEDULE_RATE;
        schedule.first = WEIR_FIRST_AT;
        schedule.first_at_ns = START + first_ns[i];
        schedule.slack_ns = slack_ns;
        world->seen[i].clock = world->clock;
        counter_init(&world->seen[i].runs);
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.invoke = see;
        options.payload = &world->seen[i];
        options.interval_ns = INTERVAL;
        options.schedule = &schedule;
        CHECK_STATUS(weir_envelope_new(&options, &world->envelopes[i], NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(world->pool, world->envelopes[i]), WEIR_OK);
    }
    pass_by(world->pool);
}

static void world_fini(struct world *world)
{
    CHECK_STATUS(weir_pool_end(world->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weir_pool_free(world->pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(world->envelopes[i]);
        counter_fini(&world->seen[i].runs);
    }
    weir_clock_free(world->clock);
}

static void step_to(struct world *world, int64_t after_ns)
{
    int64_t step_ns = START + after_ns - weir_clock_now(world->clock);
    CHECK_INT(step_ns, >=, 0);
    CHECK_STATUS(weir_clock_advance(world->clock, step_ns), WEIR_OK);
}

/* At this time so many wait for theirs; looking at the counts lets the time pass. */
static void expect_waiting(struct world *world, int64_t after_ns, size_t waiting)
{
    step_to(world, after_ns);
    CHECK_INT(counts_of(world->pool).waiting, ==, waiting);
}

static void expect_run(struct world *world, int i, int run, int64_t due_ns, int64_t begun_ns)
{
    counter_wait(&world->seen[i].runs, run);
    CHECK_INT(world->seen[i].due_ns - START, ==, due_ns);
    CHECK_INT(world->seen[i].begun_ns - START, ==, begun_ns);
}

TEST(shared, "firings apart by less than the slack share one wake-up, at most so late, never early")
{
    struct world world;
    const int64_t first_ns[] = {WEIR_MS(5) + 300, WEIR_MS(5) + 999999};
    world_init(&world, first_ns, 0); /* of 10 s: a millisecond */
    for (int run = 1; run <= 3; run++) {
        int64_t after_ns = (run - 1) * INTERVAL;
        expect_waiting(&world, after_ns + WEIR_MS(6) - 1, 2);
        step_to(&world, after_ns + WEIR_MS(6));
        for (int i = 0; i < 2; i++) {
            expect_run(&world, i, run, after_ns + first_ns[i], after_ns + WEIR_MS(6));
        }
        pass_by(world.pool);
    }
    world_fini(&world);
}

TEST(chosen, "with a slack of one's own the wake-ups are its multiples")
{
    struct world world;
    const int64_t first_ns[] = {1, WEIR_SECONDS(4)};
    world_init(&world, first_ns, WEIR_SECONDS(8)); /* START is a multiple */
    expect_waiting(&world, WEIR_SECONDS(8) - 1, 2);
    step_to(&world, WEIR_SECONDS(8));
    expect_run(&world, 0, 1, first_ns[0], WEIR_SECONDS(8));
    expect_run(&world, 1, 1, first_ns[1], WEIR_SECONDS(8));
    pass_by(world.pool);
    step_to(&world, WEIR_SECONDS(16));
    expect_run(&world, 0, 2, INTERVAL + first_ns[0], WEIR_SECONDS(16));
    expect_run(&world, 1, 2, INTERVAL + first_ns[1], WEIR_SECONDS(16));
    world_fini(&world);
}

TEST(none, "without any slack each run begins at its firing")
{
    struct world world;
    const int64_t first_ns[] = {WEIR_MS(5) + 300, WEIR_MS(5) + 999999};
    world_init(&world, first_ns, WEIR_SLACK_NONE);
    for (int i = 0; i < 2; i++) {
        expect_waiting(&world, first_ns[i] - 1, 2);
        step_to(&world, first_ns[i]);
        expect_run(&world, i, 1, first_ns[i], first_ns[i]);
        pass_by(world.pool);
    }
    world_fini(&world);
}
