/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "view/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/harness.h"

static void check_escape(const char *data, size_t size, const char *expected)
{
    char *escaped = text_escape(data, size);
    CHECK(escaped != NULL);
    CHECK_STRING(escaped, expected);
    free(escaped);
}

#define CHECK_ESCAPE(literal, expected) check_escape(literal, sizeof(literal) - 1, expected)

TEST(plain, "text that is fit to be shown stays as it is")
{
    CHECK_ESCAPE("", "");
    CHECK_ESCAPE("a job, 100% #1", "a job, 100% #1");
    CHECK_ESCAPE("gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x90\x9f",
                 "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x90\x9f");
}

TEST(control, "control characters cannot reach the terminal")
{
    CHECK_ESCAPE("a\nb\tc\rd", "a\\nb\\tc\\rd");
    CHECK_ESCAPE("\033[2J\a\x7f", "\\x1b[2J\\x07\\x7f");
    CHECK_ESCAPE("nul\0nul", "nul\\x00nul");
    /* U+009B is CSI; U+202E turns the text around; U+2028 ends a line; U+FEFF is invisible. */
    CHECK_ESCAPE("\xc2\x9b", "\\xc2\\x9b");
    static const char turned[] = {(char)0xe2, (char)0x80, (char)0xae};
    check_escape(turned, sizeof(turned), "\\xe2\\x80\\xae");
    CHECK_ESCAPE("\xe2\x80\xa8", "\\xe2\\x80\\xa8");
    CHECK_ESCAPE("\xef\xbb\xbf", "\\xef\\xbb\\xbf");
}

static void check_message(const char *message, size_t size, const char *expected)
{
    char line[200];
    size_t length = text_escape_message(message, line, size);
    CHECK_STRING(line, expected);
    CHECK_INT(length, ==, strlen(expected));
}

TEST(message, "a message keeps its quotation marks, and no control character of C0 or C1 is left")
{
    check_message("\"a\\n\": gr\xc3\xbc\xc3\x9f", 200, "\"a\\n\": gr\xc3\xbc\xc3\x9f");
    check_message("a\033[2J\n\x7f", 200, "a\\x1b[2J\\n\\x7f");
    for (int byte = 0x80; byte <= 0x9f; byte++) {
        const char encoded[] = {'x', (char)0xc2, (char)byte, 'x', '\0'};
        const char raw[] = {'x', (char)byte, 'x', '\0'};
        char expected[32];
        (void)snprintf(expected, sizeof(expected), "x\\xc2\\x%02xx", (unsigned)byte);
        check_message(encoded, 200, expected);
        (void)snprintf(expected, sizeof(expected), "x\\x%02xx", (unsigned)byte);
        check_message(raw, 200, expected);
    }
}

TEST(long_message, "a message that is too long is cut between characters")
{
    check_message("0123456789", 11, "0123456789");
    check_message("0123456789", 10, "012345678");
    check_message("0123456\xe2\x82\xac", 10, "0123456");
    check_message("0123456\a", 11, "0123456");
}

TEST(quotes, "what escapes could be mistaken for is escaped too")
{
    CHECK_ESCAPE("\\x41 \"", "\\\\x41 \\\"");
}

TEST(invalid, "bytes that are no UTF-8 are shown one by one")
{
    CHECK_ESCAPE("\xff", "\\xff");
    CHECK_ESCAPE("\xc3", "\\xc3");
    CHECK_ESCAPE("\xc3(", "\\xc3(");
    CHECK_ESCAPE("\xc0\xaf", "\\xc0\\xaf");
    CHECK_ESCAPE("\xed\xa0\x80", "\\xed\\xa0\\x80");
    CHECK_ESCAPE("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    CHECK_ESCAPE("\xe2\x82", "\\xe2\\x82");
}

TEST(every_byte, "whatever the bytes, the result is one printable line")
{
    for (int round = 0; round < 2000; round++) {
        char data[64];
        for (size_t i = 0; i < sizeof(data); i++) {
            data[i] = (char)test_random();
        }
        char *escaped = text_escape(data, sizeof(data));
        CHECK(escaped != NULL);
        for (const char *at = escaped; *at != '\0'; at++) {
            CHECK_INT((unsigned char)*at, >=, 0x20);
            CHECK_INT((unsigned char)*at, !=, 0x7f);
        }
        free(escaped);
    }
}

static void check_base64(const char *data, size_t size, const char *expected)
{
    char *encoded = text_base64(data, size);
    CHECK(encoded != NULL);
    CHECK_STRING(encoded, expected);
    free(encoded);
}

TEST(base64, "base64 gives the vectors of RFC 4648")
{
    check_base64("", 0, "");
    check_base64("f", 1, "Zg==");
    check_base64("fo", 2, "Zm8=");
    check_base64("foo", 3, "Zm9v");
    check_base64("foob", 4, "Zm9vYg==");
    check_base64("fooba", 5, "Zm9vYmE=");
    check_base64("foobar", 6, "Zm9vYmFy");
    check_base64("\xfb\xff\xfe\0", 4, "+//+AA==");
}

static bool reads_as(const char *text, const void *bytes, size_t size)
{
    char read[64];
    size_t count = 99;
    return text_read_base64(text, strlen(text), read, &count) && count == size &&
           memcmp(read, bytes, size) == 0;
}

TEST(base64_read, "base64 is read back, with all lengths of padding and each byte")
{
    char bytes[256];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(unsigned char)i;
    }
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        char read[512];
        size_t count = 0;
        char *text = text_base64(bytes, size);
        CHECK(text_read_base64(text, strlen(text), read, &count));
        CHECK_INT(count, ==, size);
        CHECK_INT(memcmp(read, bytes, size), ==, 0);
        free(text);
    }
    CHECK(reads_as("", "", 0));
    CHECK(reads_as("YQ==", "a", 1));
}

TEST(base64_refused, "what is not base64 with padding is refused")
{
    static const char *const texts[] = {"Y",    "YQ",   "YQ=",  "YQ==YQ==", "====", "=Q==",
                                        "Y===", "YQ=a", "YR==", "YWJ=",     "Y Q=", "YQ\n="};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (reads_as(texts[i], "", 0) || reads_as(texts[i], "a", 1)) {
            test_fail(__FILE__, __LINE__, "%s was read", texts[i]);
        }
        char read[64];
        size_t count = 0;
        CHECK(!text_read_base64(texts[i], strlen(texts[i]), read, &count));
    }
}
