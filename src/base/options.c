/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <string.h>

enum weir_status weiri_options_copy(void *dst, size_t dst_size, const void *src)
{
    memset(dst, 0, dst_size);
    if (src != NULL) {
        size_t src_size;
        memcpy(&src_size, src, sizeof(src_size));
        /* The size of every version of a struct is a multiple of a word. */
        if (src_size < sizeof(src_size) || src_size > 4096 || src_size % sizeof(src_size) != 0) {
            return WEIR_EINVAL;
        }
        for (size_t i = dst_size; i < src_size; i++) {
            if (((const unsigned char *)src)[i] != 0) {
                return WEIR_EINVAL;
            }
        }
        memcpy(dst, src, src_size < dst_size ? src_size : dst_size);
    }
    memcpy(dst, &dst_size, sizeof(dst_size));
    return WEIR_OK;
}
