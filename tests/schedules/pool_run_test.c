/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* What runs lead to, met by sends, time and the pool's end. */

static void replace_envelope(struct weir_envelope_options *options)
{
    weir_envelope_unref(world.envelopes[0]);
    world.records[0] = (struct record){.asked = 0};
    options->allocator = *test_allocator();
    options->payload = &world.records[0];
    options->release = release;
    CHECK_STATUS(weir_envelope_new(options, &world.envelopes[0], NULL), WEIR_OK);
}

/* After the pool has ended. What recurs has more runs than sends. */
static void end_world(void)
{
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    weir_pool_free(world.pool);
    weir_pool_free(world.other);
    weir_clock_free(world.clock);
    for (int i = 0; i < ENVELOPES; i++) {
        give_up(i);
        CHECK_INT(world.records[i].released, ==, 1);
    }
}

static int note_run(weir_context *context, void *payload)
{
    struct record *record = payload;
    (void)context;
    record->covered = record->asked;
    record->runs++;
    return WEIR_OK;
}

static void advance_past_firing(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_clock_advance(world.clock, 13), WEIR_OK);
}

/* Its firing of 10 is given up at 13. */
static void recur_strictly(void)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.tolerance_ns = 1;
    struct weir_envelope_options options = {0};
    options.invoke = note_run;
    options.interval_ns = 10;
    options.schedule = &schedule;
    replace_envelope(&options);
}

static void firing_against_send(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 1);
    recur_strictly();
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stepper, "stepper", advance_past_firing);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    end_world();
}

TEST(firing_send, "a send is run also where it meets a firing that is given up")
{
    explorer_must_pass(firing_against_send, NULL, NULL);
}

static void send_in_vain(void *arg)
{
    (void)arg;
    for (int i = 0; i < 12; i++) {
        CHECK_STATUS(weir_pool_send(world.other, world.envelopes[0]), WEIR_EBUSY);
    }
}

static void refusal_against_send(void *arg)
{
    struct weiri_thread refused;
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 1);
    world.other = new_pool(1, 1);
    recur_strictly();
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&refused, "refused", send_in_vain);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stepper, "stepper", advance_past_firing);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&stepper);
    weiri_thread_join(&refused);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    end_world();
}

TEST(refused_send, "a send that is refused takes back its own mark, and no other's")
{
    explorer_must_pass(refusal_against_send, NULL, NULL);
}

static int fail(weir_context *context, void *payload)
{
    (void)note_run(context, payload);
    return WEIR_EUSER;
}

static int64_t retry_later(weir_context *context, weir_envelope *envelope,
                           const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    return failure->attempt == 1 ? 5 : WEIR_RETRY;
}

static void stop(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
}

static void retry_against_stop(void *arg)
{
    struct weiri_thread stopper;
    struct weir_envelope_options options = {0};
    options.invoke = fail;
    options.failure = retry_later;
    options.retry.attempts = 2;
    (void)arg;
    world_init(1, 1);
    replace_envelope(&options);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stopper, "stopper", stop);
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    weiri_thread_join(&stopper);
    CHECK_INT(world.records[0].told, ==, 1);
    bool is_exhausted = world.records[0].reason == WEIR_ENDED_EXHAUSTED;
    CHECK(is_exhausted || world.records[0].reason == WEIR_ENDED_STOPPED);
    CHECK_INT(world.records[0].runs, <=, 2);
    CHECK(!is_exhausted || world.records[0].runs == 2);
    end_world();
}

TEST(retry_stop, "a retry that a stop meets is run or dropped, and told once, wherever it is met")
{
    explorer_must_pass(retry_against_stop, NULL, NULL);
}

static struct record one_shot;

static void one_shot_against_stop(void *arg)
{
    struct weiri_thread stopper;
    (void)arg;
    world_init(1, 1);
    one_shot = (struct record){.asked = 1};
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stopper, "stopper", stop);
    enum weir_status status = weir_pool_run(world.pool, note_run, &one_shot, release);
    weiri_thread_join(&stopper);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    CHECK_INT(one_shot.released, ==, status == WEIR_OK);
    CHECK_INT(one_shot.ends, ==, status == WEIR_OK);
    CHECK_INT(one_shot.runs + one_shot.told, ==, status == WEIR_OK);
    end_world();
}

TEST(one_shot_stop,
     "a one-shot task that a stop meets is run, dropped, or refused with its payload")
{
    explorer_must_pass(one_shot_against_stop, NULL, NULL);
}

static void cancel_first(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], WEIR_FOREVER, NULL), WEIR_OK);
}

static void schedule_against_cancel(void *arg)
{
    struct weiri_thread canceller;
    struct weir_envelope_options options = {0};
    options.invoke = note_run;
    options.interval_ns = 10;
    (void)arg;
    world_init(1, 1);
    replace_envelope(&options);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&canceller, "canceller", cancel_first);
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    weiri_thread_join(&canceller);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    int runs = world.records[0].runs;
    CHECK_STATUS(weir_clock_advance(world.clock, 100), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, runs);
    CHECK_INT(world.records[0].told, ==, 1);
    CHECK(world.records[0].reason == WEIR_ENDED_CANCELED);
    end_world();
}

TEST(schedule_cancel, "a periodic envelope that was cancelled does not come again, whatever it met")
{
    explorer_must_pass(schedule_against_cancel, NULL, NULL);
}

static bool is_last_attempt;

static int fail_in_time(weir_context *context, void *payload)
{
    CHECK(!is_last_attempt);
    return weir_context_attempt(context) < 4 ? fail(context, payload) : note_run(context, payload);
}

/* What asks for a retry once the drain has begun has had its last run. */
static int64_t retry_at_once(weir_context *context, weir_envelope *envelope,
                             const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    is_last_attempt = weir_pool_state(world.pool) != WEIR_POOL_STATE_RUNNING;
    return 0;
}

static void retry_against_drain(void *arg)
{
    struct weir_envelope_options options = {0};
    options.invoke = fail_in_time;
    options.failure = retry_at_once;
    (void)arg;
    world_init(1, 1);
    is_last_attempt = false;
    replace_envelope(&options);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].ends, ==, 1);
    CHECK(!is_last_attempt || world.records[0].reason == WEIR_ENDED_DRAINED);
    CHECK(is_last_attempt || world.records[0].told == (world.records[0].runs < 4));
    /* Each retry was followed by a run. */
    CHECK_INT(counts_of(world.pool).retries, ==, world.records[0].runs - 1);
    end_world();
}

TEST(retry_drain, "a drain drops the retries that runs ask for after it has begun")
{
    explorer_must_pass(retry_against_drain, NULL, NULL);
}
