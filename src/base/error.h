/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ERROR_H
#define WEIRI_ERROR_H

#include <stdint.h>

#include <weir/status.h>

/* Empties ret_error (may be NULL). */
void weiri_error_clear(struct weir_error *ret_error);

/* Writes a message into ret_error (may be NULL) as one printable line, and returns status. Control
 * characters, which a path or URL may contain, become '?'. */
enum weir_status weiri_fail(struct weir_error *ret_error, enum weir_status status,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns status. Where it is a failure of which nothing has been said, says what it means. */
enum weir_status weiri_explain(struct weir_error *ret_error, enum weir_status status);

/* Whether least <= value <= most; a text of the number's name and value, and WEIR_ERANGE, if not.
 */
WEIR_NODISCARD enum weir_status weiri_check_number(const char *name, int64_t value, int64_t least,
                                                   int64_t most, struct weir_error *ret_error);

/* WEIR_EINVAL, and a text, where the value of this name is not one of 0 to most. */
WEIR_NODISCARD enum weir_status weiri_check_choice(const char *name, int64_t value, int64_t most,
                                                   struct weir_error *ret_error);

/* WEIR_EINVAL, and a text, where an unknown flag is set. */
WEIR_NODISCARD enum weir_status weiri_check_flags(uint32_t flags, uint32_t known,
                                                  struct weir_error *ret_error);

/* WEIR_EINVAL, and a text, where the pointer of this name is NULL. */
WEIR_NODISCARD static inline enum weir_status weiri_check_given(const char *name,
                                                                const void *pointer,
                                                                struct weir_error *ret_error)
{
    if (pointer == NULL) {
        (void)weiri_fail(ret_error, WEIR_EINVAL, "%s is NULL", name);
        return WEIR_EINVAL;
    }
    return WEIR_OK;
}

#endif
