/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#include <stddef.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * Why a call failed, in words. A call with a parameter ret_error, which may be NULL, fills it in
 * when it fails, with the value that was wrong, what was expected, and where. On success text is
 * "", but that calls on several ids say there why they refused one. */

/** What went wrong. Caller-owned. */
struct weir_error {
    char text[512]; /**< One printable line without a newline, NUL-terminated; "" where there is
                         nothing to say. */
    size_t offset;  /**< Of the wrong piece in the text of weir_cron_new(), in bytes; else 0. */
    size_t length;  /**< Of that piece, in bytes; 0: it is missing, or it is not in the text. */
};

WEIR_END_DECLS

#endif
