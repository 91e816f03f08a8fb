/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_END_H
#define WEIRI_END_H

#include <stdbool.h>

#include <weir/end.h>
#include <weir/status.h>

/* A request to end a pool or a consumer; also what several requests come to. */
struct weiri_end {
    enum weir_end_mode mode;
    bool keeps; /* WEIR_END_KEEP */
};

/* No request: weaker than all of them. */
#define WEIRI_END_NONE ((struct weiri_end){WEIR_END_DRAIN, true})

/* What two requests come to, in whichever order they came: the greater mode, and to keep only where
 * both do. */
static inline struct weiri_end weiri_end_merge(struct weiri_end a, struct weiri_end b)
{
    return (struct weiri_end){a.mode > b.mode ? a.mode : b.mode, a.keeps && b.keeps};
}

/* The answer to a request after an end that came to the mode strongest. A drain wanted all runs
 * that were queued and a finish all that had begun; what a stop wants, a termination does too. */
static inline enum weir_status weiri_end_answer(enum weir_end_mode asked,
                                                enum weir_end_mode strongest)
{
    return asked < WEIR_END_STOP && asked < strongest ? WEIR_ECANCELED : WEIR_OK;
}

#endif
