/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Shutdown and drain. */

static uint64_t dropped(struct fixture *f)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(f->queue, &counts), WEIR_OK);
    return counts.dropped;
}

static void check_refuses_adds(struct fixture *f, unsigned item)
{
    struct weir_queue_counts before;
    CHECK_STATUS(weir_queue_count(f->queue, &before), WEIR_OK);
    struct weir_key key = key_of(f, item);
    struct weir_add_options options = {0};
    struct weir_item content = f->items[item];
    CHECK_STATUS(weir_queue_add(f->queue, key), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_after(f->queue, key, 0), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_after(f->queue, key, WEIR_MS(1)), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_with(f->queue, key, &options, NULL), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_batch(f->queue, &key, 1, NULL), WEIR_ESHUTDOWN);
    struct weir_queue_counts after;
    CHECK_STATUS(weir_queue_count(f->queue, &after), WEIR_OK);
    CHECK_INT(after.queued, ==, before.queued);
    CHECK_INT(after.waiting, ==, before.waiting);
    CHECK_INT(after.processing, ==, before.processing);
    CHECK_INT(after.dropped, ==, before.dropped);
    CHECK(memcmp(&content, &f->items[item], sizeof(content)) == 0);
    uint64_t count = 1;
    CHECK_STATUS(weir_queue_num_requeues(f->queue, key, &count), WEIR_OK);
    CHECK_INT(count, ==, 0);
}

TEST_EACH(refuses, "after shutdown adds are refused, whatever the item's place; nothing is touched")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    CHECK(!weir_queue_shutting_down(f.queue));
    weir_queue_shutdown(f.queue);
    CHECK(weir_queue_shutting_down(f.queue));
    check_refuses_adds(&f, 0);
    check_refuses_adds(&f, 1);
    check_refuses_adds(&f, 2);
    done(&f, &work);
    check_refuses_adds(&f, 0);
    teardown(&f);
}

TEST_EACH(hands_out, "after shutdown queued items are still handed out, then get says so")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    add(&f, 2);
    weir_queue_shutdown(f.queue);
    CHECK_COUNTS(&f, 3, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
        CHECK_INT(item_of(&f, &work), ==, i);
        done(&f, &work);
    }
    struct weir_work work = {.ticket = 77};
    size_t count = 77;
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, &work, 1, &count), WEIR_ESHUTDOWN);
    CHECK_INT(work.ticket, ==, 77);
    CHECK_INT(count, ==, 77);
    teardown(&f);
}

TEST_EACH(drops_waiting, "shutdown drops and counts waiting items, but not those already due")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(1));
    add_after(&f, 1, WEIR_MS(2));
    add_after(&f, 2, WEIR_MS(3));
    add(&f, 3);
    add_after(&f, 3, WEIR_MS(3));
    pass(&f, WEIR_MS(1));
    weir_queue_shutdown(f.queue);
    CHECK_INT(dropped(&f), ==, 3);
    CHECK_COUNTS(&f, 2, 0, 0);
    pass(&f, WEIR_SECONDS(1));
    weir_queue_shutdown(f.queue);
    CHECK_INT(dropped(&f), ==, 3);
    get_and_done(&f, 3);
    get_and_done(&f, 0);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(dirty_comes_back, "what was added while processing before shutdown is not forgotten")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    weir_queue_shutdown(f.queue);
    struct weir_work none;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &none), WEIR_ESHUTDOWN);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &none), WEIR_ESHUTDOWN);
    teardown(&f);
}

TEST_EACH(wakes_all, "shutdown wakes every sleeping consumer")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked consumers[4];
    add_after(&f, 0, WEIR_SECONDS(1));
    for (unsigned i = 0; i < 4; i++) {
        block(&consumers[i], &f, run_get);
    }
    weir_queue_shutdown(f.queue);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_STATUS(unblock(&consumers[i]), WEIR_ESHUTDOWN);
    }
    teardown(&f);
}

TEST_EACH(no_way_back, "what is shut down stays so: drained, emptied, by time or by another call")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    weir_queue_shutdown(f.queue);
    get_and_done(&f, 0);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    pass(&f, WEIR_SECONDS(1000));
    CHECK(!cancel(&f, 0));
    CHECK(weir_queue_shutting_down(f.queue));
    check_refuses_adds(&f, 0);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    teardown(&f);
}

