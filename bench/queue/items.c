/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "bench/queue/items.h"

/* The longest text of a key, "key-" and a number, with its NUL. */
#define KEY_SIZE_MAX 28

void bench_items_init(struct bench_items *items, const struct bench_run *run, size_t count)
{
    *items = (struct bench_items){.count = count};
    if ((run->flags & BENCH_EMBEDDED) != 0) {
        items->objects = bench_alloc(count, sizeof(*items->objects));
        return;
    }
    items->keys = bench_alloc(count, sizeof(*items->keys));
    items->text = bench_alloc(count, KEY_SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        char *text = items->text + items->text_size;
        int length = snprintf(text, KEY_SIZE_MAX, "key-%zu", i);
        items->keys[i] = weir_key_bytes(text, (size_t)length);
        items->text_size += (size_t)length;
    }
}

void bench_items_fini(struct bench_items *items)
{
    free(items->objects);
    free(items->keys);
    free(items->text);
}

weir_queue *bench_queue_new(const struct weir_queue_options *options)
{
    weir_queue *queue;
    BENCH_OK(weir_queue_new(options, &queue, NULL));
    return queue;
}
