/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_OPTIONS_H
#define WEIRI_OPTIONS_H

#include <stddef.h>

#include <weir/status.h>

/* Copies an options struct of any version into dst, which has dst_size bytes. A shorter src is
 * extended by zeros. A longer src (the caller is newer than the library) must be zero beyond
 * dst_size. If src is NULL, dst is all zero. Both start with a size_t size. Errors: WEIR_EINVAL. */
WEIR_NODISCARD enum weir_status weiri_options_copy(void *dst, size_t dst_size, const void *src);

#endif
