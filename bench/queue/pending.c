/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "bench/queue/items.h"

/* get, done and add of the same item while many are queued, in random order in memory. */

static void again(void *state, size_t count)
{
    weir_queue *queue = state;
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, WEIR_FOREVER, &work));
        /* The queue owns the bytes of a key until done, so the add needs a copy. */
        char bytes[32];
        struct weir_key key = work.key;
        if (work.item == NULL) {
            BENCH_CHECK(key.size <= sizeof(bytes));
            memcpy(bytes, key.data, key.size);
            key = weir_key_bytes(bytes, key.size);
        }
        BENCH_OK(weir_queue_done(queue, &work));
        BENCH_OK(weir_queue_add(queue, key));
    }
}

/* Returns the numbers below count in a random order. */
static size_t *shuffled(size_t count)
{
    size_t *order = bench_alloc(count, sizeof(*order));
    uint64_t random = UINT64_C(88172645463325252);
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)(bench_random(&random) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void pending(struct bench_run *run)
{
    weir_queue *queue = bench_queue_new(NULL);
    struct bench_items items;
    bench_items_init(&items, run, run->size);
    size_t *order = shuffled(items.count);
    for (size_t i = 0; i < items.count; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(&items, order[i])));
    }
    free(order);
    bench_parts(run, 2000000, again, queue);
    BENCH_CHECK_COUNT(weir_queue_len(queue), items.count);
    weir_queue_free(queue);
    bench_items_fini(&items);
}

const struct bench_measurement bench_pending[] = {
    {"pending_1e6/weir-keyed", pending, 1000000, 0},
    {"pending_1e6/weir-embedded", pending, 1000000, BENCH_EMBEDDED},
    {0},
};
