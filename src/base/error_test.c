/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <string.h>

#include "support/harness.h"

TEST(words, "a refusal names the member, its value and what was expected; a success says nothing")
{
    struct weir_error error = {.text = "before", .offset = 3, .length = 4};
    weiri_error_clear(&error);
    CHECK_STRING(error.text, "");
    CHECK_INT(error.offset + error.length, ==, 0);
    CHECK_STATUS(weiri_check_number("n", 5, 5, 5, &error), WEIR_OK);
    CHECK_STATUS(weiri_check_choice("e", 2, 2, &error), WEIR_OK);
    CHECK_STATUS(weiri_check_flags(3, 7, &error), WEIR_OK);
    CHECK_STATUS(weiri_check_given("p", &error, &error), WEIR_OK);
    CHECK_STATUS(weiri_explain(&error, WEIR_OK), WEIR_OK);
    CHECK_STRING(error.text, "");
    CHECK_STATUS(weiri_check_choice("e", -1, 2, &error), WEIR_EINVAL);
    CHECK_STATUS(weiri_check_choice("e", 3, 2, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "e is 3: expected one of 0 to 2");
    CHECK_STATUS(weiri_check_number("n", 4, 5, 9, &error), WEIR_ERANGE);
    CHECK_STRING(error.text, "n is 4: expected 5 to 9");
    CHECK_STATUS(weiri_check_number("n", -1, 0, INT64_MAX, &error), WEIR_ERANGE);
    CHECK_STRING(error.text, "n is -1: expected 0 or more");
    CHECK_STATUS(weiri_check_flags(9, 3, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "flags is 0x9: expected only bits of 0x3");
    CHECK_STATUS(weiri_check_given("p", NULL, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "p is NULL");
}

TEST(explained, "what nobody has said is said by the status; what was said stays")
{
    struct weir_error error = {0};
    CHECK_STATUS(weiri_explain(&error, WEIR_ENOMEM), WEIR_ENOMEM);
    CHECK_STRING(error.text, weir_status_text(WEIR_ENOMEM));
    CHECK_STATUS(weiri_explain(&error, WEIR_EIO), WEIR_EIO);
    CHECK_STRING(error.text, weir_status_text(WEIR_ENOMEM));
}

TEST(one_line, "control characters are not printed, and a long text is cut")
{
    struct weir_error error;
    char large[2 * sizeof(error.text)];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    error.offset = 7;
    error.length = 8;
    CHECK_STATUS(weiri_fail(&error, WEIR_EIO, "%s", "a\nb\x7f\x1b"), WEIR_EIO);
    CHECK_INT(error.offset + error.length, ==, 0);
    CHECK_STRING(error.text, "a?b??");
    CHECK_STATUS(weiri_fail(&error, WEIR_EIO, "%s", large), WEIR_EIO);
    CHECK_INT(strlen(error.text), ==, sizeof(error.text) - 1);
}

TEST(unwanted, "where nobody wants the words the status is all")
{
    weiri_error_clear(NULL);
    CHECK_STATUS(weiri_fail(NULL, WEIR_EIO, "%d", 1), WEIR_EIO);
    CHECK_STATUS(weiri_explain(NULL, WEIR_ENOMEM), WEIR_ENOMEM);
    CHECK_STATUS(weiri_check_number("n", 1, 2, 3, NULL), WEIR_ERANGE);
    CHECK_STATUS(weiri_check_flags(1, 0, NULL), WEIR_EINVAL);
    CHECK_STATUS(weiri_check_given("p", NULL, NULL), WEIR_EINVAL);
}
