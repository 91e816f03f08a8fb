/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/status.h>

#include "support/harness.h"

TEST(names, "each status has its name and a text of its own")
{
#define ROW(name, number, text)                                                                    \
    CHECK_INT(WEIR_##name, ==, number);                                                            \
    CHECK_STRING(weir_status_name(number), "WEIR_" #name);                                         \
    CHECK_STRING(weir_status_text(number), text);
    WEIR_STATUS_MAP(ROW)
#undef ROW
}

TEST(texts_differ, "no two statuses share a text, and none is empty or ends in a full stop")
{
    static const char *const texts[] = {
#define ROW(name, number, text) text,
        WEIR_STATUS_MAP(ROW)
#undef ROW
    };
    const size_t count = sizeof(texts) / sizeof(texts[0]);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]);
        CHECK_INT(length, >, 0);
        CHECK(texts[i][length - 1] != '.');
        for (size_t other = 0; other < i; other++) {
            CHECK(strcmp(texts[i], texts[other]) != 0);
        }
    }
}

TEST(user_statuses, "every number from WEIR_EUSER up is the user's own")
{
    CHECK_STRING(weir_status_name(WEIR_EUSER), "WEIR_EUSER");
    CHECK_STRING(weir_status_name(__INT_MAX__), "WEIR_EUSER");
    CHECK_STRING(weir_status_text(WEIR_EUSER + 5), "the task's own error");
}

TEST(unknown_statuses, "a number that is no status gets an answer all the same")
{
    static const int rows[] = {-1, -__INT_MAX__ - 1, WEIR_EUNKNOWN + 1, WEIR_EUSER - 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_STRING(weir_status_name(rows[i]), "WEIR_?");
        CHECK_STRING(weir_status_text(rows[i]), "unknown status");
    }
}
