/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_FAMILIES_H
#define WEIRI_POOL_FAMILIES_H

#include <stddef.h>

#include "metrics/sample.h"
#include "metrics/text.h"

/* Writes the families of pools; nothing where there are no samples. */
void weiri_pool_families_write(struct weiri_text *text, const struct weiri_named_sample *samples,
                               size_t count);

#endif
