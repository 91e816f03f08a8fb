/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_HAND_OVER_HPP
#define WEIR_BENCH_HAND_OVER_HPP

#include <cstdint>
#include <vector>

#include "bench/support/bench.h"

/* The workloads of bench/queue/cycle.c and threads.c for queues of pointers that do not
 * de-duplicate. A Queue has push(void *), pop() (blocks), try_pop(void *&), and for batches
 * pop_batch(void **, size_t) (blocks). */

namespace bench
{

struct object {
    char payload[64];
};

inline char poison;

template <class Queue> void cycle(bench_run *run)
{
    struct state {
        Queue queue;
        std::vector<object> objects;
        size_t at = 0;
        size_t got = 0;
    } state;
    state.objects.resize(BENCH_HOT_KEYS);
    const size_t total = bench_scale(run, 20000000);
    bench_chunks(
        run, total,
        [](void *arg, size_t count) {
            auto *s = static_cast<struct state *>(arg);
            for (size_t i = 0; i < count; i++) {
                s->queue.push(&s->objects[s->at]);
                s->at = s->at + 1 == BENCH_HOT_KEYS ? 0 : s->at + 1;
                s->got += s->queue.pop() != nullptr;
            }
        },
        &state);
    BENCH_CHECK_COUNT(state.got, total / BENCH_CHUNKS * (BENCH_CHUNKS + 1));
}

template <class Queue> struct over {
    struct alignas(128) side {
        size_t count = 0;
        uint64_t sum = 0;
        void take(void *item)
        {
            count++;
            sum += reinterpret_cast<uintptr_t>(item);
        }
    };
    Queue queue;
    std::vector<object> objects;
    std::vector<side> sides;
    size_t share = 0;
};

template <class Queue> void produce(void *arg, size_t number)
{
    auto *o = static_cast<over<Queue> *>(arg);
    object *from = &o->objects[number * o->share];
    for (size_t i = 0; i < o->share; i++) {
        o->queue.push(from + i);
    }
}

/* A consumer ends with a poison. Where producers' items may pass each other, a poison may come
 * before the last items: they are taken then, and other consumers' poisons put back. */
template <class Queue> void finish(over<Queue> *o, typename over<Queue>::side &side)
{
    size_t others = 0;
    void *item;
    while (o->queue.try_pop(item)) {
        if (item == &poison) {
            others++;
        } else {
            side.take(item);
        }
    }
    for (; others > 0; others--) {
        o->queue.push(&poison);
    }
}

template <class Queue> void consume(void *arg, size_t number)
{
    auto *o = static_cast<over<Queue> *>(arg);
    typename over<Queue>::side side;
    void *item;
    while ((item = o->queue.pop()) != &poison) {
        side.take(item);
    }
    finish(o, side);
    o->sides[number] = side;
}

template <class Queue> void consume_batches(void *arg, size_t number)
{
    auto *o = static_cast<over<Queue> *>(arg);
    typename over<Queue>::side side;
    void *items[BENCH_BATCH_SIZE];
    bool ended = false;
    while (!ended) {
        size_t count = o->queue.pop_batch(items, BENCH_BATCH_SIZE);
        for (size_t i = 0; i < count; i++) {
            if (items[i] != &poison) {
                side.take(items[i]);
            } else if (ended) {
                o->queue.push(&poison);
            } else {
                ended = true;
            }
        }
    }
    finish(o, side);
    o->sides[number] = side;
}

template <class Queue>
void hand_over(bench_run *run, void (*consumer)(void *, size_t) = consume<Queue>)
{
    const size_t sides = bench_measurement(run)->size;
    over<Queue> o;
    o.share = bench_scale(run, 2000000) / sides;
    o.objects.resize(o.share * sides);
    o.sides.resize(sides);
    struct bench_span span;
    bench_span_start(&span);
    bench_crowd *consumers = bench_crowd_start(run, sides, consumer, &o);
    bench_crowd_join(bench_crowd_start(run, sides, produce<Queue>, &o));
    for (size_t i = 0; i < sides; i++) {
        o.queue.push(&poison);
    }
    bench_crowd_join(consumers);
    bench_span_end(run, &span, o.objects.size());
    typename over<Queue>::side all;
    uint64_t expected = 0;
    for (const auto &side : o.sides) {
        all.count += side.count;
        all.sum += side.sum;
    }
    for (const object &item : o.objects) {
        expected += reinterpret_cast<uintptr_t>(&item);
    }
    BENCH_CHECK_COUNT(all.count, o.objects.size());
    BENCH_CHECK(all.sum == expected);
}

template <class Queue> void hand_over_plain(bench_run *run)
{
    hand_over<Queue>(run);
}

template <class Queue> void hand_over_batches(bench_run *run)
{
    hand_over<Queue>(run, consume_batches<Queue>);
}

} // namespace bench

#endif
