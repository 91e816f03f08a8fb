/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/limiters.h"

/* The rows of the table of calls about time passing, cancel and rate limits. */

TEST_EACH(due_order, "time passes: waiting items are queued in order of their times")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(30));
    add_after(&f, 1, WEIR_MS(10));
    add_after(&f, 2, WEIR_MS(20));
    add_after(&f, 3, WEIR_MS(10)); /* as early as 1, added later */
    add(&f, 4);
    pass(&f, WEIR_SECONDS(1));
    add(&f, 5);
    CHECK_COUNTS(&f, 6, 0, 0);
    get_and_done(&f, 4);
    get_and_done(&f, 1);
    get_and_done(&f, 3);
    get_and_done(&f, 2);
    get_and_done(&f, 0);
    get_and_done(&f, 5);
    teardown(&f);
}

TEST_EACH(due_order_many, "time passes: the order holds for many items and any steps")
{
    struct fixture f;
    setup(&f, kind);
    int64_t times[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        times[i] = 1 + (int64_t)test_random_below(40);
        add_after(&f, i, times[i]);
    }
    for (int64_t now = 1; now <= 40; now++) {
        pass(&f, 1);
        for (unsigned i = 0; i < ITEMS; i++) {
            if (times[i] == now) {
                get_and_done(&f, i);
            }
        }
        CHECK_NOTHING_READY(&f);
    }
    teardown(&f);
}

TEST_EACH(due_places, "time passes: an item that is queued stays, a processing one becomes dirty")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 0, WEIR_MS(1));
    add_after(&f, 1, WEIR_MS(1));
    pass(&f, WEIR_MS(1));
    CHECK_COUNTS(&f, 2, 0, 0);
    struct weir_work work = get(&f, 0);
    add_after(&f, 0, WEIR_MS(1));
    pass(&f, WEIR_MS(1));
    CHECK_COUNTS(&f, 1, 0, 1);
    get_and_done(&f, 1);
    CHECK_NOTHING_READY(&f);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(due_wakes, "time passes: a sleeping consumer gets what becomes due")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked consumer;
    block(&consumer, &f, run_get);
    add_after(&f, 0, WEIR_MS(50));
    pass(&f, WEIR_MS(49));
    test_wait_asleep(consumer.thread);
    pass(&f, WEIR_MS(1));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 0);
    done(&f, &consumer.work);
    teardown(&f);
}

TEST_EACH(due_wakes_earlier, "time passes: an earlier time that is added later is not missed")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(10));
    struct blocked first;
    struct blocked second;
    block(&first, &f, run_get);
    block(&second, &f, run_get);
    add_after(&f, 1, WEIR_MS(1));
    pass(&f, WEIR_MS(1));
    struct weir_queue_counts counts = {.processing = 0};
    while (counts.processing == 0) {
        CHECK_STATUS(weir_queue_count(f.queue, &counts), WEIR_OK);
    }
    pass(&f, WEIR_SECONDS(10));
    CHECK_STATUS(unblock(&first), WEIR_OK);
    CHECK_STATUS(unblock(&second), WEIR_OK);
    CHECK_INT(item_of(&f, &first.work) + item_of(&f, &second.work), ==, 1);
    done(&f, &first.work);
    done(&f, &second.work);
    teardown(&f);
}

static void run_get_real(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_get(blocked->f->queue, WEIR_FOREVER, &blocked->work);
}

TEST_EACH(due_real_clock, "on the real clock a waiting item comes by itself, and never early")
{
    struct fixture f;
    setup(&f, kind);
    weir_queue_free(f.queue);
    CHECK_STATUS(weir_queue_new(NULL, &f.queue, NULL), WEIR_OK);
    struct blocked consumer;
    block(&consumer, &f, run_get_real);
    for (unsigned i = 0; i < 20; i++) {
        int64_t before_ns = weir_clock_now(weir_clock_monotonic());
        int64_t delay_ns = WEIR_US(100) + (int64_t)test_random_below(WEIR_MS(3));
        add_after(&f, i, delay_ns);
        CHECK_STATUS(unblock(&consumer), WEIR_OK);
        CHECK_INT(weir_clock_now(weir_clock_monotonic()) - before_ns, >=, delay_ns);
        CHECK_INT(item_of(&f, &consumer.work), ==, i);
        done(&f, &consumer.work);
        consumer.thread = test_start(run_get_real, &consumer);
    }
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(unblock(&consumer), WEIR_ESHUTDOWN);
    teardown(&f);
}

TEST_EACH(far_times, "a delay past the end of time waits until then, and can be cancelled")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, INT64_MAX);
    add_after(&f, 1, INT64_MAX - START);
    pass(&f, INT64_MAX - START - 1);
    CHECK_COUNTS(&f, 0, 2, 0);
    CHECK(cancel(&f, 0));
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, 1);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 1);
    teardown(&f);
}

TEST_EACH(cancel_nothing, "cancel, idle or only processing: nothing to take out")
{
    struct fixture f;
    setup(&f, kind);
    CHECK(!cancel(&f, 0));
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    CHECK(!cancel(&f, 0));
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    CHECK(!cancel(&f, 0));
    CHECK_STATUS(weir_queue_cancel(f.queue, key_of(&f, 0), NULL), WEIR_OK);
    teardown(&f);
}

