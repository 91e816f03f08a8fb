/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/close.h"

#include "queue/internal.h"
#include "support/harness.h"

enum {
    COUNT = 11,
    BUSY = COUNT - 2 /* the one that is processing too */
};

static weir_queue *make(weir_clock **ret_clock)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_clock_manual_new(0, NULL, ret_clock), WEIR_OK);
    options.clock = *ret_clock;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue), WEIR_OK);
    return queue;
}

/* The first is due at once, and the last is moved into its slot, which is the heap's root. What
 * comes behind is a heap as it is, in which the last item is before the second one, the parent of
 * the four before it. */
TEST(take_waiting, "of a closed queue all that only waits is taken at once, wherever it lies")
{
    static const int64_t times[COUNT] = {10, 1000, 20, 30, 40, 1001, 1002, 1003, 1004, 50, 15};
    static struct weir_item items[COUNT];
    weir_clock *clock;
    weir_queue *queue = make(&clock);
    struct weir_work busy;
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[BUSY])), WEIR_OK);
    CHECK_STATUS(weir_queue_get(queue, &busy), WEIR_OK);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_STATUS(weir_queue_add_after(queue, weir_key_item(&items[i]), times[i]), WEIR_OK);
    }
    CHECK_STATUS(weir_clock_advance(clock, 10), WEIR_OK);
    CHECK_INT(weir_queue_len(queue), ==, 1);
    CHECK_INT(queue->core.delay.heap_end, ==, WEIRI_DELAY_FIRST + COUNT - 1);
    weiri_queue_close(queue, WEIRI_CLOSE_DRAIN, false);
    struct weir_item *taken = weiri_queue_take_closed(queue);
    size_t count = 0;
    while (weiri_chain_next(&taken) != NULL) {
        count++;
    }
    CHECK_INT(count, ==, COUNT - 2);
    CHECK_INT(queue->core.delay.count, ==, 1);
    CHECK(items[BUSY].weir_wait != 0);
    weir_queue_free(queue);
    weir_clock_free(clock);
}

TEST(take_waiting_gaps, "what was cancelled before is not among what is taken")
{
    static struct weir_item items[COUNT];
    weir_clock *clock;
    weir_queue *queue = make(&clock);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_STATUS(weir_queue_add_after(queue, weir_key_item(&items[i]), 10), WEIR_OK);
    }
    for (size_t i = 0; i < COUNT; i += 2) {
        CHECK_STATUS(weir_queue_cancel(queue, weir_key_item(&items[i]), NULL), WEIR_OK);
    }
    weiri_queue_close(queue, WEIRI_CLOSE_DRAIN, false);
    struct weir_item *taken = weiri_queue_take_closed(queue);
    for (size_t count = 0; count < COUNT / 2; count++) {
        const struct weir_item *item = weiri_chain_next(&taken);
        CHECK(item != NULL && (item - items) % 2 == 1);
    }
    CHECK(taken == NULL);
    weir_queue_free(queue);
    weir_clock_free(clock);
}
