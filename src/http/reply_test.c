/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/reply.h"

#include "support/harness.h"

TEST(stream, "what is written to the stream of a reply is its text")
{
    struct reply reply = {.status = 0};
    FILE *out = reply_open(&reply, JSON_TYPE);
    CHECK(out != NULL);
    reply_close(&reply, out, fputs("[1,2]", out) != EOF);
    CHECK_INT(reply.status, ==, 200);
    CHECK_STRING(reply.type, JSON_TYPE);
    CHECK_INT(reply.size, ==, 5);
    CHECK_INT(strncmp(reply.text, "[1,2]", 5), ==, 0);
    reply_free(&reply);
}

TEST(cut, "a stream that lacks a part makes no answer but an error, which another may replace")
{
    struct reply reply = {.status = 0};
    FILE *out = reply_open(&reply, JSON_TYPE);
    CHECK(out != NULL);
    CHECK(fputs("[1,", out) != EOF);
    reply_close(&reply, out, false);
    CHECK_INT(reply.status, ==, 503);
    CHECK(reply.text == NULL);
    CHECK_INT(reply.size, ==, 0);
    reply_status(&reply, WEIR_ECORRUPT, "tubes", NULL);
    CHECK_INT(reply.status, ==, 500);
    CHECK(reply.text != NULL);
    reply_free(&reply);
}
