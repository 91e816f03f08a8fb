/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/error.h"

#include <stdarg.h>
#include <stdio.h>

void weiri_error_clear(struct weir_error *ret_error)
{
    if (ret_error != NULL) {
        ret_error->text[0] = '\0';
    }
}

enum weir_status weiri_fail(struct weir_error *ret_error, enum weir_status status,
                            const char *format, ...)
{
    if (ret_error == NULL) {
        return status;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(ret_error->text, sizeof(ret_error->text), format, arguments);
    va_end(arguments);
    for (char *c = ret_error->text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == '\x7f') {
            *c = '?';
        }
    }
    return status;
}
