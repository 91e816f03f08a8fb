/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_TARGET_H
#define WEIRI_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* The target of a request, taken apart: the segments of its path and the fields of its query, each
 * decoded by itself, so that an encoded slash is part of a name. */

#define TARGET_SEGMENTS_MAX 8
#define TARGET_FIELDS_MAX 16
/* The longest target that is read. */
#define TARGET_SIZE_MAX 4096

struct target_field {
    const char *name;
    const char *value;
};

struct target {
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t segment_count;
    struct target_field fields[TARGET_FIELDS_MAX];
    size_t field_count;
    char *text; /* Owns all of them. */
};

enum target_result {
    TARGET_READ,
    TARGET_MALFORMED, /* It cannot be understood: 400. */
    TARGET_TOO_LONG,  /* 414 */
    TARGET_ELSEWHERE, /* It is not below the prefix: 404. */
    TARGET_NO_MEMORY
};

/* Reads a target as it stands in the request line. prefix: "" or "/name...", which is taken off.
 * Refused are all but absolute paths, empty segments but a last one, "." and "..", control bytes,
 * and escapes that are none or stand for NUL. target_free() must follow a TARGET_READ. */
enum target_result target_read(struct target *target, const char *raw, const char *prefix);
void target_free(struct target *target);

/* The value of a field of the query, NULL: it is not there. */
const char *target_value(const struct target *target, const char *name);

#endif
