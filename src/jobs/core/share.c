/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/share.h"

size_t weiri_share_pick(struct weiri_share *shares, size_t count)
{
    size_t picked = count;
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!shares[i].may) {
            shares[i].credit = 0;
            continue;
        }
        shares[i].credit += shares[i].weight;
        total += shares[i].weight;
        if (picked == count || shares[i].credit > shares[picked].credit) {
            picked = i;
        }
    }
    if (picked < count) {
        shares[picked].credit -= total;
    }
    return picked;
}
