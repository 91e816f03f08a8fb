/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Each row of the table of calls: call, from which place, to what effect. Those about get are in
 * get_test.c, those about time, cancel and rate limits in waiting_test.c. */

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

TEST_EACH(add_idle_wakes_no_other, "add, idle: of several sleeping consumers one only is woken")
{
    enum {
        SLEEPERS = 3
    };
    struct fixture f;
    setup(&f, kind);
    struct blocked sleepers[SLEEPERS];
    long sleeps[SLEEPERS];
    for (unsigned i = 0; i < SLEEPERS; i++) {
        block(&sleepers[i], &f, run_get);
    }
    for (unsigned i = 0; i < SLEEPERS; i++) {
        sleeps[i] = test_sleeps(sleepers[i].thread);
    }
    add(&f, 0);
    unsigned woken = 0;
    while (!test_has_ended(sleepers[woken].thread)) {
        CHECK_INT(weir_queue_len(f.queue), <=, 1);
        woken = (woken + 1) % SLEEPERS;
    }
    add(&f, 0); /* dirty: for nobody */
    for (unsigned i = 0; i < SLEEPERS; i++) {
        if (i != woken) {
            test_wait_asleep(sleepers[i].thread);
            CHECK_INT(test_sleeps(sleepers[i].thread), ==, sleeps[i]);
        }
    }
    weir_queue_shutdown(f.queue);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        CHECK_STATUS(unblock(&sleepers[i]), i == woken ? WEIR_OK : WEIR_ESHUTDOWN);
    }
    done(&f, &sleepers[woken].work);
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
        add_after(&f, 0, delays[i]); /* dirty */
        done(&f, &work);
        get_and_done(&f, 1);
        get_and_done(&f, 0);
        CHECK_NOTHING_READY(&f);
        add_after(&f, 2, WEIR_MS(1));
        add_after(&f, 2, delays[i]); /* waiting, and goes on waiting */
        CHECK_COUNTS(&f, 1, 1, 0);
        get_and_done(&f, 2);
        pass(&f, WEIR_MS(1));
        get_and_done(&f, 2);
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
    add(&f, 2);
    work = get(&f, 2);
    add_after(&f, 2, WEIR_MS(10)); /* processing, and not dirty by that */
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 1, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_MS(10));
    get_and_done(&f, 2);
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
