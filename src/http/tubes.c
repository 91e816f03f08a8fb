/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/tubes.h"

#include <stdlib.h>

static int keep(const struct weir_tube_counts *counts, void *arg)
{
    struct tubes *tubes = arg;
    if (tubes->count == tubes->capacity) {
        size_t capacity = tubes->capacity == 0 ? 16 : 2 * tubes->capacity;
        struct weir_tube_counts *grown = realloc(tubes->counts, capacity * sizeof(*grown));
        if (grown == NULL) {
            tubes_free(tubes);
            return 1;
        }
        tubes->counts = grown;
        tubes->capacity = capacity;
    }
    tubes->counts[tubes->count++] = *counts;
    return 0;
}

enum weir_status tubes_read(struct tubes *tubes, weir_broker *broker, struct weir_error *ret_error)
{
    struct weir_tube_counts *first = realloc(tubes->counts, 16 * sizeof(*first));
    if (first == NULL) {
        return WEIR_ENOMEM;
    }
    *tubes = (struct tubes){.counts = first, .capacity = 16};
    enum weir_status status = weir_broker_tubes(broker, NULL, keep, tubes, ret_error);
    return status == WEIR_OK && tubes->counts == NULL ? WEIR_ENOMEM : status;
}

void tubes_free(struct tubes *tubes)
{
    free(tubes->counts);
    *tubes = (struct tubes){.counts = NULL};
}
