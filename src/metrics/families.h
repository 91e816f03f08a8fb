/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FAMILIES_H
#define WEIRI_FAMILIES_H

#include <stddef.h>
#include <stdint.h>

#include "metrics/sample.h"
#include "metrics/text.h"

/* Writes families of metrics: a table of families, and the parts of their lines. */

/* Writes one family's lines of one source, given the family's name. */
typedef void weiri_lines_fn(struct weiri_text *text, const char *family,
                            const struct weiri_named_sample *named);

struct weiri_family {
    const char *name;
    const char *help;
    const char *type;
    weiri_lines_fn *lines; /* NULL: one line, with the count at offset of the sample */
    size_t offset;
};

/* Writes families, each with the lines of all samples; nothing where there are no samples. */
void weiri_families_write(struct weiri_text *text, const struct weiri_family *families,
                          size_t family_count, const struct weiri_named_sample *samples,
                          size_t count);

/* A label besides the name; NULL where there is none. */
struct weiri_label {
    const char *name;
    const char *value;
};

/* family{name="...", up to and with the space before the value. suffix comes after the family's
 * name. */
void weiri_line_begin(struct weiri_text *text, const char *family, const char *suffix,
                      const char *name, const struct weiri_label *label);
/* Whole lines. */
void weiri_line_count(struct weiri_text *text, const char *family, const char *name,
                      const struct weiri_label *label, uint64_t count);
void weiri_line_seconds(struct weiri_text *text, const char *family, const char *name,
                        weiri_wide duration_ns);

#endif
