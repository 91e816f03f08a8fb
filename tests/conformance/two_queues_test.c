/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* An embedded item that one queue holds, given to another one: refused, and nothing changes in
 * either queue. */

enum place {
    QUEUED,
    WAITING,
    QUEUED_AND_WAITING,
    PROCESSING,
    PROCESSING_AND_WAITING,
    DIRTY,
    PLACES
};

struct pair {
    struct fixture first;
    struct fixture second;
    struct weir_work work;
    struct weir_item *item; /* held by the first */
    enum place place;
};

/* The item is the third in the first queue, so that its indices are those of another item where the
 * second queue has items of its own. */
static void setup_pair(struct pair *pair, enum place place, uint32_t flags, unsigned own)
{
    struct weir_queue_options options = {0};
    options.flags = flags;
    setup_options(&pair->first, EMBEDDED, &options);
    setup_options(&pair->second, EMBEDDED, &options);
    pair->item = &pair->first.items[2];
    pair->place = place;
    struct fixture *sides[2] = {&pair->first, &pair->second};
    for (unsigned side = 0; side < 2; side++) {
        unsigned count = side == 0 ? 3 : own;
        for (unsigned i = 0; i < count; i++) {
            if (place != WAITING) {
                add(sides[side], i);
            }
            if (place >= PROCESSING) {
                struct weir_work work = get(sides[side], i);
                pair->work = side == 0 ? work : pair->work;
            }
            if (place == DIRTY) {
                add(sides[side], i);
            }
            if (place == WAITING || place == QUEUED_AND_WAITING ||
                place == PROCESSING_AND_WAITING) {
                add_after(sides[side], i, WEIR_MS(1) + i);
            }
        }
    }
}

static struct weir_queue_counts counts_of(struct fixture *f)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(f->queue, &counts), WEIR_OK);
    return counts;
}

static void check_same(struct fixture *f, const struct weir_queue_counts *before)
{
    struct weir_queue_counts now = counts_of(f);
    CHECK_INT(now.queued, ==, before->queued);
    CHECK_INT(now.waiting, ==, before->waiting);
    CHECK_INT(now.processing, ==, before->processing);
}

static void check_refused(struct pair *pair)
{
    struct weir_key key = weir_key_item(pair->item);
    weir_queue *queue = pair->second.queue;
    bool taken = true;
    CHECK_STATUS(weir_queue_cancel(queue, key, &taken), WEIR_EBUSY);
    CHECK(taken);
    CHECK_STATUS(weir_queue_cancel(queue, key, NULL), WEIR_EBUSY);
    CHECK_STATUS(weir_queue_add_after(queue, key, 1), WEIR_EBUSY);
    CHECK_STATUS(weir_queue_add_after(queue, key, INT64_MAX), WEIR_EBUSY);
    CHECK_STATUS(weir_queue_add_rate_limited(queue, key), WEIR_EBUSY);
    uint64_t count = 1;
    CHECK_STATUS(weir_queue_num_requeues(queue, key, &count), WEIR_OK);
    CHECK_INT(count, ==, 0);
    struct weir_add_options options = {0};
    options.delay_ns = WEIR_SECONDS(1);
    options.flags = WEIR_ADD_MOVE;
    CHECK_STATUS(weir_queue_add_with(queue, key, &options, NULL), WEIR_EBUSY);
    options.delay_ns = 0;
    options.flags = WEIR_ADD_SUPERSEDE;
    CHECK_STATUS(weir_queue_add_with(queue, key, &options, NULL), WEIR_EBUSY);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_EBUSY);
    CHECK_STATUS(weir_queue_add_after(queue, key, 0), WEIR_EBUSY);
    struct weir_key batch[2] = {weir_key_item(&pair->second.items[3]), key};
    CHECK_STATUS(weir_queue_add_batch(queue, batch, 2, NULL), WEIR_EBUSY);
    if (pair->place >= PROCESSING) {
        CHECK_STATUS(weir_queue_done(queue, &pair->work), WEIR_ENOTPROCESSING);
    }
}

/* The first queue has its item as before. */
static void check_held(struct pair *pair)
{
    struct fixture *f = &pair->first;
    if (pair->place >= PROCESSING) {
        done(f, &pair->work);
    }
    CHECK_INT(cancel(f, 2), ==, pair->place != PROCESSING);
    CHECK(!cancel(f, 2));
}

static void check_all(uint32_t flags, unsigned own)
{
    for (enum place place = QUEUED; place < PLACES; place++) {
        struct pair pair;
        setup_pair(&pair, place, flags, own);
        struct weir_queue_counts first = counts_of(&pair.first);
        struct weir_queue_counts second = counts_of(&pair.second);
        check_refused(&pair);
        check_same(&pair.first, &first);
        check_same(&pair.second, &second);
        check_held(&pair);
        /* Idle now: the other queue may have it. */
        CHECK_STATUS(weir_queue_add_after(pair.second.queue, weir_key_item(pair.item), 1), WEIR_OK);
        bool taken = false;
        CHECK_STATUS(weir_queue_cancel(pair.second.queue, weir_key_item(pair.item), &taken),
                     WEIR_OK);
        CHECK(taken);
        teardown(&pair.first);
        teardown(&pair.second);
    }
}

TEST(empty, "an empty queue refuses an item that another one holds, whatever its place there")
{
    check_all(0, 0);
    check_all(WEIR_QUEUE_PRIORITIES, 0);
}

TEST(fewer, "so does one whose own items are fewer")
{
    check_all(0, 1);
    check_all(WEIR_QUEUE_PRIORITIES, 1);
}

TEST(same, "so does one that has an item of its own at each place where the other has it")
{
    check_all(0, 3);
    check_all(WEIR_QUEUE_PRIORITIES, 3);
}
