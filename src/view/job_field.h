/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_JOB_FIELD_H
#define WEIRI_VIEW_JOB_FIELD_H

#include <stdbool.h>
#include <string.h>

#include <weir/feature.h>

/* The texts among the fields of a job (weir_job_fields()). */

static inline bool job_field_is_text(const struct weir_job_field *field)
{
    return field->kind <= WEIR_FIELD_UNIQUE;
}

/* NULL: the job has none. */
static inline const char *job_field_text(const struct weir_job_field *field,
                                         const struct weir_job *job)
{
    const char *text;
    memcpy(&text, (const char *)job + field->job_offset, sizeof(text));
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Adds their names to those that are there, of which count - 1 at most there are then. */
static inline void job_field_names(const char *names[], size_t count)
{
    size_t i = 0;
    while (names[i] != NULL) {
        i++;
    }
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        if (job_field_is_text(field) && i < count - 1) {
            names[i++] = field->name;
        }
    }
}

/* Borrows the text. */
static inline void job_field_set(const struct weir_job_field *field,
                                 struct weir_put_options *options, const char *text)
{
    memcpy((char *)options + field->put_offset, &text, sizeof(text));
}

#endif
