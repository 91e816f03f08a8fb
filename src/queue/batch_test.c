/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/queue.h>

#include "base/alloc.h"
#include "support/harness.h"

static weir_queue *new_queue(void)
{
    struct weir_queue_options options = {0};
    weir_queue *queue;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    return queue;
}

#define FULL WEIRI_CAPACITY_MIN /* so many fill the smallest ring */

TEST(empty_slots,
     "a batch takes the slots of items that were taken out, and comes after all others")
{
    weir_queue *queue = new_queue();
    struct weir_item items[FULL + FULL / 2] = {{0}};
    struct weir_key batch[FULL / 2];
    for (size_t i = 0; i < FULL; i++) {
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[i])), WEIR_OK);
    }
    for (size_t i = 1; i <= FULL / 2; i++) {
        CHECK_STATUS(weir_queue_cancel(queue, weir_key_item(&items[i]), NULL), WEIR_OK);
        batch[i - 1] = weir_key_item(&items[FULL + i - 1]);
    }
    size_t bytes = test_allocated_bytes();
    CHECK_STATUS(weir_queue_add_batch(queue, batch, FULL / 2, NULL), WEIR_OK);
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    struct weir_work work;
    for (size_t i = 0; i < FULL + FULL / 2; i++) {
        if (i == 0 || i > FULL / 2) {
            CHECK_STATUS(weir_queue_get(queue, 0, &work), WEIR_OK);
            CHECK(work.item == &items[i]);
            CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
        }
    }
    CHECK_STATUS(weir_queue_get(queue, 0, &work), WEIR_ETIMEDOUT);
    weir_queue_free(queue);
}
