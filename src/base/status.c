/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/status.h>

static const struct {
    int number;
    const char *name;
    const char *text;
} statuses[] = {
#define ROW(name, number, text) {number, "WEIR_" #name, text},
    WEIR_STATUS_MAP(ROW)
#undef ROW
};

#define STATUS_COUNT (sizeof(statuses) / sizeof(statuses[0]))

/* The table has no gaps, so that a number is its own index. */
#define CHECK(name, number, text)                                                                  \
    _Static_assert((number) >= 0 && (number) < (int)STATUS_COUNT,                                  \
                   "gap in WEIR_STATUS_MAP at " #name);
WEIR_STATUS_MAP(CHECK)
#undef CHECK

const char *weir_status_name(int status)
{
    if (status >= WEIR_EUSER) {
        return "WEIR_EUSER";
    }
    return status >= 0 && status < (int)STATUS_COUNT ? statuses[status].name : "WEIR_?";
}

const char *weir_status_text(int status)
{
    if (status >= WEIR_EUSER) {
        return "the task's own error";
    }
    return status >= 0 && status < (int)STATUS_COUNT ? statuses[status].text : "unknown status";
}
