/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* weir_queue_interrupt(): which gets it ends, and which it leaves. */

static void interrupt(struct fixture *f)
{
    CHECK_STATUS(weir_queue_interrupt(f->queue), WEIR_OK);
}

TEST_EACH(blocked, "one blocked get ends, and no other one")
{
    struct fixture f;
    struct blocked consumers[2];
    setup(&f, kind);
    block(&consumers[0], &f, run_get);
    interrupt(&f);
    CHECK_STATUS(unblock(&consumers[0]), WEIR_ECANCELED);
    block(&consumers[0], &f, run_get);
    block(&consumers[1], &f, run_get);
    interrupt(&f);
    while (!test_has_ended(consumers[0].thread) && !test_has_ended(consumers[1].thread)) {
    }
    unsigned ended = test_has_ended(consumers[0].thread) ? 0 : 1;
    CHECK_STATUS(unblock(&consumers[ended]), WEIR_ECANCELED);
    add(&f, 1); /* the other one goes on */
    CHECK_STATUS(unblock(&consumers[1 - ended]), WEIR_OK);
    done(&f, &consumers[1 - ended].work);
    teardown(&f);
}

TEST_EACH(next_one, "where none blocks the next get that would block ends; several end as many")
{
    struct fixture f;
    struct weir_work work;
    struct weir_work works[2];
    size_t count;
    setup(&f, kind);
    for (int i = 0; i < 4; i++) {
        interrupt(&f);
    }
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_ECANCELED);
    CHECK_STATUS(weir_queue_get(f.queue, 1, &work), WEIR_ECANCELED);
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 2, &count), WEIR_ECANCELED);
    CHECK_STATUS(weir_queue_get_batch(f.queue, 1, works, 2, &count), WEIR_ECANCELED);
    struct blocked consumer;
    block(&consumer, &f, run_get);
    add(&f, 1); /* there is no fifth */
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    done(&f, &consumer.work);
    teardown(&f);
}

TEST_EACH(others, "gets that find something queued and those that never block are not ended")
{
    struct fixture f;
    struct weir_work work;
    struct weir_work works[2];
    size_t count;
    setup(&f, kind);
    interrupt(&f);
    CHECK_NOTHING_READY(&f);
    CHECK_STATUS(weir_queue_get_batch(f.queue, 0, works, 2, &count), WEIR_ETIMEDOUT);
    add(&f, 1);
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_done_get(f.queue, 0, &work), WEIR_ETIMEDOUT);
    add_after(&f, 2, 10);
    pass(&f, 10);
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK); /* it was due */
    CHECK_INT(item_of(&f, &work), ==, 2);
    struct weir_work before = work;
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_ECANCELED);
    CHECK(is_same_work(&before, &work));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(drains, "a drain is not ended, and a queue that is shut down says so first")
{
    struct fixture f;
    struct blocked drainer;
    struct weir_work work;
    setup(&f, kind);
    add(&f, 1);
    block(&drainer, &f, run_drain);
    interrupt(&f);
    interrupt(&f);
    get_and_done(&f, 1);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
    interrupt(&f);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    teardown(&f);
}

static void run_get_1_ns(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_get(blocked->f->queue, 1, &blocked->work);
}

TEST_EACH(at_limit, "a get whose time passes leaves nothing of itself for an interrupt to end")
{
    struct fixture f;
    struct blocked consumer;
    struct weir_work work;
    setup(&f, kind);
    block(&consumer, &f, run_get_1_ns);
    pass(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_ETIMEDOUT);
    interrupt(&f);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_queue_get(f.queue, 1, &work), WEIR_ECANCELED);
    teardown(&f);
}
