/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <tbb/concurrent_queue.h>

#include "bench/peers/c/hand_over.hpp"
#include "bench/peers/c/peers.h"

namespace
{

/* The one of TBB's queues that blocks; its bound is never reached. */
struct bounded_queue {
    tbb::concurrent_bounded_queue<void *> impl;
    void push(void *item)
    {
        impl.push(item);
    }
    void *pop()
    {
        void *item;
        impl.pop(item);
        return item;
    }
    bool try_pop(void *&item)
    {
        return impl.try_pop(item);
    }
};

/* The one that does not block: one thread only. */
struct spinning_queue {
    tbb::concurrent_queue<void *> impl;
    void push(void *item)
    {
        impl.push(item);
    }
    void *pop()
    {
        void *item;
        return impl.try_pop(item) ? item : nullptr;
    }
};

} // namespace

const struct bench_measurement bench_tbb[] = {
    {"embedded_cycle", "tbb-bounded", bench::cycle<bounded_queue>, 0, 0},
    {"embedded_cycle", "tbb", bench::cycle<spinning_queue>, 0, 0},
    {"pair", "tbb", bench::hand_over_plain<bounded_queue>, 1, 0},
    {"four", "tbb", bench::hand_over_plain<bounded_queue>, 4, 0},
    {},
};
