/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_PEERS_H
#define WEIR_BENCH_PEERS_H

#include "bench/support/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peers from Debian. Each table exists where BENCH_HAVE_... is defined by the build. */

extern const struct bench_measurement bench_glib[];
extern const struct bench_measurement bench_tbb[];
extern const struct bench_measurement bench_moodycamel[];
extern const struct bench_measurement bench_glib_pool[];
extern const struct bench_measurement bench_libuv_pool[];
extern const struct bench_measurement bench_tbb_pool[];
extern const struct bench_measurement bench_tbb_parallel[];

#ifdef __cplusplus
}
#endif

#endif
