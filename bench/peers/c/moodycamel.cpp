/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "bench/peers/c/hand_over.hpp"
#include "bench/peers/c/peers.h"

namespace
{

struct camel_queue {
    moodycamel::BlockingConcurrentQueue<void *> impl;
    void push(void *item)
    {
        BENCH_CHECK(impl.enqueue(item));
    }
    void *pop()
    {
        void *item;
        impl.wait_dequeue(item);
        return item;
    }
    bool try_pop(void *&item)
    {
        return impl.try_dequeue(item);
    }
    size_t pop_batch(void **items, size_t count)
    {
        return impl.wait_dequeue_bulk(items, count);
    }
};

} // namespace

const struct bench_measurement bench_moodycamel[] = {
    {"embedded_cycle", "moodycamel", bench::cycle<camel_queue>, 0, 0},
    {"pair", "moodycamel", bench::hand_over_plain<camel_queue>, 1, 0},
    {"pair", "moodycamel-batch", bench::hand_over_batches<camel_queue>, 1, 0},
    {"four", "moodycamel", bench::hand_over_plain<camel_queue>, 4, 0},
    {"four", "moodycamel-batch", bench::hand_over_batches<camel_queue>, 4, 0},
    {},
};
