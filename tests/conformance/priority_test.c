/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include "conformance/ranked.h"

/* Queues with priorities: each promise of weir/queue.h about them. */

TEST_EACH(by_priority, "queued items come out by priority; 0 is usual, less is more urgent")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, 7);
    add_at(&f, 2, INT32_MAX);
    add(&f, 3);
    add_at(&f, 4, -1);
    add_at(&f, 5, INT32_MIN);
    CHECK_COUNTS(&f, 5, 0, 0);
    CHECK_ORDER(&f, 5, 4, 3, 1, 2);
    teardown(&f);
}

TEST_EACH(fifo_inside, "items of one priority come out in order of arrival")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        add_at(&f, i, i % 2 == 0 ? -5 : 5);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        get_and_done(&f, i < ITEMS / 2 ? 2 * i : 2 * (i - ITEMS / 2) + 1);
    }
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(raised, "a queued item added at a more urgent priority moves up, keeping its arrival")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -2);
    add_at(&f, 2, 3);
    add_at(&f, 3, -2);
    add_at(&f, 2, -2);
    CHECK_COUNTS(&f, 3, 0, 0);
    CHECK_ORDER(&f, 1, 2, 3);
    teardown(&f);
}

TEST_EACH(checked,
          "an add with a priority is refused for its queue, its key and its end as any other")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    struct weir_add_options options = {0};
    options.priority = -1;
    CHECK_STATUS(weir_queue_add_with(NULL, key_of(&f, 0), &options, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_with(f.queue, weir_key_bytes(NULL, 1), &options, NULL),
                 WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_with(f.queue, weir_key_bytes(&f, 65537), &options, NULL),
                 WEIR_ETOOBIG);
    CHECK_COUNTS(&f, 0, 0, 0);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(try_add_at(&f, 0, -1, 0, 0), WEIR_ESHUTDOWN);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(not_lowered, "an add at a less urgent priority changes nothing")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -1);
    add_at(&f, 2, -1);
    add_at(&f, 1, 4);
    add(&f, 1);
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(usual_raises, "an add without a priority raises an item that is less urgent than usual")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, 9);
    add(&f, 2);
    add(&f, 1);
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(dirty, "done queues an item with the most urgent priority asked while it was processing")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -100);
    struct weir_work work = get(&f, 1);
    add_at(&f, 1, 5);
    add_at(&f, 1, -3);
    add_at(&f, 1, 8);
    add(&f, 1);
    add_at(&f, 2, -3);
    add_at(&f, 3, -4);
    add_at(&f, 4, -2);
    done(&f, &work);
    CHECK_ORDER(&f, 3, 2, 1, 4);
    teardown(&f);
}

TEST_EACH(dirty_less_urgent, "that may be a less urgent priority than it was processed with")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -100);
    struct weir_work work = get(&f, 1);
    add_at(&f, 1, 5);
    add(&f, 2);
    done(&f, &work);
    CHECK_ORDER(&f, 2, 1);
    teardown(&f);
}

TEST_EACH(dirty_usual, "an add without a priority makes what was asked at a less urgent one usual")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 1);
    add_at(&f, 1, 5);
    add(&f, 1);
    add_at(&f, 2, 1);
    done(&f, &work);
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(dirty_cancelled, "a cancel forgets the priority that was asked together with the mark")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 1);
    add_at(&f, 1, -9);
    CHECK(cancel(&f, 1));
    add_at(&f, 1, 9);
    add(&f, 2);
    done(&f, &work);
    CHECK_ORDER(&f, 2, 1);
    teardown(&f);
}

TEST_EACH(done_get, "the fused done and get hands out the most urgent item, be it the same again")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 1);
    add(&f, 2);
    add_at(&f, 1, -1);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 2);
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(waiting, "a waiting item keeps its priority until its time comes")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_after_at(&f, 1, 20, 6);
    add_after_at(&f, 2, 30, -6);
    add_after(&f, 3, 10);
    add_at(&f, 4, 6);
    CHECK_COUNTS(&f, 1, 3, 0);
    pass(&f, 30);
    CHECK_COUNTS(&f, 4, 0, 0);
    CHECK_ORDER(&f, 2, 3, 4, 1);
    teardown(&f);
}

TEST_EACH(waiting_coalesced,
          "of two adds for a time the earlier time and the more urgent priority count")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_after_at(&f, 1, 10, 4);
    add_after_at(&f, 1, 50, -4);
    add_after_at(&f, 2, 50, 4);
    add_after_at(&f, 2, 10, 9);
    add_after_at(&f, 3, 10, 4);
    add_after(&f, 3, 60);
    add_at(&f, 4, -3);
    pass(&f, 10);
    CHECK_COUNTS(&f, 4, 0, 0);
    CHECK_ORDER(&f, 1, 4, 3, 2);
    teardown(&f);
}

TEST_EACH(waiting_moved, "a move replaces the time; the more urgent priority stays")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_after_at(&f, 1, 10, -4);
    CHECK_STATUS(try_add_at(&f, 1, 4, 30, WEIR_ADD_MOVE), WEIR_OK);
    add(&f, 2);
    pass(&f, 29);
    CHECK_COUNTS(&f, 1, 1, 0);
    pass(&f, 1);
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(waiting_independent, "an immediate add leaves a pending time its priority")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_after_at(&f, 1, 10, -4);
    add_at(&f, 1, 4);
    add_at(&f, 2, 3);
    CHECK_ORDER(&f, 2, 1);
    add(&f, 2);
    pass(&f, 10);
    CHECK_ORDER(&f, 1, 2);
    teardown(&f);
}

