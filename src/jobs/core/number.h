/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_NUMBER_H
#define WEIRI_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a decimal number of size bytes. False: no digits, another byte, or more than 64 bits. */
static inline bool weiri_number_read(const char *text, size_t size, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number)) {
            return false;
        }
    }
    *ret_number = number;
    return size > 0;
}

#endif
