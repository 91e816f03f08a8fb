/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_SHARE_H
#define WEIRI_CORE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose turn it is among tubes with weights: smooth weighted round robin. At each turn every
 * candidate gains its weight, and the one that is picked pays the sum of all. It has at least the
 * average credit, so that none is a whole turn ahead of its share, and turns are spread. */

struct weiri_share {
    uint32_t weight;
    bool may;       /* it is a candidate */
    int64_t credit; /* starts at 0 */
};

/* Takes a turn. Returns the one that is picked; count: there is no candidate. The credit of one
 * that is no candidate is 0 again. */
size_t weiri_share_pick(struct weiri_share *shares, size_t count);

#endif
