/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_LIMITS_H
#define WEIR_BENCH_LIMITS_H

#include "bench/support/bench.h"

/* What the machine allows, measured in the same run as weir and its peers. */

extern const struct bench_measurement bench_machine[];
extern const struct bench_measurement bench_futex[];

#endif
