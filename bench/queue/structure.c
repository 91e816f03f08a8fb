/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "bench/queue/items.h"
#include "queue/delay.h"

/* The delay structure alone, without the queue's calls and lock around it: the one benchmark that
 * reaches past the public headers. */

struct structure {
    struct bench_items items;
    struct weiri_delay delay;
    uint64_t random;
};

static int64_t random_time(struct structure *structure)
{
    return (int64_t)(bench_random(&structure->random) % (uint64_t)WEIR_SECONDS(600)) + 1;
}

static struct weir_item *random_item(struct structure *structure)
{
    size_t index = (size_t)(bench_random(&structure->random) % structure->items.count);
    return &structure->items.objects[index].item;
}

static void cancel_insert(void *state, size_t count)
{
    struct structure *structure = state;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = random_item(structure);
        weiri_delay_remove(&structure->delay, item);
        weiri_delay_insert(&structure->delay, item, random_time(structure));
    }
}

/* What the machine asks for this memory: an item at random, and the entry that it names. */
static double touch(struct structure *structure, size_t count)
{
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = random_item(structure);
        item->weir_position +=
            (uint64_t)weiri_delay_at(&structure->delay, item->weir_wait)->time_ns;
    }
    return (double)(bench_now() - start) / (double)count;
}

static double insert_all(struct structure *structure)
{
    int64_t start = bench_now();
    for (size_t i = 0; i < structure->items.count; i++) {
        weiri_delay_insert(&structure->delay, &structure->items.objects[i].item,
                           random_time(structure));
    }
    return (double)(bench_now() - start) / (double)structure->items.count;
}

static double pop_all(struct structure *structure)
{
    size_t popped = 0;
    int64_t time_ns;
    int64_t start = bench_now();
    while (weiri_delay_pop_due(&structure->delay, WEIR_SECONDS(601), &time_ns) != NULL) {
        popped++;
    }
    double ns = (double)(bench_now() - start) / (double)structure->items.count;
    BENCH_CHECK_COUNT(popped, structure->items.count);
    return ns;
}

/* "insert_ns" of filling it, room for all reserved; "ns" of a cancel and an insert once it is full;
 * "touch_ns" of only touching the memory of that; "pop_ns" of taking all out in order of time.
 * Filled and emptied more than once where that is quick: the medians count. */
static void structure(struct bench_run *run)
{
    const size_t count = bench_measurement(run)->size;
    const size_t rounds = count > 1000000 ? 1 : 7;
    double inserts[7];
    double pops[7];
    double touches[7];
    struct structure structure = {.random = 1};
    bench_items_init(&structure.items, run, count);
    struct weir_allocator allocator;
    BENCH_OK(weiri_allocator_init(&allocator, NULL));
    weiri_delay_init(&structure.delay);
    BENCH_OK(weiri_delay_reserve(&structure.delay, &allocator, count));
    for (size_t i = 0; i < rounds; i++) {
        inserts[i] = insert_all(&structure);
        if (i + 1 == rounds) {
            bench_chunks(run, bench_scale(run, 2000000), cancel_insert, &structure);
        }
        touches[i] = touch(&structure, bench_scale(run, 200000));
        pops[i] = pop_all(&structure);
    }
    bench_metric(run, "insert_ns", bench_quantile(inserts, rounds, 0.5));
    bench_metric(run, "touch_ns", bench_quantile(touches, rounds, 0.5));
    bench_metric(run, "pop_ns", bench_quantile(pops, rounds, 0.5));
    weiri_delay_fini(&structure.delay, &allocator);
    bench_items_fini(&structure.items);
}

const struct bench_measurement bench_structures[] = {
    {"delay_structure_1e5", "weir", structure, 100000, BENCH_EMBEDDED},
    {"delay_structure_1e7", "weir", structure, 10000000, BENCH_EMBEDDED | BENCH_FULL},
    {0},
};
