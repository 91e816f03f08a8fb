/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/target.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/harness.h"

/* The segments and fields in one line: "a|b?n=v&m=w". To be freed. */
static char *describe(const char *raw, const char *prefix)
{
    static char line[4 * TARGET_SIZE_MAX];
    struct target target;
    CHECK_INT(target_read(&target, raw, prefix), ==, TARGET_READ);
    size_t at = 0;
    line[0] = '\0';
    for (size_t i = 0; i < target.segment_count; i++) {
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", i > 0 ? "|" : "",
                               target.segments[i]);
    }
    for (size_t i = 0; i < target.field_count; i++) {
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%c%s=%s", i > 0 ? '&' : '?',
                               target.fields[i].name, target.fields[i].value);
    }
    target_free(&target);
    return line;
}

TEST(parts,
     "path and query are taken apart, then decoded, so that an escaped slash is no separator")
{
    CHECK_STRING(describe("/", ""), "");
    CHECK_STRING(describe("/a", ""), "a");
    CHECK_STRING(describe("/a/b/", ""), "a|b");
    CHECK_STRING(describe("/a%2Fb/c%3fd", ""), "a/b|c?d");
    CHECK_STRING(describe("/a+b?c=d+e%2b", ""), "a+b?c=d e+");
    CHECK_STRING(describe("/a?b&c=&=d", ""), "a?b=&c=&=d");
    CHECK_STRING(describe("/a?", ""), "a");
    CHECK_STRING(describe("/a?b=c=d?e", ""), "a?b=c=d?e");
    CHECK_STRING(describe("/%e2%82%AC", ""), "\xe2\x82\xac");
}

TEST(prefix, "a prefix is taken off, and what is not below it is elsewhere")
{
    struct target target;
    CHECK_STRING(describe("/w/a?b=c", "/w"), "a?b=c");
    CHECK_STRING(describe("/w/", "/w"), "");
    CHECK_INT(target_read(&target, "/w", "/w"), ==, TARGET_ELSEWHERE);
    CHECK_INT(target_read(&target, "/wa", "/w"), ==, TARGET_ELSEWHERE);
    CHECK_INT(target_read(&target, "/a", "/w"), ==, TARGET_ELSEWHERE);
    CHECK_INT(target_read(&target, "/%77/a", "/w"), ==, TARGET_ELSEWHERE);
}

TEST(malformed, "what could be read in two ways is refused")
{
    static const char *const raws[] = {"",           "*",
                                       "a",          "http://h/a",
                                       "//",         "//a",
                                       "/a//b",      "/.",
                                       "/a/../b",    "/%2e%2E/a",
                                       "/a%",        "/a%2",
                                       "/a%zz",      "/a%00",
                                       "/a\x01",     "/a\x7f",
                                       "/a b",       "/a?b=%0",
                                       "/a?b=1&b=2", "/a?%62&b",
                                       "/a?b%00",    "/1/2/3/4/5/6/7/8/9"};
    for (size_t i = 0; i < sizeof(raws) / sizeof(raws[0]); i++) {
        struct target target;
        if (target_read(&target, raws[i], "") != TARGET_MALFORMED) {
            test_fail(__FILE__, __LINE__, "\"%s\" was read", raws[i]);
        }
        CHECK(target.text == NULL);
    }
}

TEST(limits, "a target has a longest size and a most of fields")
{
    static char raw[TARGET_SIZE_MAX + 2];
    struct target target;
    memset(raw, 'a', TARGET_SIZE_MAX + 1);
    raw[0] = '/';
    CHECK_INT(target_read(&target, raw, ""), ==, TARGET_TOO_LONG);
    raw[TARGET_SIZE_MAX] = '\0';
    CHECK_INT(target_read(&target, raw, ""), ==, TARGET_READ);
    target_free(&target);
    char fields[256] = "/a?";
    for (size_t i = 0; i < TARGET_FIELDS_MAX; i++) {
        (void)snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), "f%zu=1&", i);
    }
    CHECK_INT(target_read(&target, fields, ""), ==, TARGET_READ);
    CHECK_INT(target.field_count, ==, TARGET_FIELDS_MAX);
    CHECK_STRING(target_value(&target, "f15"), "1");
    CHECK(target_value(&target, "f16") == NULL);
    target_free(&target);
    (void)strcat(fields, "more=1");
    CHECK_INT(target_read(&target, fields, ""), ==, TARGET_MALFORMED);
}

TEST(random_bytes, "no bytes make it read beyond its text")
{
    for (uint64_t i = test_scaled(100000); i > 0; i--) {
        static const char alphabet[] = "/%?&=.+aF0\x01\x80 ";
        char raw[48];
        size_t size = (size_t)test_random_below(sizeof(raw));
        for (size_t j = 0; j < size; j++) {
            raw[j] = alphabet[test_random_below(sizeof(alphabet) - 1)];
        }
        raw[size] = '\0';
        char *copy = strdup(raw);
        struct target target;
        CHECK(copy != NULL);
        if (target_read(&target, copy, "") == TARGET_READ) {
            CHECK_INT(target.segment_count, <=, TARGET_SEGMENTS_MAX);
            for (size_t j = 0; j < target.segment_count; j++) {
                CHECK(target.segments[j][0] != '\0');
            }
            target_free(&target);
        }
        free(copy);
    }
}
