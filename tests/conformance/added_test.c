/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/ranked.h"

/* What an add tells of itself; batches with options. */

static enum weir_added add_telling(struct fixture *f, unsigned item, int64_t delay_ns,
                                   uint32_t flags)
{
    enum weir_added added = (enum weir_added)0;
    struct weir_add_options options = {0};
    options.delay_ns = delay_ns;
    options.flags = flags;
    CHECK_STATUS(weir_queue_add_with(f->queue, key_of(f, item), &options, &added), WEIR_OK);
    return added;
}

TEST_EACH(at_once, "an add at once coalesces with one of a queued or dirty item, and no other")
{
    struct fixture f;
    setup(&f, kind);
    CHECK_INT(add_telling(&f, 1, 0, 0), ==, WEIR_ADDED_NEW);
    CHECK_INT(add_telling(&f, 1, -5, 0), ==, WEIR_ADDED_COALESCED);
    struct weir_work work = get(&f, 1);
    CHECK_INT(add_telling(&f, 1, 0, 0), ==, WEIR_ADDED_NEW);
    CHECK_INT(add_telling(&f, 1, 0, WEIR_ADD_SUPERSEDE), ==, WEIR_ADDED_COALESCED);
    done(&f, &work);
    CHECK_INT(add_telling(&f, 1, 0, 0), ==, WEIR_ADDED_COALESCED);
    add_after(&f, 2, 10);
    CHECK_INT(add_telling(&f, 2, 0, 0), ==, WEIR_ADDED_NEW); /* sooner than the time */
    pass(&f, 10);
    CHECK_INT(add_telling(&f, 2, 0, 0), ==, WEIR_ADDED_COALESCED);
    teardown(&f);
}

TEST_EACH(for_a_time, "an add for a time coalesces where the pending time is kept")
{
    struct fixture f;
    setup(&f, kind);
    CHECK_INT(add_telling(&f, 1, 20, 0), ==, WEIR_ADDED_NEW);
    CHECK_INT(add_telling(&f, 1, 30, 0), ==, WEIR_ADDED_COALESCED);
    CHECK_INT(add_telling(&f, 1, 20, 0), ==, WEIR_ADDED_COALESCED);
    CHECK_INT(add_telling(&f, 1, 20, WEIR_ADD_MOVE), ==, WEIR_ADDED_COALESCED);
    CHECK_INT(add_telling(&f, 1, 10, 0), ==, WEIR_ADDED_NEW);
    CHECK_INT(add_telling(&f, 1, 40, WEIR_ADD_MOVE), ==, WEIR_ADDED_NEW);
    add(&f, 2);
    CHECK_INT(add_telling(&f, 2, 10, 0), ==, WEIR_ADDED_NEW); /* of a queued item too */
    CHECK_COUNTS(&f, 1, 2, 0);
    teardown(&f);
}

TEST_EACH(refused, "an add that fails tells nothing")
{
    struct fixture f;
    setup(&f, kind);
    enum weir_added added = (enum weir_added)77;
    struct weir_add_options options = {0};
    struct weir_key key = key_of(&f, 1);
    CHECK_STATUS(weir_queue_add_with(f.queue, key, NULL, &added), WEIR_EINVAL);
    test_fail_allocation(1, true);
    CHECK_STATUS(weir_queue_add_with(f.queue, key, &options, &added), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_add_with(f.queue, key, &options, &added), WEIR_ESHUTDOWN);
    CHECK_INT(added, ==, 77);
    teardown(&f);
}

static void make_keys(struct fixture *f, struct weir_key *keys, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        keys[i] = key_of(f, first + i);
    }
}

TEST_EACH(batch_later, "a batch for a time is so many adds for that time, moves and supersedes too")
{
    struct fixture f;
    struct weir_key keys[3];
    struct weir_add_options options = {0};
    setup(&f, kind);
    make_keys(&f, keys, 1, 3);
    add_after(&f, 1, 5);
    add(&f, 2);
    options.delay_ns = 10;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, &options), WEIR_OK);
    CHECK_COUNTS(&f, 1, 3, 0);
    pass(&f, 5);
    CHECK_ORDER(&f, 2, 1); /* the earlier time was kept */
    options.flags = WEIR_ADD_MOVE;
    options.delay_ns = 20;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, &options), WEIR_OK);
    pass(&f, 19);
    CHECK_NOTHING_READY(&f);
    options.flags = WEIR_ADD_SUPERSEDE;
    options.delay_ns = 0;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 2, &options), WEIR_OK);
    CHECK_COUNTS(&f, 2, 1, 0);
    pass(&f, 1);
    CHECK_ORDER(&f, 1, 2, 3);
    teardown(&f);
}

