/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include "conformance/metrics.h"

/* A snapshot says of every item where it is, for when, since when. */

static struct weir_snapshot *take(struct fixture *f)
{
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(f->queue, &snapshot), WEIR_OK);
    return snapshot;
}

/* The item at an index of a snapshot; it must be this one. */
static const struct weir_snapshot_item *at(struct fixture *f, const struct weir_snapshot *snapshot,
                                           size_t index, unsigned item)
{
    CHECK_INT(index, <, snapshot->count);
    const struct weir_snapshot_item *got = &snapshot->items[index];
    struct weir_work work = {.key = got->key, .item = got->item};
    CHECK_INT(item_of(f, &work), ==, item);
    return got;
}

/* One item, looked up; until the next one is. */
static const struct weir_snapshot_item *look(struct fixture *f, unsigned item)
{
    static struct weir_snapshot_item got;
    memset(&got, 0xff, sizeof(got));
    CHECK_STATUS(weir_queue_lookup(f->queue, key_of(f, item), &got), WEIR_OK);
    struct weir_work work = {.key = got.key, .item = got.item};
    CHECK_INT(item_of(f, &work), ==, item);
    return &got;
}

#define CHECK_ITEM(got, want_place, want_due_ns, want_queued_ns, want_running_ns)                  \
    do {                                                                                           \
        const struct weir_snapshot_item *check_got = (got);                                        \
        CHECK_INT(check_got->place, ==, want_place);                                               \
        CHECK_INT(check_got->due_ns, ==, want_due_ns);                                             \
        CHECK_INT(check_got->queued_ns, ==, want_queued_ns);                                       \
        CHECK_INT(check_got->running_ns, ==, want_running_ns);                                     \
    } while (0)

/* Items 0 to 5: processing; dirty and waiting; queued; queued and waiting; waiting; waiting and
 * due. */
static void fill(struct fixture *f, struct weir_work work[2])
{
    add(f, 0);
    add(f, 1);
    work[0] = get(f, 0);
    pass(f, WEIR_SECONDS(1));
    work[1] = get(f, 1);
    pass(f, WEIR_SECONDS(1));
    add(f, 1);
    add_after(f, 1, WEIR_SECONDS(100));
    add(f, 2);
    add(f, 3);
    add_after(f, 3, WEIR_SECONDS(50));
    add_after(f, 4, WEIR_SECONDS(60));
    add_after(f, 5, WEIR_SECONDS(3));
    pass(f, WEIR_SECONDS(3));
}

TEST_EACH(places, "each item is listed once, with its place, pending time, ages and ticket")
{
    struct fixture f;
    struct page page;
    struct weir_work work[2];
    setup_named(&f, kind, &page);
    fill(&f, work);
    struct weir_snapshot *snapshot = take(&f);
    int64_t base_ns = START + WEIR_SECONDS(2);
    CHECK_INT(snapshot->count, ==, 6);
    CHECK_ITEM(at(&f, snapshot, 0, 0), WEIR_PLACE_PROCESSING, -1, -1, WEIR_SECONDS(5));
    CHECK_ITEM(at(&f, snapshot, 1, 1), WEIR_PLACE_DIRTY, base_ns + WEIR_SECONDS(100),
               WEIR_SECONDS(3), WEIR_SECONDS(4));
    CHECK_ITEM(at(&f, snapshot, 2, 2), WEIR_PLACE_QUEUED, -1, WEIR_SECONDS(3), -1);
    CHECK_ITEM(at(&f, snapshot, 3, 3), WEIR_PLACE_QUEUED, base_ns + WEIR_SECONDS(50),
               WEIR_SECONDS(3), -1);
    CHECK_ITEM(at(&f, snapshot, 4, 5), WEIR_PLACE_QUEUED, -1, 0, -1);
    CHECK_ITEM(at(&f, snapshot, 5, 4), WEIR_PLACE_IDLE, base_ns + WEIR_SECONDS(60), -1, -1);
    CHECK_INT(at(&f, snapshot, 0, 0)->ticket, ==, work[0].ticket);
    CHECK_INT(at(&f, snapshot, 1, 1)->ticket, ==, work[1].ticket);
    CHECK_INT(at(&f, snapshot, 2, 2)->ticket, ==, 0);
    CHECK_COUNTS(&f, 3, 3, 2);
    weir_snapshot_free(snapshot);
    teardown_named(&f, &page);
}

