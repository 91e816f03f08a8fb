/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_JOBS_URL_H
#define WEIRI_JOBS_URL_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>

/* A broker's URL: `sqlite:PATH`, or `beanstalk://NODE,NODE...`, of which the backend reads the
 * rest. Of SQLite's: What is between the colon and a `?` is the path, byte for byte; what other
 * URLs would mean by `//` and `#` is refused rather than taken for a part of a name. */
struct weiri_url {
    const char *scheme; /* points into the text; not ended by a NUL */
    size_t scheme_size;
    const char *location; /* points into the text; ended by a NUL, or by options */
    size_t location_size;
    uint32_t durability; /* of enum weir_durability; 0: not said */
    uint32_t flags;      /* of enum weir_broker_flags */
};

/* Errors: WEIR_EINVAL; ret_error names the piece and its offset. */
WEIR_NODISCARD enum weir_status weiri_url_parse(const char *text, struct weiri_url *ret_url,
                                                struct weir_error *ret_error);

/* The ending by which a path would be that of a file beside a store; NULL: it has none. */
const char *weiri_url_reserved_ending(const char *path, size_t length);

#endif
