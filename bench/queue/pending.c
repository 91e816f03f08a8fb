/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/queue/items.h"

/* get, done and add of the same item while many are queued, in an order that has nothing to do with
 * where they lie in memory. Embedded items lie in huge pages, as who has millions of them would see
 * to; in small ones it is the processor's walks through page tables that take the time. */

static void again(void *state, size_t count)
{
    weir_queue *queue = state;
    struct weir_work work;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_get(queue, &work));
        /* The bytes of a key are the queue's own until done, so they are kept for the add. */
        char bytes[32];
        struct weir_key key = work.key;
        if (key.size != WEIR_KEY_ITEM) {
            BENCH_CHECK(key.size <= sizeof(bytes));
            memcpy(bytes, key.data, key.size);
            key.data = bytes;
        }
        BENCH_OK(weir_queue_done(queue, &work));
        BENCH_OK(weir_queue_add(queue, key));
    }
}

static void pending_in(struct bench_run *run, weir_queue *queue)
{
    const size_t depth = bench_measurement(run)->size;
    const size_t total = depth > 5000000 ? 2 * depth : 5000000;
    struct bench_items items;
    bench_items_init(&items, run, depth);
    size_t *order = bench_shuffled(depth);
    for (size_t i = 0; i < depth; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(&items, order[i])));
    }
    bench_free(order);
    bench_chunks(run, bench_scale(run, total), again, queue);
    BENCH_CHECK_COUNT(weir_queue_len(queue), depth);
    weir_queue_free(queue);
    bench_items_fini(&items);
}

static void pending(struct bench_run *run)
{
    pending_in(run, bench_queue_new());
}

static void ranked_pending(struct bench_run *run)
{
    pending_in(run, bench_queue_ranked());
}

struct mixed {
    weir_queue *queue;
    struct bench_items items;
    uint64_t random;
};

/* An add at one of four priorities. */
static void add_mixed(struct mixed *mixed, struct weir_key key)
{
    struct weir_add_options options = WEIR_ADD_OPTIONS_INIT;
    options.priority = (int32_t)(bench_random(&mixed->random) % 4) - 1;
    BENCH_OK(weir_queue_add_with(mixed->queue, key, &options));
}

static void mixed_again(void *state, size_t count)
{
    struct mixed *mixed = state;
    struct weir_work work;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_get(mixed->queue, &work));
        struct weir_key key = weir_key_item(work.item);
        BENCH_OK(weir_queue_done(mixed->queue, &work));
        add_mixed(mixed, key);
    }
}

static void mixed_pending(struct bench_run *run)
{
    const size_t depth = bench_measurement(run)->size;
    struct mixed mixed = {.queue = bench_queue_ranked(), .random = 1};
    bench_items_init(&mixed.items, run, depth);
    size_t *order = bench_shuffled(depth);
    for (size_t i = 0; i < depth; i++) {
        add_mixed(&mixed, bench_key(&mixed.items, order[i]));
    }
    bench_free(order);
    bench_chunks(run, bench_scale(run, 5000000), mixed_again, &mixed);
    BENCH_CHECK_COUNT(weir_queue_len(mixed.queue), depth);
    weir_queue_free(mixed.queue);
    bench_items_fini(&mixed.items);
}

const struct bench_measurement bench_pending[] = {
    {"pending_1e3", "weir", pending, 1000, 0},
    {"pending_1e3", "weir-embedded", pending, 1000, BENCH_EMBEDDED | BENCH_HUGE},
    {"pending_1e5", "weir", pending, 100000, 0},
    {"pending_1e5", "weir-embedded", pending, 100000, BENCH_EMBEDDED | BENCH_HUGE},
    {"priority_pending_1e5", "weir", ranked_pending, 100000, 0},
    {"priority_pending_1e5", "weir-embedded", ranked_pending, 100000, BENCH_EMBEDDED | BENCH_HUGE},
    {"priority_pending_1e5", "weir-mixed", mixed_pending, 100000, BENCH_EMBEDDED | BENCH_HUGE},
    {"pending_1e6", "weir", pending, 1000000, BENCH_FULL},
    {"pending_1e6", "weir-embedded", pending, 1000000, BENCH_EMBEDDED | BENCH_HUGE | BENCH_FULL},
    {"pending_1e7", "weir-embedded", pending, 10000000, BENCH_EMBEDDED | BENCH_HUGE | BENCH_FULL},
    {"pending_1e7", "weir-embedded-small-pages", pending, 10000000, BENCH_EMBEDDED | BENCH_FULL},
    {0},
};
