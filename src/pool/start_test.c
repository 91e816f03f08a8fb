/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a start does when the system refuses a thread. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include "pool/pool.h"

#include "pool/fixture.h"
#include "support/refuse_thread.h"

TEST(refused_half_way,
     "when a thread is refused no worker is left and nothing was run; a later start succeeds")
{
    enum {
        WORKERS = 5
    };
    calls_count = true;
    for (int nth = 1; nth <= WORKERS; nth++) {
        struct task task;
        task_init(&task);
        weir_pool *pool = pool_with(WORKERS, 0, NULL);
        weir_envelope *envelope = envelope_for(&task, 0);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);

        atomic_store(&refuse_nth, nth);
        CHECK_STATUS(weir_pool_start(pool), WEIR_ETHREAD);
        CHECK_INT(task_runs(&task), ==, 0);
        CHECK_INT(counts_of(pool).queued, ==, 1);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ESTATE);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);

        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&task), ==, 1);
        weir_envelope_unref(envelope);
        weir_pool_free(pool);
        task_fini(&task);
    }
}

static void start_run(void *arg)
{
    calls_count = true;
    starter_run(arg);
}

TEST(refused_to_one, "of several starts at once of which one is refused, one succeeds")
{
    for (uint64_t round = test_scaled(30); round > 0; round--) {
        weir_pool *pool = pool_with(3, 0, NULL);
        atomic_store(&refuse_nth, 1 + (int)test_random_below(3));
        struct starter starters[3];
        struct test_thread *threads[3];
        for (int i = 0; i < 3; i++) {
            starters[i] = (struct starter){pool, WEIR_EINVAL};
            threads[i] = test_start(start_run, &starters[i]);
        }
        for (int i = 0; i < 3; i++) {
            test_join(threads[i]);
        }
        int refused = 0;
        int started = 0;
        for (int i = 0; i < 3; i++) {
            refused += starters[i].status == WEIR_ETHREAD;
            started += starters[i].status == WEIR_OK;
        }
        CHECK_INT(refused, ==, 1);
        CHECK_INT(started, ==, 1);
        weir_pool_free(pool);
    }
}

TEST(free_after_refusal, "a pool whose start was refused is freed with what it holds")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(2, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    calls_count = true;
    atomic_store(&refuse_nth, 2);
    CHECK_STATUS(weir_pool_start(pool), WEIR_ETHREAD);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}
