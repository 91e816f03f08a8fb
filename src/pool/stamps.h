/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_STAMPS_H
#define WEIRI_STAMPS_H

#include <stddef.h>

#include <weir/stamp.h>

#include "base/options.h"

/* The inside of a stamp: the chain from an index on, which counts the pool's stamps before the
 * envelope's. Each link is made on the worker's stack when it is called, so that the two arrays are
 * never joined, and nothing is written that two workers share. */
struct weir_next {
    weir_context *context;
    size_t index;
};

/* Checks stamps of options. WEIR_EINVAL, WEIR_ERANGE. */
WEIR_NODISCARD enum weir_status weiri_stamps_check(const struct weir_stamp *stamps, size_t count);

/* Runs the task of the context's envelope inside its stamps; their status. */
int weiri_stamps_run(weir_context *context);

#endif
