/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_JOBS_ERROR_H
#define WEIRI_JOBS_ERROR_H

#include <weir/broker.h>

/* Writes a message into ret_error (may be NULL) as one printable line, and returns status. Control
 * characters, which a path or URL may contain, become '?'. */
enum weir_status weiri_fail(struct weir_error *ret_error, enum weir_status status,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Empties ret_error (may be NULL). */
void weiri_error_clear(struct weir_error *ret_error);

#endif