TEST_EACH(cancel_queued, "cancel, queued: taken out, the others keep their order")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 6; i++) {
        add(&f, i);
    }
    CHECK(cancel(&f, 0));
    CHECK(cancel(&f, 3));
    CHECK(cancel(&f, 5));
    CHECK(!cancel(&f, 3));
    CHECK_COUNTS(&f, 3, 0, 0);
    add(&f, 3);
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    get_and_done(&f, 4);
    get_and_done(&f, 3);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(cancel_waiting, "cancel, waiting: it does not come; both place and wait are taken")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(1));
    add_after(&f, 1, WEIR_MS(2));
    add(&f, 2);
    add_after(&f, 2, WEIR_MS(3));
    CHECK(cancel(&f, 0));
    CHECK(cancel(&f, 2));
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(3));
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 1);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(cancel_processing, "cancel, processing: only the dirty mark and the wait are lost")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    CHECK(cancel(&f, 0));
    CHECK_COUNTS(&f, 0, 0, 1);
    add_after(&f, 0, WEIR_MS(1));
    CHECK(cancel(&f, 0));
    CHECK_COUNTS(&f, 0, 0, 1);
    add(&f, 0);
    add_after(&f, 0, WEIR_MS(1));
    CHECK(cancel(&f, 0));
    CHECK(!cancel(&f, 0));
    pass(&f, WEIR_SECONDS(1));
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(cancel_frees, "after a cancel of all there is, the memory of keys is as before")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 1);
    add_after(&f, 1, 1);
    CHECK(cancel(&f, 1));
    size_t floor = test_allocated_bytes();
    for (unsigned i = 0; i < 10; i++) {
        add(&f, 0);
        add_after(&f, 2, WEIR_MS(1));
        CHECK(cancel(&f, 2));
        CHECK(cancel(&f, 0));
    }
    CHECK_INT(test_allocated_bytes(), ==, floor);
    teardown(&f);
}

TEST_EACH(rate_limited, "add_rate_limited: waits as long as the limiter says, then is queued")
{
    struct fixture f;
    setup(&f, kind);
    int64_t delay = WEIR_MS(5);
    for (unsigned i = 0; i < 5; i++, delay *= 2) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
        CHECK_INT(requeues(&f, 0), ==, i + 1);
        CHECK_COUNTS(&f, 0, 1, 0);
        pass(&f, delay - 1);
        CHECK_NOTHING_READY(&f);
        pass(&f, 1);
        get_and_done(&f, 0);
    }
    teardown(&f);
}

TEST_EACH(rate_limited_places, "add_rate_limited: as add_after from any place")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    CHECK_COUNTS(&f, 1, 1, 0);
    struct weir_work work = get(&f, 0);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    CHECK_COUNTS(&f, 0, 1, 1);
    /* The earlier one, 5 ms, was kept. */
    pass(&f, WEIR_MS(5));
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_SECONDS(1));
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(rate_limited_delay,
          "add_with, rate-limited: the longer of the limiter's delay and its own")
{
    struct fixture f;
    setup(&f, kind);
    add_with(&f, 0, WEIR_MS(20), WEIR_ADD_RATE_LIMITED); /* the limiter says 5 ms */
    add_with(&f, 1, WEIR_MS(4), WEIR_ADD_RATE_LIMITED);
    add_with(&f, 2, INT64_MIN, WEIR_ADD_RATE_LIMITED);
    CHECK(requeues(&f, 0) == 1 && requeues(&f, 1) == 1 && requeues(&f, 2) == 1);
    pass(&f, WEIR_MS(5) - 1);
    CHECK_COUNTS(&f, 0, 3, 0);
    pass(&f, 1);
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_MS(15) - 1);
    CHECK_NOTHING_READY(&f);
    pass(&f, 1);
    get_and_done(&f, 0);
    /* A move replaces a time by the one that this comes to: here 10 ms. */
    add_after(&f, 1, WEIR_MS(1));
    add_with(&f, 1, 0, WEIR_ADD_RATE_LIMITED | WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(10) - 1);
    CHECK_NOTHING_READY(&f);
    pass(&f, 1);
    get_and_done(&f, 1);
    weir_queue_shutdown(f.queue);
    struct weir_add_options options = {0};
    options.flags = WEIR_ADD_RATE_LIMITED;
    CHECK_STATUS(weir_queue_add_with(f.queue, key_of(&f, 1), &options, NULL), WEIR_ESHUTDOWN);
    CHECK_INT(requeues(&f, 1), ==, 2);
    teardown(&f);
}

TEST_EACH(forget, "forget and num_requeues: the record is cleared, from any place; not a done")
{
    struct fixture f;
    setup(&f, kind);
    CHECK_INT(requeues(&f, 0), ==, 0);
    CHECK_STATUS(weir_queue_forget(f.queue, key_of(&f, 0)), WEIR_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    }
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 1)), WEIR_OK);
    CHECK_INT(requeues(&f, 0), ==, 3);
    pass(&f, WEIR_MS(5));
    struct weir_work work = get(&f, 0);
    CHECK_STATUS(weir_queue_forget(f.queue, key_of(&f, 0)), WEIR_OK);
    CHECK_INT(requeues(&f, 0), ==, 0);
    CHECK_INT(requeues(&f, 1), ==, 1);
    CHECK_COUNTS(&f, 1, 0, 1);
    done(&f, &work);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    get_and_done(&f, 1);
    pass(&f, WEIR_MS(5));
    get_and_done(&f, 0);
    teardown(&f);
}
