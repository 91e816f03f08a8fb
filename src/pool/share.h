/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SHARE_H
#define WEIRI_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The chunks of a run that one hand has yet to begin: a range of their numbers. Its owner takes the
 * first, one at a time; who has none left takes the later half of another's. So nearly all takes
 * are of a word that nobody else writes, which costs a twentieth of a counter that all share, and
 * still no chunk waits behind a piece that blocks.
 *
 * The range is one word, and every change of what is left in it a compare-and-swap of the whole: so
 * each chunk is taken once. A range that has come and gone cannot come back meanwhile, because a
 * run gives each of its numbers out once. */

#define WEIRI_SHARE_CHUNKS_MAX UINT32_MAX

struct weiri_share {
    _Atomic uint64_t range;              /* the first, and in the upper half the end */
    char padding[64 - sizeof(uint64_t)]; /* nobody else's data beside what is written so often */
};

/* Sets what is in an own share that is empty, or drops what is left. */
void weiri_share_put(struct weiri_share *share, uint32_t first, uint32_t end);

/* How many chunks were in it a moment ago. */
uint32_t weiri_share_left(const struct weiri_share *share);

/* Takes the first chunk of an own share. False: there is none. */
bool weiri_share_take(struct weiri_share *share, uint32_t *ret_chunk);

/* Takes half of another's chunks, rounded up: the first of them to begin, the others into the own
 * share, which is empty. False: nothing was left. */
bool weiri_share_steal(struct weiri_share *from, struct weiri_share *own, uint32_t *ret_chunk);

#endif
