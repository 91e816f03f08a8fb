/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "bench/queue/items.h"

/* Longest text of a key, "key-" and a number, with its NUL. */
#define KEY_SIZE_MAX 28

void bench_items_init(struct bench_items *items, const struct bench_run *run, size_t count)
{
    *items = (struct bench_items){.count = count};
    if (bench_is(run, BENCH_EMBEDDED)) {
        items->objects = bench_is(run, BENCH_HUGE)
                             ? bench_alloc_huge(count, sizeof(*items->objects))
                             : bench_alloc(count, sizeof(*items->objects));
        return;
    }
    items->keys = bench_alloc(count, sizeof(*items->keys));
    items->text = bench_alloc(count, KEY_SIZE_MAX);
    char *at = items->text;
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(at, KEY_SIZE_MAX, "key-%zu", i);
        items->keys[i] = weir_key_bytes(at, (size_t)length);
        items->text_size += (size_t)length;
        at += length;
    }
}

void bench_items_fini(struct bench_items *items)
{
    bench_free(items->objects);
    bench_free(items->keys);
    bench_free(items->text);
}

size_t *bench_shuffled(size_t count)
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

weir_queue *bench_queue_new(void)
{
    weir_queue *queue;
    BENCH_OK(weir_queue_new(NULL, &queue));
    return queue;
}

weir_queue *bench_queue_ranked(void)
{
    weir_queue *queue;
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.flags = WEIR_QUEUE_PRIORITIES;
    BENCH_OK(weir_queue_new(&options, &queue));
    return queue;
}

weir_queue *bench_queue_manual(weir_clock **ret_clock)
{
    weir_queue *queue;
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    BENCH_OK(weir_clock_manual_new(0, NULL, ret_clock));
    options.clock = *ret_clock;
    BENCH_OK(weir_queue_new(&options, &queue));
    return queue;
}
