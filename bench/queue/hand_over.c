/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "bench/queue/items.h"

/* Producers add distinct items once each, while as many consumers take them. The handlers are
 * empty, so that the hand-over alone is measured. */

struct taken {
    size_t count;
    uint64_t sum;
};

struct hand_over {
    struct bench_items items;
    weir_queue *queue;
    size_t share;        /* of one producer */
    struct taken *taken; /* by each consumer */
};

static void produce(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t from = number * over->share;
    for (size_t i = from; i < from + over->share; i++) {
        BENCH_OK(weir_queue_add(over->queue, bench_key(&over->items, i)));
    }
}

/* Tells items apart without reading them: an address, or the length of a text. */
static uint64_t mark(const struct hand_over *over, struct weir_key key)
{
    return over->items.objects != NULL ? (uintptr_t)key.data : key.size;
}

static void consume(void *state, size_t number)
{
    struct hand_over *over = state;
    struct taken taken = {0};
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(over->queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        taken.count++;
        taken.sum += mark(over, work.key);
        BENCH_OK(weir_queue_done(over->queue, &work));
    }
    BENCH_CHECK(status == WEIR_ESHUTDOWN);
    over->taken[number] = taken;
}

static void consume_batches(void *state, size_t number)
{
    struct hand_over *over = state;
    struct taken taken = {0};
    struct weir_work works[BENCH_BATCH_SIZE];
    size_t got = 0;
    enum weir_status status;
    while ((status = weir_queue_get_batch(over->queue, WEIR_FOREVER, works, BENCH_BATCH_SIZE,
                                          &got)) == WEIR_OK) {
        taken.count += got;
        for (size_t i = 0; i < got; i++) {
            taken.sum += mark(over, works[i].key);
        }
        BENCH_OK(weir_queue_done_batch(over->queue, works, got));
    }
    BENCH_CHECK(status == WEIR_ESHUTDOWN);
    over->taken[number] = taken;
}

static void check(const struct hand_over *over, size_t consumers)
{
    uint64_t expected = 0;
    for (size_t i = 0; i < over->items.count; i++) {
        expected += mark(over, bench_key(&over->items, i));
    }
    struct taken all = {0};
    for (size_t i = 0; i < consumers; i++) {
        all.count += over->taken[i].count;
        all.sum += over->taken[i].sum;
    }
    BENCH_CHECK_COUNT(all.count, over->items.count);
    BENCH_CHECK(all.sum == expected);
}

static void hand_over(struct bench_run *run)
{
    const size_t sides = run->size;
    const bool is_batch = (run->flags & BENCH_BATCH) != 0;
    struct hand_over over = {.queue = bench_queue_new(NULL),
                             .share = BENCH_HAND_OVERS / sides,
                             .taken = bench_alloc(sides, sizeof(struct taken))};
    bench_items_init(&over.items, run, over.share * sides);
    int64_t start = bench_now();
    struct bench_threads *consumers =
        bench_threads_start(sides, is_batch ? consume_batches : consume, &over);
    bench_threads_join(bench_threads_start(sides, produce, &over));
    weir_queue_shutdown(over.queue);
    bench_threads_join(consumers);
    bench_span(run, start, over.items.count);
    check(&over, sides);
    weir_queue_free(over.queue);
    bench_items_fini(&over.items);
    free(over.taken);
}

const struct bench_measurement bench_hand_over[] = {
    {"one_to_one/weir-keyed", hand_over, 1, 0},
    {"one_to_one/weir-embedded", hand_over, 1, BENCH_EMBEDDED},
    {"four_to_four/weir-keyed", hand_over, 4, 0},
    {"four_to_four/weir-embedded", hand_over, 4, BENCH_EMBEDDED},
    {"four_to_four/weir-embedded-batch", hand_over, 4, BENCH_EMBEDDED | BENCH_BATCH},
    {0},
};
