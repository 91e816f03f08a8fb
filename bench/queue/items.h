/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_ITEMS_H
#define WEIR_BENCH_ITEMS_H

#include <stdalign.h>

#include <weir/weir.h>

#include "bench/support/bench.h"

/* An object of one cache line in which an item is embedded. */
struct bench_object {
    alignas(64) struct weir_item item;
};

/* The items of a sample: objects with embedded items, or the keys "key-0", "key-1", …, as the
 * measurement's flags say. */
struct bench_items {
    size_t count;
    struct bench_object *objects; /* NULL where items are keys of bytes. */
    struct weir_key *keys;        /* NULL where they are embedded. */
    char *text;
    size_t text_size;
};

void bench_items_init(struct bench_items *items, const struct bench_run *run, size_t count);
void bench_items_fini(struct bench_items *items);

static inline struct weir_key bench_key(const struct bench_items *items, size_t index)
{
    return items->objects != NULL ? weir_key_item(&items->objects[index].item) : items->keys[index];
}

/* Makes a queue; options may be NULL. */
weir_queue *bench_queue_new(const struct weir_queue_options *options);

#endif
