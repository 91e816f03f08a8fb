/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_NEAREST_H
#define WEIRI_CLI_NEAREST_H

#include <stddef.h>

/* Finds the name nearest to a mistyped word. Start with *nearest NULL and *distance NEAREST_LIMIT,
 * and call it with every name. *nearest is then the first of the closest names, or NULL. */
#define NEAREST_LIMIT 3

void nearest_offer(const char *word, const char *name, const char **nearest, size_t *distance);

#endif
