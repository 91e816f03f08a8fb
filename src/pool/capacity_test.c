/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

TEST(coalesces,
     "sent again while it waits for its run, an envelope runs once and takes one slot (R1)")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 1, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    }
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.queued, ==, 1);
    CHECK_INT(counts.in_flight, ==, 1);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    weir_envelope_unref(envelope);
    counter_wait(&task.released, 1); /* the pool's one reference was the last */
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST(capacity,
     "past its capacity a pool refuses, changes nothing, and takes again what has been run")
{
    struct task tasks[3];
    weir_envelope *envelopes[3];
    weir_pool *pool = pool_with(1, 2, NULL);
    weir_pool *other = pool_with(1, 0, NULL);
    for (int i = 0; i < 3; i++) {
        task_init(&tasks[i]);
        envelopes[i] = envelope_for(&tasks[i], 0);
    }
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelopes[1]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelopes[2]), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send_after(pool, envelopes[2], WEIR_SECONDS(1)), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK); /* coalesced: needs no slot */
    CHECK_INT(counts_of(pool).in_flight, ==, 2);
    /* The refused one is not in flight: another pool takes it, and gives back the only reference.
     */
    CHECK_STATUS(weir_pool_send(other, envelopes[2]), WEIR_OK);
    weir_pool_free(other);
    CHECK_INT(counter_value(&tasks[2].released), ==, 0);

    weir_envelope_unref(envelopes[0]);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&tasks[0].released, 1);
    CHECK_STATUS(weir_pool_send(pool, envelopes[2]), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    CHECK_INT(task_runs(&tasks[2]), ==, 1);
    weir_envelope_unref(envelopes[1]);
    weir_envelope_unref(envelopes[2]);
    weir_pool_free(pool);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
}

TEST(waiting_slot,
     "an envelope that waits, is sent again and runs, all at once, takes one slot (R2)")
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 1, clock);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 10), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 20), WEIR_OK);
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.queued, ==, 1);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.in_flight, ==, 1);

    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    counter_add(&task.allowed, 2); /* this run, and the one sent meanwhile */
    counter_wait(&task.outcomes, 2);
    /* Still in flight, since it waits for its time. */
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    weir_envelope_unref(envelope);
    CHECK_STATUS(weir_clock_advance(clock, 10), WEIR_OK);
    counter_add(&task.allowed, 1);
    counter_wait(&task.released, 1);
    CHECK_INT(task_runs(&task), ==, 3);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}
