/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_TUBE_NUMBER_H
#define WEIRI_VIEW_TUBE_NUMBER_H

#include <stddef.h>
#include <string.h>

#include <weir/broker.h>

/* The numbers of a tube, as JSON names them, in the order in which they are shown: in JSON, sums,
 * samples and `weir stats`. */
static const struct tube_number {
    const char *name;
    size_t offset;
} tube_numbers[] = {
#define TUBE_NUMBER(name)                                                                          \
    {                                                                                              \
#        name, offsetof(struct weir_tube_counts, name)                                             \
    }
    TUBE_NUMBER(delayed), TUBE_NUMBER(ready),   TUBE_NUMBER(reserved), TUBE_NUMBER(buried),
    TUBE_NUMBER(put),     TUBE_NUMBER(done),    TUBE_NUMBER(failed),   TUBE_NUMBER(retried),
    TUBE_NUMBER(expired), TUBE_NUMBER(burials),
#undef TUBE_NUMBER
};
#define TUBE_NUMBERS (sizeof(tube_numbers) / sizeof(tube_numbers[0]))

static inline void tube_numbers_add(uint64_t sums[TUBE_NUMBERS],
                                    const struct weir_tube_counts *counts)
{
    for (size_t i = 0; i < TUBE_NUMBERS; i++) {
        uint64_t number;
        memcpy(&number, (const char *)counts + tube_numbers[i].offset, sizeof(number));
        sums[i] += number;
    }
}

#endif
