/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_ITEMS_H
#define WEIR_BENCH_ITEMS_H

#include <weir/weir.h>

#include "bench/support/bench.h"

/* What the benchmarks queue: objects of one cache line with an embedded item, or keys of bytes, as
 * the measurement says. */

struct bench_object {
    struct weir_item item;
    char payload[64 - sizeof(struct weir_item)];
};

struct bench_items {
    struct bench_object *objects; /* NULL where items are named by bytes */
    struct weir_key *keys;        /* NULL where they are embedded */
    char *text;
    size_t count;
    size_t text_size;
};

void bench_items_init(struct bench_items *items, const struct bench_run *run, size_t count);
void bench_items_fini(struct bench_items *items);

/* The key of an item. */
static inline struct weir_key bench_key(const struct bench_items *items, size_t index)
{
    return items->objects != NULL ? weir_key_item(&items->objects[index].item) : items->keys[index];
}

/* The numbers 0 to count - 1 in a random order. The caller frees it. */
size_t *bench_shuffled(size_t count);

/* Fails the sample unless the call is WEIR_OK. */
#define BENCH_OK(call)                                                                             \
    do {                                                                                           \
        enum weir_status status_ = (call);                                                         \
        if (__builtin_expect(status_ != WEIR_OK, 0)) {                                             \
            bench_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call,                                 \
                       weir_status_name((int)status_));                                            \
        }                                                                                          \
    } while (0)

/* add, get and done of count items one by one, from at on and round; returns where it ended. */
static inline size_t bench_cycle(weir_queue *queue, const struct bench_items *items, size_t at,
                                 size_t count)
{
    struct weir_work work;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(items, at)));
        BENCH_OK(weir_queue_get(queue, &work));
        BENCH_OK(weir_queue_done(queue, &work));
        at = at + 1 == items->count ? 0 : at + 1;
    }
    return at;
}

/* A queue with default options. */
weir_queue *bench_queue_new(void);
/* The same with priorities. */
weir_queue *bench_queue_ranked(void);
/* A queue on a manual clock, which the caller frees after the queue. */
weir_queue *bench_queue_manual(weir_clock **ret_clock);

extern const struct bench_measurement bench_cycles[];
extern const struct bench_measurement bench_coalesced[];
extern const struct bench_measurement bench_visited[];
extern const struct bench_measurement bench_metered[];
extern const struct bench_measurement bench_pending[];
extern const struct bench_measurement bench_threads[];
extern const struct bench_measurement bench_storms[];
extern const struct bench_measurement bench_memory[];
extern const struct bench_measurement bench_delays[];
extern const struct bench_measurement bench_structures[];
extern const struct bench_measurement bench_limiters[];
extern const struct bench_measurement bench_wakes[];

#endif
