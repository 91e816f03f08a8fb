/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* The row of the table of calls about get; the batch form: batch_test.c. */

TEST_EACH(get_queued, "get, queued: processing, with the item, a key and a rising ticket")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 3);
    add(&f, 4);
    struct weir_work first;
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &first), WEIR_OK);
    CHECK_INT(item_of(&f, &first), ==, 3);
    CHECK_COUNTS(&f, 1, 0, 1);
    struct weir_work second;
    CHECK_STATUS(weir_queue_get(f.queue, -1, &second), WEIR_OK);
    CHECK_INT(item_of(&f, &second), ==, 4);
    CHECK(second.ticket > first.ticket);
    done(&f, &first);
    done(&f, &second);
    teardown(&f);
}

TEST_EACH(get_blocks, "get blocks while nothing is queued")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    struct blocked consumer;
    block(&consumer, &f, run_get);
    add(&f, 0); /* dirty: not for the sleeper */
    test_wait_asleep(consumer.thread);
    CHECK_COUNTS(&f, 0, 0, 1);
    add(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 1);
    done(&f, &consumer.work);
    done(&f, &work);
    teardown(&f);
}

/* Items in every place but queued: processing, dirty, waiting, cancelled. */
static void setup_unready(struct fixture *f, enum kind kind)
{
    setup(f, kind);
    for (unsigned i = 0; i < 2; i++) {
        add(f, i);
        (void)get(f, i);
    }
    add(f, 1);
    add_after(f, 2, WEIR_SECONDS(1));
    add(f, 3);
    CHECK(cancel(f, 3));
}

TEST_EACH(get_at_once, "get with a timeout of 0 or less does not block while nothing is queued")
{
    struct fixture f;
    setup_unready(&f, kind);
    struct weir_work work = {.ticket = 77};
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_queue_get(f.queue, -1, &work), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_queue_get(f.queue, INT64_MIN, &work), WEIR_ETIMEDOUT);
    CHECK_INT(work.ticket, ==, 77);
    CHECK_COUNTS(&f, 0, 1, 2);
    teardown(&f);
}

static void run_get_10_ms(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_get(blocked->f->queue, WEIR_MS(10), &blocked->work);
}

TEST_EACH(get_waits, "get sleeps for its timeout, not less")
{
    struct fixture f;
    setup_unready(&f, kind);
    struct blocked consumer;
    block(&consumer, &f, run_get_10_ms);
    pass(&f, WEIR_MS(10) - 1);
    test_wait_asleep(consumer.thread);
    pass(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_ETIMEDOUT);
    teardown(&f);
}

TEST_EACH(get_due, "get hands out what becomes due before its time has passed")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 5, WEIR_MS(4));
    struct blocked consumer;
    block(&consumer, &f, run_get_10_ms);
    pass(&f, WEIR_MS(4));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 5);
    done(&f, &consumer.work);
    teardown(&f);
}
