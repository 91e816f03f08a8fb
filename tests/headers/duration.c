/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/duration.h>

/* Compiled for a number of either kind. */
int64_t durations[] = {WEIR_NS(NUMBER), WEIR_US(NUMBER), WEIR_MS(NUMBER), WEIR_SECONDS(NUMBER)};