TEST_EACH(batch_priority, "a batch at a priority moves its items up, in their order")
{
    struct fixture f;
    struct weir_key keys[3];
    struct weir_add_options options = {0};
    setup_ranked(&f, kind, 0);
    make_keys(&f, keys, 1, 3);
    add_at(&f, 0, -1);
    add_at(&f, 3, 5);
    options.priority = -2;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, &options), WEIR_OK);
    CHECK_ORDER(&f, 3, 1, 2, 0); /* 3 keeps its arrival */
    options.delay_ns = 7;
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, &options), WEIR_OK);
    add_at(&f, 0, -1);
    pass(&f, 7);
    CHECK_ORDER(&f, 1, 2, 3, 0);
    teardown(&f);
}

/* Makes a batch until its nth allocation is one more than it needs. Returns how many failed. */
static unsigned batch_without_memory(enum kind kind, const struct weir_add_options *options,
                                     unsigned count, bool is_sticky)
{
    for (unsigned nth = 1;; nth++) {
        struct fixture f;
        struct weir_key keys[ITEMS];
        setup_ranked(&f, kind, 0);
        make_keys(&f, keys, 0, count);
        add_at(&f, 1, 4);
        struct weir_work work = get(&f, 1);
        size_t blocks = test_allocated_blocks();
        test_fail_allocation(nth, is_sticky);
        enum weir_status status = weir_queue_add_batch(f.queue, keys, count, options);
        test_fail_allocation(0, false);
        if (status != WEIR_OK) {
            CHECK_STATUS(status, WEIR_ENOMEM);
            CHECK_COUNTS(&f, 0, 0, 1);
            done(&f, &work);
            CHECK_COUNTS(&f, 0, 0, 0);                          /* it was not made dirty */
            CHECK_INT(test_allocated_blocks(), <=, blocks + 4); /* arrays may have grown */
        } else {
            size_t now = options->delay_ns == 0 ? count - 1 : 0;
            CHECK_COUNTS(&f, now, options->delay_ns == 0 ? 0 : count, 1);
            done(&f, &work);
        }
        teardown(&f);
        if (status == WEIR_OK) {
            return nth - 1;
        }
    }
}

TEST_EACH(batch_memory, "for lack of memory none of a batch is added, whatever its options")
{
    struct weir_add_options options = {0};
    for (int i = 0; i < 4; i++) {
        options.delay_ns = i % 2 == 0 ? 0 : 10;
        options.priority = i - 2;
        unsigned count = i < 2 ? 40 : ITEMS;
        CHECK_INT(batch_without_memory(kind, &options, count, false), >, 0);
        CHECK_INT(batch_without_memory(kind, &options, count, true), >, 0);
    }
}

TEST_EACH(work_priority, "a work has the priority that its item was handed out with; 0 without any")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, 7);
    add_at(&f, 1, -3); /* raised */
    add_at(&f, 1, 2);
    add_after_at(&f, 2, 10, INT32_MAX);
    add_at(&f, 3, INT32_MIN);
    struct weir_work work = get(&f, 3);
    CHECK_INT(work.priority, ==, INT32_MIN);
    done(&f, &work);
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, -3);
    add_at(&f, 1, 6);
    add_at(&f, 1, 5);
    done(&f, &work);
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, 5);
    done(&f, &work);
    pass(&f, 10);
    work = get(&f, 2);
    CHECK_INT(work.priority, ==, INT32_MAX);
    done(&f, &work);
    teardown(&f);
    setup(&f, kind);
    add(&f, 1);
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, 0);
    teardown(&f);
}

TEST_EACH(limited_keeps, "a rate-limited add of an item that is processing is as urgent as that")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -4);
    struct weir_work work = get(&f, 1);
    CHECK_STATUS(try_add_at(&f, 1, 9, 0, WEIR_ADD_RATE_LIMITED), WEIR_OK);
    done(&f, &work);
    pass(&f, WEIR_MS(5));
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, -4);
    CHECK_STATUS(try_add_at(&f, 1, -6, 0, WEIR_ADD_RATE_LIMITED), WEIR_OK); /* more urgent */
    done(&f, &work);
    pass(&f, WEIR_MS(10));
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, -6);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, work.key), WEIR_OK);
    done(&f, &work);
    pass(&f, WEIR_MS(20));
    work = get(&f, 1);
    CHECK_INT(work.priority, ==, -6);
    done(&f, &work);
    CHECK_STATUS(try_add_at(&f, 1, 3, 0, WEIR_ADD_RATE_LIMITED), WEIR_OK); /* it is idle */
    pass(&f, WEIR_MS(40));
    CHECK_INT(get(&f, 1).priority, ==, 3);
    teardown(&f);
}