TEST_EACH(cancel_after, "cancel works after shutdown")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    weir_queue_shutdown(f.queue);
    CHECK(cancel(&f, 1));
    CHECK(cancel(&f, 0));
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST(drain_empty, "a drain of an empty queue returns at once, and refuses adds like a shutdown")
{
    struct fixture f;
    setup(&f, EMBEDDED);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    CHECK(weir_queue_shutting_down(f.queue));
    check_refuses_adds(&f, 0);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, 0), WEIR_OK);
    teardown(&f);
}

TEST_EACH(drain_waits, "a drain returns once nothing is queued or processing, re-queued items too")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    add_after(&f, 2, WEIR_MS(1));
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    CHECK_INT(dropped(&f), ==, 1);
    check_refuses_adds(&f, 3);
    done(&f, &work);
    test_wait_asleep(drainer.thread);
    get_and_done(&f, 1);
    test_wait_asleep(drainer.thread);
    work = get(&f, 0);
    test_wait_asleep(drainer.thread);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(drain_cancel, "a drain ends too when what is left is cancelled")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    CHECK(cancel(&f, 0));
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(drains_several, "several drains all return")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    struct blocked drainers[3];
    for (unsigned i = 0; i < 3; i++) {
        block(&drainers[i], &f, run_drain);
    }
    done(&f, &work);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_STATUS(unblock(&drainers[i]), WEIR_OK);
    }
    teardown(&f);
}

TEST_EACH(drain_released, "a plain shutdown makes the drains under way return at once")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    struct blocked drainers[2];
    block(&drainers[0], &f, run_drain);
    block(&drainers[1], &f, run_drain);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(unblock(&drainers[0]), WEIR_ECANCELED);
    CHECK_STATUS(unblock(&drainers[1]), WEIR_ECANCELED);
    CHECK_COUNTS(&f, 1, 0, 1);
    get_and_done(&f, 1);
    done(&f, &work);
    teardown(&f);
}

TEST_EACH(drain_after_shutdown, "a drain that begins after a shutdown drains all the same")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    weir_queue_shutdown(f.queue);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    get_and_done(&f, 0);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

static void run_drain_10_ms(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_shutdown_drain(blocked->f->queue, WEIR_MS(10));
}

TEST_EACH(drain_at_once, "a drain with a timeout of 0 or less has begun, and succeeds at once")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 1, WEIR_MS(1));
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, 0), WEIR_OK);
    check_refuses_adds(&f, 2);
    CHECK_INT(dropped(&f), ==, 1);
    CHECK_COUNTS(&f, 1, 0, 0);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, INT64_MIN), WEIR_OK);
    test_wait_asleep(drainer.thread); /* it does not end another one, as a plain shutdown does */
    get_and_done(&f, 0);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(drain_times_out,
          "a drain with a timeout gives up then, not before; the queue stays shut down")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct blocked drainer;
    block(&drainer, &f, run_drain_10_ms);
    CHECK(weir_queue_shutting_down(f.queue));
    pass(&f, WEIR_MS(10) - 1);
    test_wait_asleep(drainer.thread);
    pass(&f, 1);
    CHECK_STATUS(unblock(&drainer), WEIR_ETIMEDOUT);
    CHECK(weir_queue_shutting_down(f.queue));
    get_and_done(&f, 0);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_MS(10)), WEIR_OK);
    teardown(&f);
}

TEST_EACH(drain_in_time, "a drain with a timeout returns as soon as all is done")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct blocked drainer;
    block(&drainer, &f, run_drain_10_ms);
    get_and_done(&f, 0);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

static void consume_all(void *arg)
{
    struct fixture *f = arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(f->queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        status = weir_queue_done_get(f->queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

TEST_EACH(drain_consumers, "a drain with consumers ends with everything done and all of them home")
{
    struct fixture f;
    setup(&f, kind);
    struct test_thread *consumers[3];
    for (unsigned i = 0; i < 3; i++) {
        consumers[i] = test_start(consume_all, &f);
    }
    for (unsigned i = 0; i < 5000; i++) {
        add(&f, i % ITEMS);
    }
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        test_join(consumers[i]);
    }
    teardown(&f);
}
