/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/queue.h>

#include "queue/internal.h"
#include "support/harness.h"

static weir_queue *new_queue(void)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    weir_queue *queue;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_queue_new(&options, &queue), WEIR_OK);
    return queue;
}

static void check_held(weir_queue *queue, size_t queued, size_t held)
{
    struct weir_queue_counts counts;
    size_t found;
    CHECK_STATUS(weiri_queue_count_held(queue, &counts, &found), WEIR_OK);
    CHECK_INT(counts.queued, ==, queued);
    CHECK_INT(found, ==, held);
}

TEST(capacity, "of a batch each item that is free counts once against the capacity; all or none")
{
    weir_queue *queue = new_queue();
    weiri_queue_set_capacity(queue, 4);
    struct weir_item items[3] = {{0}, {0}, {0}};
    struct weir_key a = weir_key_string("a");
    struct weir_key b = weir_key_item(&items[0]);
    struct weir_key c = weir_key_item(&items[1]);
    struct weir_key d = weir_key_item(&items[2]);
    CHECK_STATUS(weir_queue_add(queue, a), WEIR_OK);
    /* Two are free, though five are named. */
    CHECK_STATUS(weir_queue_add_batch(queue, (struct weir_key[]){a, b, c, b, b}, 5), WEIR_OK);
    check_held(queue, 3, 3);
    struct weir_key e = weir_key_string("e, which is too long for a record and so has memory");
    size_t blocks = test_allocated_blocks();
    CHECK_STATUS(weir_queue_add_batch(queue, (struct weir_key[]){a, d, e}, 3), WEIR_EFULL);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    check_held(queue, 3, 3);
    CHECK_STATUS(weir_queue_add_batch(queue, (struct weir_key[]){c, b, a, c, d}, 5), WEIR_OK);
    check_held(queue, 4, 4);
    CHECK_STATUS(weir_queue_add_batch(queue, (struct weir_key[]){d, c, b, a}, 4), WEIR_OK);
    CHECK_STATUS(weir_queue_add_batch(queue, &e, 1), WEIR_EFULL);
    check_held(queue, 4, 4);
    weir_queue_free(queue);
}

#define ROOM WEIRI_RING_CAPACITY_MIN

TEST(holes, "a batch finds the room of items that were taken out, and comes after all others")
{
    weir_queue *queue = new_queue();
    struct weir_item items[ROOM + ROOM / 2] = {{0}};
    struct weir_key batch[ROOM / 2];
    for (size_t i = 0; i < ROOM; i++) {
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[i])), WEIR_OK);
    }
    for (size_t i = 1; i <= ROOM / 2; i++) {
        CHECK_STATUS(weir_queue_cancel(queue, weir_key_item(&items[i]), NULL), WEIR_OK);
        batch[i - 1] = weir_key_item(&items[ROOM + i - 1]);
    }
    size_t bytes = test_allocated_bytes();
    CHECK_STATUS(weir_queue_add_batch(queue, batch, ROOM / 2), WEIR_OK);
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    struct weir_work work;
    for (size_t i = 0; i < ROOM + ROOM / 2; i++) {
        if (i == 0 || i > ROOM / 2) {
            CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
            CHECK(work.item == &items[i]);
            CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
        }
    }
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_EAGAIN);
    weir_queue_free(queue);
}