TEST_EACH(lookup, "one item is looked up: its place, pending time, ages and ticket")
{
    struct fixture f;
    struct page page;
    struct weir_work work[2];
    setup_named(&f, kind, &page);
    fill(&f, work);
    int64_t base_ns = START + WEIR_SECONDS(2);
    CHECK_ITEM(look(&f, 0), WEIR_PLACE_PROCESSING, -1, -1, WEIR_SECONDS(5));
    CHECK_INT(look(&f, 0)->ticket, ==, work[0].ticket);
    CHECK_ITEM(look(&f, 1), WEIR_PLACE_DIRTY, base_ns + WEIR_SECONDS(100), WEIR_SECONDS(3),
               WEIR_SECONDS(4));
    CHECK_ITEM(look(&f, 2), WEIR_PLACE_QUEUED, -1, WEIR_SECONDS(3), -1);
    CHECK_INT(look(&f, 2)->ticket, ==, 0);
    CHECK_ITEM(look(&f, 3), WEIR_PLACE_QUEUED, base_ns + WEIR_SECONDS(50), WEIR_SECONDS(3), -1);
    CHECK_ITEM(look(&f, 4), WEIR_PLACE_IDLE, base_ns + WEIR_SECONDS(60), -1, -1);
    CHECK_ITEM(look(&f, 5), WEIR_PLACE_QUEUED, -1, 0, -1);
    CHECK_ITEM(look(&f, 6), WEIR_PLACE_IDLE, -1, -1, -1); /* unknown */
    pass(&f, WEIR_SECONDS(57));                           /* item 4 is due */
    CHECK_ITEM(look(&f, 4), WEIR_PLACE_QUEUED, -1, 0, -1);
    teardown_named(&f, &page);
}

TEST_EACH(deleted, "the owner of an item learns when the queue is rid of it")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 0, WEIR_SECONDS(1));
    CHECK(cancel(&f, 0));
    CHECK_ITEM(look(&f, 0), WEIR_PLACE_IDLE, -1, -1, -1);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    add_after(&f, 0, WEIR_SECONDS(1));
    CHECK(cancel(&f, 0));
    CHECK_ITEM(look(&f, 0), WEIR_PLACE_PROCESSING, -1, -1, -1);
    done(&f, &work);
    CHECK_ITEM(look(&f, 0), WEIR_PLACE_IDLE, -1, -1, -1);
    memset(&f.items[0], 0xff, sizeof(f.items[0])); /* nobody looks at it any more */
    add(&f, 1);
    pass(&f, WEIR_SECONDS(2));
    get_and_done(&f, 1);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(ages, "a queue without metrics has ages where it was asked to keep them")
{
    struct fixture f;
    struct weir_work work[2];
    struct weir_queue_options options = {0};
    options.flags = WEIR_QUEUE_AGES;
    setup_options(&f, kind, &options);
    fill(&f, work);
    struct weir_snapshot *snapshot = take(&f);
    CHECK_ITEM(at(&f, snapshot, 0, 0), WEIR_PLACE_PROCESSING, -1, -1, WEIR_SECONDS(5));
    CHECK_ITEM(at(&f, snapshot, 1, 1), WEIR_PLACE_DIRTY, START + WEIR_SECONDS(102), WEIR_SECONDS(3),
               WEIR_SECONDS(4));
    CHECK_ITEM(look(&f, 2), WEIR_PLACE_QUEUED, -1, WEIR_SECONDS(3), -1);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(without_metrics, "a queue without metrics has no ages, but all else")
{
    struct fixture f;
    struct weir_work work[2];
    setup(&f, kind);
    fill(&f, work);
    struct weir_snapshot *snapshot = take(&f);
    CHECK_INT(snapshot->count, ==, 6);
    CHECK_ITEM(at(&f, snapshot, 1, 1), WEIR_PLACE_DIRTY, START + WEIR_SECONDS(102), -1, -1);
    CHECK_ITEM(at(&f, snapshot, 2, 2), WEIR_PLACE_QUEUED, -1, -1, -1);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(outlives, "a snapshot does not change, and outlives its queue")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_snapshot *snapshot = take(&f);
    get_and_done(&f, 0);
    struct weir_snapshot *empty = take(&f);
    teardown(&f);
    CHECK_INT(empty->count, ==, 0);
    CHECK_ITEM(at(&f, snapshot, 0, 0), WEIR_PLACE_QUEUED, -1, -1, -1);
    weir_snapshot_free(snapshot);
    weir_snapshot_free(empty);
}

TEST_EACH(many, "more items than fit a first try are all listed, queued ones in their order")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
    }
    CHECK(cancel(&f, 3));
    struct weir_snapshot *snapshot = take(&f);
    CHECK_INT(snapshot->count, ==, ITEMS - 1);
    for (unsigned i = 0; i < ITEMS - 1; i++) {
        (void)at(&f, snapshot, i, i < 3 ? i : i + 1);
    }
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(cancelled, "a cancelled item is listed no more, those that wait are")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned item = 0; item < 4; item++) {
        CHECK_STATUS(weir_queue_add_after(f.queue, key_of(&f, item), WEIR_SECONDS(1)), WEIR_OK);
    }
    for (unsigned item = 0; item < 2; item++) {
        CHECK(cancel(&f, item));
    }
    struct weir_snapshot *snapshot = take(&f);
    CHECK_INT(snapshot->count, ==, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct weir_snapshot_item *got = &snapshot->items[i];
        struct weir_work work = {.key = got->key, .item = got->item};
        CHECK_INT(item_of(&f, &work), >=, 2);
        CHECK_INT(got->place, ==, WEIR_PLACE_IDLE);
    }
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(by_priority, "queued items of a queue with priorities are listed in the order of those")
{
    static const unsigned order[5] = {3, 0, 4, 2, 1};
    static const int32_t priorities[5] = {-1, 5, 2, -7, -1};
    struct fixture f;
    struct weir_queue_options options = {0};
    options.flags = WEIR_QUEUE_PRIORITIES;
    setup_options(&f, kind, &options);
    for (unsigned i = 0; i < 5; i++) {
        struct weir_add_options how = {0};
        how.priority = priorities[i];
        CHECK_STATUS(weir_queue_add_with(f.queue, key_of(&f, i), &how, NULL), WEIR_OK);
    }
    struct weir_snapshot *snapshot = take(&f);
    for (unsigned i = 0; i < 5; i++) {
        (void)at(&f, snapshot, i, order[i]);
        get_and_done(&f, order[i]);
    }
    weir_snapshot_free(snapshot);
    teardown(&f);
}

