/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CRON_H
#define WEIRI_CRON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/cron.h>

#include "cron/zone.h"

/* A piece of the text. */
struct weiri_cron_piece {
    size_t offset;
    size_t length;
};

/* A text that has been read: a set of labels (cron/zone.h), and the name of a zone. Bit n of a mask
 * is set if the value n matches. */
struct weiri_cron_fields {
    uint64_t seconds, minutes;
    uint32_t hours;
    uint32_t days;     /* of the month, from bit 1 */
    uint16_t months;   /* from bit 1 */
    uint8_t weekdays;  /* bit 0: Sunday; bit 7 is unused */
    bool either_day;   /* the day of the month or the day of the week is enough */
    bool is_real_time; /* each time at which clocks show a label fires, else each label once */
    int64_t every_ns;  /* > 0: the members above are unused */
    struct weiri_cron_piece zone; /* length 0: the text names none */
};

/* Immutable except for the references. */
struct weir_cron {
    struct weir_allocator allocator;
    atomic_size_t references;
    struct weiri_cron_fields fields;
    struct weiri_zone *zone;
};

/* Takes one more reference and returns cron, of which the caller has one. Takes NULL. */
weir_cron *weiri_cron_ref(weir_cron *cron);

/* Reads a text. Sets error on failure. Errors: WEIR_EINVAL, WEIR_ERANGE, WEIR_ETOOBIG, as
 * weir_cron_new(). */
WEIR_NODISCARD enum weir_status weiri_cron_parse(const char *text, uint32_t flags,
                                                 struct weiri_cron_fields *ret_fields,
                                                 struct weir_error *error);

/* Fills error: what is wrong, the piece of length bytes (0: it is missing), its offset in the text
 * (NULL: it is not in the text), and what was expected. Shows the first 40 bytes of the piece, "?"
 * for each that is not printable ASCII. */
void weiri_cron_explain(struct weir_error *error, const char *what, const char *piece,
                        size_t length, const size_t *offset, const char *expected);

#define WEIRI_LABEL_NEVER INT64_MAX

/* The first label that matches, not before from_s. WEIRI_LABEL_NEVER: none before the end of all
 * zones. */
int64_t weiri_cron_label(const struct weiri_cron_fields *fields, int64_t from_s);

/* The first firing after a time; WEIR_FOREVER: never. */
int64_t weiri_cron_after(const weir_cron *cron, int64_t after_ns);

#endif
