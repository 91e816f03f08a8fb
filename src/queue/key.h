/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_KEY_H
#define WEIRI_KEY_H

#include <stdbool.h>

#include <weir/key.h>
#include <weir/status.h>

/* Checks a caller's key, as struct weir_key says. size_max is the most bytes that the queue or the
 * limiter takes. Inline: every call with a key makes the check. */
static inline enum weir_status weiri_key_check(struct weir_key key, size_t size_max)
{
    if (key.size == WEIR_KEY_ITEM) {
        bool is_aligned = (uintptr_t)key.data % _Alignof(struct weir_item) == 0;
        return key.data != NULL && is_aligned ? WEIR_OK : WEIR_EINVAL;
    }
    if (key.size > size_max) {
        return WEIR_ETOOBIG;
    }
    return key.data != NULL || key.size == 0 ? WEIR_OK : WEIR_EINVAL;
}

#endif