static void run_drain_1_ns(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_shutdown_drain(blocked->f->queue, 1);
}

TEST_EACH(drain_names, "after a drain that ran out of time, a snapshot names what is still running")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 3; i++) {
        add(&f, i);
    }
    get_and_done(&f, 0);
    struct weir_work running = get(&f, 1);
    struct blocked drainer;
    block(&drainer, &f, run_drain_1_ns);
    pass(&f, 1);
    CHECK_STATUS(unblock(&drainer), WEIR_ETIMEDOUT);
    struct weir_snapshot *snapshot = take(&f);
    CHECK_INT(snapshot->count, ==, 2);
    CHECK_ITEM(at(&f, snapshot, 0, 1), WEIR_PLACE_PROCESSING, -1, -1, -1);
    CHECK_INT(at(&f, snapshot, 0, 1)->ticket, ==, running.ticket);
    CHECK_ITEM(at(&f, snapshot, 1, 2), WEIR_PLACE_QUEUED, -1, -1, -1);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST(empty_key, "the key without bytes is listed as one")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    CHECK_STATUS(weir_queue_add(f.queue, weir_key_bytes(NULL, 0)), WEIR_OK);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    struct weir_snapshot *snapshot = take(&f);
    CHECK_INT(snapshot->count, ==, 1);
    CHECK_INT(snapshot->items[0].key.size, ==, 0);
    CHECK(snapshot->items[0].key.data != work.key.data); /* gone with the queue */
    CHECK(snapshot->items[0].item == NULL);
    weir_snapshot_free(snapshot);
    teardown(&f);
}

TEST_EACH(memory, "without memory there is no snapshot, and nothing changed")
{
    struct fixture f;
    struct weir_work work[2];
    setup(&f, kind);
    fill(&f, work);
    for (unsigned i = 6; i < ITEMS; i++) { /* more than fit a first try */
        add_after(&f, i, WEIR_SECONDS(100));
    }
    size_t bytes = test_allocated_bytes();
    struct weir_snapshot *snapshot = NULL;
    enum weir_status status;
    uint64_t nth = 1;
    do {
        test_fail_allocation(nth++, false);
        status = weir_queue_snapshot(f.queue, &snapshot);
        test_fail_allocation(0, false);
        CHECK(status == WEIR_OK || (status == WEIR_ENOMEM && snapshot == NULL));
        CHECK(status == WEIR_OK || test_allocated_bytes() <= bytes);
    } while (status != WEIR_OK);
    CHECK_INT(nth, >=, 4);
    weir_snapshot_free(snapshot);
    CHECK_COUNTS(&f, 3, 3 + ITEMS - 6, 2);
    teardown(&f);
}

TEST(misuse, "what is not there is refused")
{
    struct weir_snapshot *snapshot = NULL;
    CHECK_STATUS(weir_queue_snapshot(NULL, &snapshot), WEIR_EINVAL);
    CHECK(snapshot == NULL);
    struct fixture f;
    setup(&f, SHORT_KEY);
    CHECK_STATUS(weir_queue_snapshot(f.queue, NULL), WEIR_EINVAL);
    teardown(&f);
    weir_snapshot_free(NULL);
}