TEST_EACH(waiting_raises,
          "a time that passes raises a queued item, and what a dirty one will come with")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, -100);
    struct weir_work work = get(&f, 1);
    add_at(&f, 1, 5);
    add_after_at(&f, 1, 10, -5);
    add_at(&f, 2, 6);
    add_after_at(&f, 2, 10, -6);
    add(&f, 3);
    pass(&f, 10);
    done(&f, &work);
    CHECK_COUNTS(&f, 3, 0, 0);
    CHECK_ORDER(&f, 2, 1, 3);
    teardown(&f);
}

TEST_EACH(superseded,
          "an add that supersedes a time takes over its priority where that is more urgent")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add(&f, 1);
    add_after_at(&f, 2, 10, -4);
    add_after_at(&f, 3, 10, 4);
    add_after_at(&f, 5, 10, -5);
    CHECK_STATUS(try_add_at(&f, 2, 0, 0, WEIR_ADD_SUPERSEDE), WEIR_OK);
    CHECK_STATUS(try_add_at(&f, 3, 2, 0, WEIR_ADD_SUPERSEDE), WEIR_OK);
    CHECK_STATUS(try_add_at(&f, 5, 2, 0, WEIR_ADD_MOVE), WEIR_OK);
    add_at(&f, 4, 3);
    CHECK_COUNTS(&f, 5, 0, 0);
    CHECK_ORDER(&f, 5, 2, 1, 3, 4);
    teardown(&f);
}

TEST_EACH(rate_limited, "a failed item comes back with the priority it is added with")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    CHECK_STATUS(try_add_at(&f, 1, 5, 0, WEIR_ADD_RATE_LIMITED), WEIR_OK);
    CHECK_STATUS(try_add_at(&f, 2, -5, 0, WEIR_ADD_RATE_LIMITED), WEIR_OK);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 3)), WEIR_OK);
    CHECK_COUNTS(&f, 0, 3, 0);
    pass(&f, WEIR_MS(5));
    CHECK_ORDER(&f, 2, 3, 1);
    teardown(&f);
}

TEST_EACH(wait_cancelled, "a cancel forgets the priority of a pending time")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_after_at(&f, 1, 10, -4);
    CHECK(cancel(&f, 1));
    add_after_at(&f, 1, 10, 4);
    add_at(&f, 2, 3);
    pass(&f, 10);
    CHECK_ORDER(&f, 2, 1);
    teardown(&f);
}

TEST_EACH(cancelled, "an item taken out of the middle leaves the order of the others")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        add_at(&f, i, (int32_t)(i * 37 % ITEMS));
    }
    for (unsigned i = 0; i < ITEMS; i += 3) {
        CHECK(cancel(&f, i));
    }
    for (int32_t priority = 0; priority < ITEMS; priority++) {
        for (unsigned i = 0; i < ITEMS; i++) {
            if (i % 3 != 0 && (int32_t)(i * 37 % ITEMS) == priority) {
                get_and_done(&f, i);
            }
        }
    }
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(batches, "a batch adds at the usual priority, and a batch is gotten in order of priority")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, 3);
    add_at(&f, 2, -3);
    struct weir_key keys[] = {key_of(&f, 3), key_of(&f, 1), key_of(&f, 2), key_of(&f, 4)};
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 4, NULL), WEIR_OK);
    struct weir_work works[8];
    size_t count = 0;
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 8, &count), WEIR_OK);
    CHECK_INT(count, ==, 4);
    static const unsigned want[] = {2, 1, 3, 4};
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(item_of(&f, &works[i]), ==, want[i]);
    }
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 4), WEIR_OK);
    teardown(&f);
}

TEST_EACH(snapshot, "a snapshot lists queued items in the order in which they come out")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        add_at(&f, i, (int32_t)(i * 37 % 16));
    }
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(f.queue, &snapshot), WEIR_OK);
    CHECK_INT(snapshot->count, ==, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        const struct weir_snapshot_item *listed = &snapshot->items[i];
        struct weir_work as_work = {.key = listed->key, .item = listed->item};
        get_and_done(&f, item_of(&f, &as_work));
    }
    CHECK_NOTHING_READY(&f);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(after_shutdown, "after a shutdown what is queued still comes by priority")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    add_at(&f, 1, 2);
    add_at(&f, 2, 1);
    add_after_at(&f, 3, 10, -1);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(try_add_at(&f, 1, -5, 0, 0), WEIR_ESHUTDOWN);
    get_and_done(&f, 2);
    get_and_done(&f, 1);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_ESHUTDOWN);
    teardown(&f);
}

TEST_EACH(freed_full, "a queue with priorities is freed with items in every place")
{
    struct fixture f;
    setup_ranked(&f, kind, 1);
    add_at(&f, 1, -1);
    add_at(&f, 2, -2);
    struct weir_work work = get(&f, 2);
    add_at(&f, 2, -2);
    add_after_at(&f, 2, 10, 3);
    add_after_at(&f, 3, 10, -3);
    CHECK_COUNTS(&f, 1, 2, 1);
    CHECK_INT(work.ticket, !=, 0);
    teardown(&f);
    static const struct weir_item idle;
    for (unsigned i = 0; i < ITEMS; i++) {
        CHECK_INT(f.items[i].weir_word, ==, idle.weir_word);
        CHECK_INT(f.items[i].weir_wait, ==, idle.weir_wait);
    }
}
