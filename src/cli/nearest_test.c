/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/nearest.h"

#include "support/harness.h"

static const char *find(const char *word)
{
    static const char *const names[] = {"put", "work", "stats", "peek", "help"};
    const char *nearest = NULL;
    size_t distance = NEAREST_LIMIT;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        nearest_offer(word, names[i], &nearest, &distance);
    }
    return nearest != NULL ? nearest : "none";
}

TEST(slips, "a slip of the finger finds the name that was meant")
{
    CHECK_STRING(find("wrok"), "work");
    CHECK_STRING(find("stat"), "stats");
    CHECK_STRING(find("sttas"), "stats");
    CHECK_STRING(find("pute"), "put");
    CHECK_STRING(find("pek"), "peek");
    CHECK_STRING(find("hepl"), "help");
}

TEST(others, "another word finds none")
{
    CHECK_STRING(find("frobnicate"), "none");
    CHECK_STRING(find("xyz"), "none");
    CHECK_STRING(find(""), "none");
    CHECK_STRING(find("wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwork"), "none");
}
