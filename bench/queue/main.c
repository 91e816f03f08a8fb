/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/limits/limits.h"
#include "bench/peers/c/peers.h"
#include "bench/queue/items.h"

/* bench_queue: the queue floor, the queues it is compared with, and the machine. */

static const char *const missing[] = {
#ifndef BENCH_HAVE_GLIB
    "peer GLib (libglib2.0-dev, a C++ compiler)",
#endif
#ifndef BENCH_HAVE_TBB
    "peer oneTBB (libtbb-dev, a C++ compiler)",
#endif
#ifndef BENCH_HAVE_MOODYCAMEL
    "peer moodycamel (libconcurrentqueue-dev, a C++ compiler)",
#endif
    NULL,
};

static const struct bench_measurement *const tables[] = {
    bench_machine,
    bench_cycles,
    bench_coalesced,
    bench_visited,
    bench_metered,
    bench_pending,
    bench_threads,
    bench_storms,
    bench_memory,
    bench_delays,
    bench_structures,
    bench_limiters,
    bench_wakes,
    bench_futex,
#ifdef BENCH_HAVE_GLIB
    bench_glib,
#endif
#ifdef BENCH_HAVE_TBB
    bench_tbb,
#endif
#ifdef BENCH_HAVE_MOODYCAMEL
    bench_moodycamel,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, tables, missing);
}
