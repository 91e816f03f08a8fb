/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/peers/c/peers.h"
#include "bench/pool/letters.h"
#include "bench/pool/parallel.h"
#include "bench/pool/pool.h"

/* bench_pool: the pool floor and the pools it is compared with. */

static const char *const missing[] = {
#ifndef BENCH_HAVE_GLIB
    "peer GLib (libglib2.0-dev, a C++ compiler)",
#endif
#ifndef BENCH_HAVE_LIBUV
    "peer libuv (libuv1-dev)",
#endif
#ifndef BENCH_HAVE_TBB
    "peer oneTBB (libtbb-dev, a C++ compiler)",
#endif
    NULL,
};

static const struct bench_measurement *const tables[] = {
    bench_pools,
    bench_stages,
    bench_sends,
    bench_shares,
    bench_periodic,
    bench_parallel,
#ifdef BENCH_HAVE_GLIB
    bench_glib_pool,
#endif
#ifdef BENCH_HAVE_LIBUV
    bench_libuv_pool,
#endif
#ifdef BENCH_HAVE_TBB
    bench_tbb_pool,
    bench_tbb_parallel,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, tables, missing);
}
