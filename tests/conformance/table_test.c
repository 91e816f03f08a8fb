/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Each row of the table of calls: call, from which place, to what effect. */

TEST_EACH(add_idle, "add, idle: queued at the tail")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    CHECK_COUNTS(&f, 2, 0, 0);
    get_and_done(&f, 0);
    get_and_done(&f, 1);
    add(&f, 0);
    get_and_done(&f, 0);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(add_idle_wakes_one, "add, idle: one sleeping consumer is woken")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked first;
    struct blocked second;
    block(&first, &f, run_get);
    block(&second, &f, run_get);
    add(&f, 7);
    add(&f, 8);
    CHECK_STATUS(unblock(&first), WEIR_OK);
    CHECK_STATUS(unblock(&second), WEIR_OK);
    CHECK_INT(item_of(&f, &first.work) + item_of(&f, &second.work), ==, 7 + 8);
    done(&f, &first.work);
    done(&f, &second.work);
    teardown(&f);
}

TEST_EACH(add_queued, "add, queued: nothing changes")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    add(&f, 0);
    CHECK_COUNTS(&f, 2, 0, 0);
    get_and_done(&f, 0);
    get_and_done(&f, 1);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(add_processing, "add, processing: dirty, and not handed to a second consumer")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    CHECK_COUNTS(&f, 0, 0, 1);
    CHECK_NOTHING_READY(&f);
    done(&f, &work);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(add_dirty, "add, processing-and-dirty: nothing changes")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    add(&f, 0);
    add(&f, 0);
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(get_queued, "get, queued: processing, with the item, a key and a rising ticket")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 3);
    add(&f, 4);
    struct weir_work first;
    CHECK_STATUS(weir_queue_get(f.queue, &first), WEIR_OK);
    CHECK_INT(item_of(&f, &first), ==, 3);
    CHECK_COUNTS(&f, 1, 0, 1);
    struct weir_work second;
    CHECK_STATUS(weir_queue_get_until(f.queue, START - 1, &second), WEIR_OK);
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

TEST(try_get_empty, "try_get does not block")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    struct weir_work work = {.ticket = 77};
    CHECK_STATUS(weir_queue_try_get(f.queue, &work), WEIR_EAGAIN);
    CHECK_INT(work.ticket, ==, 77);
    teardown(&f);
}

TEST(get_until_past, "get_until does not block past a time")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    struct weir_work work = {.ticket = 77};
    CHECK_STATUS(weir_queue_get_until(f.queue, START, &work), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_queue_get_until(f.queue, INT64_MIN, &work), WEIR_ETIMEDOUT);
    CHECK_INT(work.ticket, ==, 77);
    teardown(&f);
}

static void run_get_until(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_get_until(blocked->f->queue, START + WEIR_MS(10), &blocked->work);
}

TEST(get_until_waits, "get_until sleeps until its time, not less")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    struct blocked consumer;
    block(&consumer, &f, run_get_until);
    pass(&f, WEIR_MS(10) - 1);
    test_wait_asleep(consumer.thread);
    pass(&f, 1);
    CHECK_STATUS(unblock(&consumer), WEIR_ETIMEDOUT);
    teardown(&f);
}

TEST_EACH(get_until_due, "get_until hands out what becomes due before its time")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 5, WEIR_MS(4));
    struct blocked consumer;
    block(&consumer, &f, run_get_until);
    pass(&f, WEIR_MS(4));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 5);
    done(&f, &consumer.work);
    teardown(&f);
}

TEST_EACH(done_processing, "done, processing: idle, and a keyed item's memory is released")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 1); /* the first makes tables that stay */
    get_and_done(&f, 1);
    size_t floor = test_allocated_bytes();
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_INT(test_allocated_bytes(), ==, floor);
    CHECK_NOTHING_READY(&f);
    add(&f, 0);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST_EACH(done_dirty, "done, processing-and-dirty: queued at the tail, one consumer is woken")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 1);
    add(&f, 0);
    done(&f, &work);
    CHECK_COUNTS(&f, 2, 0, 0);
    get_and_done(&f, 1);
    work = get(&f, 0);
    add(&f, 0);
    struct blocked consumer;
    block(&consumer, &f, run_get);
    done(&f, &work);
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 0);
    done(&f, &consumer.work);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(done_idle, "done, idle: an error, no change")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    done(&f, &work);
    CHECK_STATUS(weir_queue_done(f.queue, &work), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(done_queued, "done, queued: an error, no change")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    done(&f, &work);
    add(&f, 0);
    CHECK_STATUS(weir_queue_done(f.queue, &work), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(add_after_nothing, "add_after(d <= 0): as add, from any place")
{
    static const int64_t delays[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        setup(&f, kind);
        add_after(&f, 0, delays[i]);
        add_after(&f, 1, delays[i]);
        add_after(&f, 0, delays[i]);
        CHECK_COUNTS(&f, 2, 0, 0);
        struct weir_work work = get(&f, 0);
        add_after(&f, 0, delays[i]);
        CHECK_COUNTS(&f, 1, 0, 1);
        done(&f, &work);
        get_and_done(&f, 1);
        get_and_done(&f, 0);
        CHECK_NOTHING_READY(&f);
        teardown(&f);
    }
}

TEST_EACH(add_after_idle, "add_after, not waiting: waiting until then, not queued before")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(50));
    CHECK_COUNTS(&f, 0, 1, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_MS(50) - 1);
    CHECK_COUNTS(&f, 0, 1, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, 1);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1000));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(add_after_places, "add_after, not waiting: the place is unchanged, whatever it is")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    CHECK_COUNTS(&f, 1, 1, 0);
    struct weir_work work = get(&f, 0);
    CHECK_COUNTS(&f, 0, 1, 1);
    add_after(&f, 1, WEIR_MS(10));
    add(&f, 1);
    struct weir_work other = get(&f, 1);
    add_after(&f, 1, WEIR_MS(20));
    add(&f, 1);
    CHECK_COUNTS(&f, 0, 2, 2);
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 2, 1);
    done(&f, &other);
    CHECK_COUNTS(&f, 1, 2, 0);
    pass(&f, WEIR_MS(10));
    CHECK_COUNTS(&f, 2, 0, 0);
    get_and_done(&f, 1);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST_EACH(add_after_waiting, "add_after, waiting: the earlier of the two times is kept")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(50));
    add_after(&f, 0, WEIR_MS(70));
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(50));
    get_and_done(&f, 0);
    pass(&f, WEIR_MS(20));
    CHECK_COUNTS(&f, 0, 0, 0);
    add_after(&f, 0, WEIR_MS(50));
    add_after(&f, 0, WEIR_MS(30));
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(30) - 1);
    CHECK_NOTHING_READY(&f);
    pass(&f, 1);
    get_and_done(&f, 0);
    pass(&f, WEIR_MS(20));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(add_after_move, "add_after with move, waiting: the new time replaces the old one")
{
    struct fixture f;
    setup(&f, kind);
    add_with(&f, 0, WEIR_MS(50), WEIR_ADD_MOVE);
    add_with(&f, 0, WEIR_MS(70), WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(69));
    CHECK_COUNTS(&f, 0, 1, 0);
    add_with(&f, 0, WEIR_MS(100), WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(1));
    CHECK_COUNTS(&f, 0, 1, 0);
    add_with(&f, 0, WEIR_MS(5), WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(5));
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}
