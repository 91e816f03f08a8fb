/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_NEAREST_H
#define WEIRI_CLI_NEAREST_H

#include <stddef.h>

/* Finds the name that a mistyped word was meant to be. Start with *nearest NULL and *distance
 * NEAREST_LIMIT, offer every name; *nearest is then the first of the closest, or NULL. */
#define NEAREST_LIMIT 3

void nearest_offer(const char *word, const char *name, const char **nearest, size_t *distance);

#endif
