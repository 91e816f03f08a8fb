/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/nearest.h"

#include <string.h>

/* Names of commands and options are shorter, so no longer word is near to one. */
#define WORD_MAX 31

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The least count of insertions, deletions, changes and swaps of neighbours that turn one word into
 * the other (optimal string alignment); row i of the table is the prefix of a of length i. */
static size_t word_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t table[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a_size; i++) {
        for (size_t j = 0; j <= b_size; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t change = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            table[i][j] = least(change, least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return table[a_size][b_size];
}

void nearest_offer(const char *word, const char *name, const char **nearest, size_t *distance)
{
    size_t word_size = strlen(word);
    size_t name_size = strlen(name);
    if (word_size == 0 || word_size > WORD_MAX || name_size > WORD_MAX) {
        return;
    }
    size_t found = word_distance(word, word_size, name, name_size);
    /* A short name with half of it changed is another word, not a typing error. */
    if (found < *distance && found * 2 <= name_size) {
        *distance = found;
        *nearest = name;
    }
}
