/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The batch form of get and the fused done-and-get, where they do not block or only until a time.
 */

#include "conformance/fixture.h"

TEST_EACH(batch_at_once,
          "get_batch with a timeout of 0 takes what is there, and does not block where nothing is")
{
    struct fixture f;
    setup(&f, kind);
    struct weir_work works[4] = {{.ticket = 77}};
    size_t count = 99;
    CHECK_STATUS(weir_queue_get_batch(f.queue, 0, works, 4, &count), WEIR_ETIMEDOUT);
    CHECK_INT(works[0].ticket, ==, 77);
    CHECK_INT(count, ==, 99);
    add(&f, 0);
    add(&f, 1);
    add(&f, 2);
    CHECK_STATUS(weir_queue_get_batch(f.queue, 0, works, 2, &count), WEIR_OK);
    CHECK_INT(count, ==, 2);
    CHECK_INT(item_of(&f, &works[0]), ==, 0);
    CHECK_INT(item_of(&f, &works[1]), ==, 1);
    CHECK_COUNTS(&f, 1, 0, 2);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_get_batch(f.queue, 0, &works[2], 2, &count), WEIR_OK);
    CHECK_INT(count, ==, 1);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 3), WEIR_OK);
    CHECK_STATUS(weir_queue_get_batch(f.queue, 0, works, 4, &count), WEIR_ESHUTDOWN);
    CHECK_INT(count, ==, 1);
    teardown(&f);
}

static void run_get_batch_10_ms(void *arg)
{
    struct blocked *blocked = arg;
    struct weir_work works[4];
    size_t count = 0;
    blocked->status = weir_queue_get_batch(blocked->f->queue, WEIR_MS(10), works, 4, &count);
    CHECK_INT(count, ==, blocked->status == WEIR_OK ? 2 : 0);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(item_of(blocked->f, &works[i]), ==, 4 + i);
        done(blocked->f, &works[i]);
    }
}

TEST_EACH(batch_waits,
          "get_batch takes all that becomes due before its time has passed, or gives up")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked consumer;
    add_after(&f, 4, WEIR_MS(4));
    add_after(&f, 5, WEIR_MS(4));
    block(&consumer, &f, run_get_batch_10_ms);
    pass(&f, WEIR_MS(4));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    block(&consumer, &f, run_get_batch_10_ms);
    pass(&f, WEIR_MS(10) - 1);
    test_wait_asleep(consumer.thread);
    pass(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_ETIMEDOUT);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(done_get_at_once,
          "done_get with a timeout of 0 has done its item, and takes the next one if there is one")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    CHECK_STATUS(weir_queue_done_get(f.queue, 0, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    add(&f, 1);
    CHECK_STATUS(weir_queue_done_get(f.queue, 0, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    struct weir_work before = work;
    CHECK_STATUS(weir_queue_done_get(f.queue, 0, &work), WEIR_ETIMEDOUT);
    CHECK_INT(work.ticket, ==, before.ticket);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_STATUS(weir_queue_done_get(f.queue, 0, &work), WEIR_ENOTPROCESSING);
    teardown(&f);
}

static void run_done_get_10_ms(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_done_get(blocked->f->queue, WEIR_MS(10), &blocked->work);
}

TEST_EACH(done_get_waits,
          "done_get has done its item, and sleeps for the next until its time has passed")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct blocked consumer = {.work = get(&f, 0)};
    add_after(&f, 1, WEIR_MS(4));
    block(&consumer, &f, run_done_get_10_ms);
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(4));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 1);
    struct weir_work before = consumer.work;
    block(&consumer, &f, run_done_get_10_ms);
    CHECK_COUNTS(&f, 0, 0, 0);
    pass(&f, WEIR_MS(10) - 1);
    test_wait_asleep(consumer.thread);
    pass(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_ETIMEDOUT);
    CHECK_INT(consumer.work.ticket, ==, before.ticket);
    CHECK_STATUS(weir_queue_done(f.queue, &before), WEIR_ENOTPROCESSING);
    teardown(&f);
}
