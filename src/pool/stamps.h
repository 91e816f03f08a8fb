/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_STAMPS_H
#define WEIRI_STAMPS_H

#include <stddef.h>

#include <weir/stamp.h>

#include "base/options.h"

struct weiri_round;

/* Where in the chain around a task a stamp stands: what is inside it begins with the stamp of this
 * index, those of the pool counted before those of the envelope. Nothing of the chain is written
 * down: each link is made on the worker's stack when it is called, so that neither the pool's array
 * nor the envelope's is ever joined with anything (R5). */
struct weir_next {
    const struct weiri_round *round;
    size_t index;
};

/* Checks stamps of options. WEIR_EINVAL, WEIR_ERANGE. */
WEIR_NODISCARD enum weir_status weiri_stamps_check(const struct weir_stamp *stamps, size_t count);

/* Runs the task of a round inside its stamps; their status. */
int weiri_stamps_run(const struct weiri_round *round);

#endif
