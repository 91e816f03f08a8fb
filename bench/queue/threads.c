/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/queue/items.h"

/* Producers add distinct items, once each, while as many consumers take them: empty handlers, so
 * that what is measured is the hand-over alone. */

struct side {
    size_t count;
    uint64_t sum;
    char apart[128 - sizeof(size_t) - sizeof(uint64_t)];
};

struct hand_over {
    struct bench_items items;
    weir_queue *queue;
    size_t share; /* of one producer */
    struct side *sides;
};

static void produce(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t from = number * over->share;
    for (size_t i = from; i < from + over->share; i++) {
        BENCH_OK(weir_queue_add(over->queue, bench_key(&over->items, i)));
    }
}

/* What tells one item from another at no cost: an address, or the length of a text. */
static uint64_t mark(struct weir_key key)
{
    return key.size == WEIR_KEY_ITEM ? (uintptr_t)key.data : key.size;
}

static void expect_shutdown(enum weir_status status)
{
    if (status != WEIR_ESHUTDOWN) {
        bench_fail("get: %s", weir_status_name((int)status));
    }
}

static void consume(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t count = 0;
    uint64_t sum = 0;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(over->queue, &work)) == WEIR_OK) {
        count++;
        sum += mark(work.key);
        BENCH_OK(weir_queue_done(over->queue, &work));
    }
    expect_shutdown(status);
    over->sides[number] = (struct side){.count = count, .sum = sum};
}

static void consume_fused(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t count = 0;
    uint64_t sum = 0;
    struct weir_work work;
    enum weir_status status = weir_queue_get(over->queue, &work);
    while (status == WEIR_OK) {
        count++;
        sum += mark(work.key);
        status = weir_queue_done_get(over->queue, &work);
    }
    expect_shutdown(status);
    over->sides[number] = (struct side){.count = count, .sum = sum};
}

static void consume_batches(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t count = 0;
    uint64_t sum = 0;
    struct weir_work works[BENCH_BATCH_SIZE];
    size_t got = 0;
    enum weir_status status;
    while ((status = weir_queue_get_batch(over->queue, works, BENCH_BATCH_SIZE, &got)) == WEIR_OK) {
        for (size_t i = 0; i < got; i++) {
            sum += mark(works[i].key);
        }
        count += got;
        BENCH_OK(weir_queue_done_batch(over->queue, works, got));
    }
    expect_shutdown(status);
    over->sides[number] = (struct side){.count = count, .sum = sum};
}

static void check(const struct hand_over *over, size_t sides)
{
    uint64_t expected = 0;
    for (size_t i = 0; i < over->items.count; i++) {
        expected += mark(bench_key(&over->items, i));
    }
    size_t count = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < sides; i++) {
        count += over->sides[i].count;
        sum += over->sides[i].sum;
    }
    BENCH_CHECK_COUNT(count, over->items.count);
    BENCH_CHECK(sum == expected);
}

static void hand_over(struct bench_run *run)
{
    const size_t sides = bench_measurement(run)->size;
    struct hand_over over = {.queue = bench_queue_new()};
    over.share = bench_scale(run, 2000000) / sides;
    over.sides = bench_alloc(sides, sizeof(*over.sides));
    bench_items_init(&over.items, run, over.share * sides);
    struct bench_span span;
    bench_span_start(&span);
    struct bench_crowd *consumers = bench_crowd_start(run, sides,
                                                      bench_is(run, BENCH_BATCH)   ? consume_batches
                                                      : bench_is(run, BENCH_FUSED) ? consume_fused
                                                                                   : consume,
                                                      &over);
    bench_crowd_join(bench_crowd_start(run, sides, produce, &over));
    weir_queue_shutdown(over.queue);
    bench_crowd_join(consumers);
    bench_span_end(run, &span, over.items.count);
    check(&over, sides);
    weir_queue_free(over.queue);
    bench_items_fini(&over.items);
    bench_free(over.sides);
}

#define ROWS(workload, sides)                                                                      \
    {workload, "weir", hand_over, sides, 0},                                                       \
        {workload, "weir-fused", hand_over, sides, BENCH_FUSED},                                   \
        {workload, "weir-embedded", hand_over, sides, BENCH_EMBEDDED},                             \
        {workload, "weir-embedded-fused", hand_over, sides, BENCH_EMBEDDED | BENCH_FUSED},         \
    {                                                                                              \
        workload, "weir-embedded-batch", hand_over, sides, BENCH_EMBEDDED | BENCH_BATCH            \
    }

const struct bench_measurement bench_threads[] = {ROWS("pair", 1), ROWS("four", 4), {0}};
