/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_TUBES_H
#define WEIRI_HTTP_TUBES_H

#include <stddef.h>

#include <weir/broker.h>

/* The counts of all tubes of one moment, in the order of their names. Begins zeroed. */
struct tubes {
    struct weir_tube_counts *counts;
    size_t count;
    size_t capacity;
};

/* Reads them in place of those that are there. Errors: those of weir_broker_tubes(); WEIR_ENOMEM.
 */
enum weir_status tubes_read(struct tubes *tubes, weir_broker *broker, struct weir_error *ret_error);
void tubes_free(struct tubes *tubes);

#endif
