/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <glib.h>

#include "bench/peers/c/hand_over.hpp"
#include "bench/peers/c/peers.h"

namespace
{

struct async_queue {
    GAsyncQueue *impl = g_async_queue_new();
    async_queue() = default;
    async_queue(const async_queue &) = delete;
    ~async_queue()
    {
        g_async_queue_unref(impl);
    }
    void push(void *item)
    {
        g_async_queue_push(impl, item);
    }
    void *pop()
    {
        return g_async_queue_pop(impl);
    }
    bool try_pop(void *&item)
    {
        item = g_async_queue_try_pop(impl);
        return item != nullptr;
    }
};

} // namespace

const struct bench_measurement bench_glib[] = {
    {"embedded_cycle", "glib-async-queue", bench::cycle<async_queue>, 0, 0},
    {"pair", "glib-async-queue", bench::hand_over_plain<async_queue>, 1, 0},
    {"four", "glib-async-queue", bench::hand_over_plain<async_queue>, 4, 0},
    {},
};
