/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void weiri_error_clear(struct weir_error *ret_error)
{
    if (ret_error != NULL) {
        ret_error->text[0] = '\0';
        ret_error->offset = 0;
        ret_error->length = 0;
    }
}

enum weir_status weiri_fail(struct weir_error *ret_error, enum weir_status status,
                            const char *format, ...)
{
    if (ret_error == NULL) {
        return status;
    }
    weiri_error_clear(ret_error);
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

enum weir_status weiri_explain(struct weir_error *ret_error, enum weir_status status)
{
    bool is_unsaid = status != WEIR_OK && ret_error != NULL && ret_error->text[0] == '\0';
    return is_unsaid ? weiri_fail(ret_error, status, "%s", weir_status_text((int)status)) : status;
}

enum weir_status weiri_check_number(const char *name, int64_t value, int64_t least, int64_t most,
                                    struct weir_error *ret_error)
{
    if (value >= least && value <= most) {
        return WEIR_OK;
    }
    return most == INT64_MAX
               ? weiri_fail(ret_error, WEIR_ERANGE,
                            "%s is %" PRId64 ": expected %" PRId64 " or more", name, value, least)
               : weiri_fail(ret_error, WEIR_ERANGE,
                            "%s is %" PRId64 ": expected %" PRId64 " to %" PRId64, name, value,
                            least, most);
}

enum weir_status weiri_check_choice(const char *name, int64_t value, int64_t most,
                                    struct weir_error *ret_error)
{
    return value >= 0 && value <= most
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_EINVAL,
                            "%s is %" PRId64 ": expected one of 0 to %" PRId64, name, value, most);
}

enum weir_status weiri_check_flags(uint32_t flags, uint32_t known, struct weir_error *ret_error)
{
    return (flags & ~known) == 0
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_EINVAL, "flags is 0x%x: expected only bits of 0x%x",
                            (unsigned)flags, (unsigned)known);
}
