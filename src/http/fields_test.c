/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/fields.h"

#include <stdlib.h>

#include <weir/duration.h>

#include "support/harness.h"

/* The reply must be this status, with an error that has this text. */
static void check_refused(struct reply *reply, const char *text)
{
    CHECK_INT(reply->status, ==, 400);
    json_t *object = json_loadb(reply->text, reply->size, 0, NULL);
    const char *error = json_string_value(json_object_get(object, "error"));
    if (error == NULL || strstr(error, text) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in %.*s", text, (int)reply->size, reply->text);
    }
    json_decref(object);
    reply_free(reply);
}

TEST(query, "values of a query are read, refused with what was expected, or left as they were")
{
    struct target target;
    struct reply reply = {.status = 0};
    int64_t number = 7;
    int64_t ns = 8;
    bool flag = false;
    enum weir_job_state state = (enum weir_job_state)0;
    CHECK_INT(target_read(&target,
                          "/?n=12&big=1234567890123456789&neg=-1&s=buried&x=run&d=1m30s&e=&t=true",
                          ""),
              ==, TARGET_READ);
    CHECK(fields_number(&target, "absent", 1, 2, &number, &reply) && number == 7);
    CHECK(fields_number(&target, "n", 12, 12, &number, &reply) && number == 12);
    CHECK(!fields_number(&target, "n", 13, 99, &number, &reply) && number == 12);
    check_refused(&reply, "n: 12: expected a whole number from 13 to 99");
    CHECK(!fields_number(&target, "big", 0, INT64_MAX, &number, &reply));
    check_refused(&reply, "big: ");
    CHECK(!fields_number(&target, "neg", 0, 9, &number, &reply));
    check_refused(&reply, "neg: -1");
    CHECK(!fields_number(&target, "e", 0, 9, &number, &reply));
    check_refused(&reply, "e: ");
    CHECK(fields_duration(&target, "absent", &ns, &reply) && ns == 8);
    CHECK(fields_duration(&target, "d", &ns, &reply) && ns == WEIR_SECONDS(90));
    CHECK(!fields_duration(&target, "x", &ns, &reply));
    check_refused(&reply, "x: run: expected a duration");
    CHECK(fields_state(&target, "s", &state, &reply) && state == WEIR_JOB_BURIED);
    CHECK(!fields_state(&target, "x", &state, &reply) && state == WEIR_JOB_BURIED);
    check_refused(&reply, "expected one of delayed, ready, reserved, buried");
    CHECK(fields_flag(&target, "t", &flag, &reply) && flag);
    CHECK(!fields_flag(&target, "e", &flag, &reply));
    check_refused(&reply, "expected true or false");
    static const char *const names[] = {"n", "big", "neg", "s", "x", "d", "e", NULL};
    CHECK(!fields_check(&target, names, &reply));
    check_refused(&reply, "t: unknown field");
    target_free(&target);
}

TEST(objects, "a body is one object without unknown or repeated members")
{
    static const char *const names[] = {"a", NULL};
    static const char *const bad[] = {"[]",
                                      "1",
                                      "{",
                                      "{\"a\":1}x",
                                      "{\"b\":1}",
                                      "{\"a\":1,\"a\":1}",
                                      "{\"a\":\"\\u0000\"}",
                                      "\"\xff\"",
                                      "nul"};
    struct reply reply = {.status = 0};
    json_t *object = fields_object("", 0, names, &reply);
    CHECK_INT(json_object_size(object), ==, 0);
    CHECK(object != NULL);
    json_decref(object);
    object = fields_object("{\"a\":1}", 7, names, &reply);
    CHECK_INT(json_integer_value(json_object_get(object, "a")), ==, 1);
    json_decref(object);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (fields_object(bad[i], strlen(bad[i]), names, &reply) != NULL) {
            test_fail(__FILE__, __LINE__, "%s was read", bad[i]);
        }
        check_refused(&reply, "body");
    }
}

TEST(members, "members of other types or out of range are refused")
{
    struct reply reply = {.status = 0};
    json_t *object =
        json_loads("{\"n\":3,\"r\":1.5,\"s\":\"x\",\"d\":\"2s\",\"t\":\"@5\",\"z\":null}", 0, NULL);
    const char *text = NULL;
    int64_t number = 0;
    CHECK(member_string(object, "absent", &text, &reply) && text == NULL);
    CHECK(member_string(object, "s", &text, &reply) && strcmp(text, "x") == 0);
    CHECK(!member_string(object, "n", &text, &reply));
    check_refused(&reply, "n: expected a string");
    CHECK(!member_string(object, "z", &text, &reply));
    check_refused(&reply, "z: expected a string");
    CHECK(member_number(object, "n", 3, 3, &number, &reply) && number == 3);
    CHECK(!member_number(object, "n", 4, 5, &number, &reply));
    check_refused(&reply, "from 4 to 5");
    CHECK(!member_number(object, "r", 0, 5, &number, &reply));
    check_refused(&reply, "r: ");
    CHECK(member_duration(object, "d", 1, &number, &reply) && number == WEIR_SECONDS(2));
    CHECK(!member_duration(object, "d", WEIR_SECONDS(3), &number, &reply));
    check_refused(&reply, "d: 2s");
    CHECK(!member_duration(object, "s", 1, &number, &reply));
    check_refused(&reply, "s: x: expected a duration");
    CHECK(member_time(object, "t", &number, &reply) && number == WEIR_SECONDS(5));
    CHECK(!member_time(object, "s", &number, &reply));
    check_refused(&reply, "s: x: expected a time");
    json_decref(object);
}

TEST(errors, "an error shows foreign bytes escaped, and is always JSON")
{
    struct reply reply = {.status = 0};
    reply_error(&reply, 400, "%s", "a\x01\"\xff\xe2\x82<b>");
    json_t *object = json_loadb(reply.text, reply.size, 0, NULL);
    CHECK(object != NULL);
    CHECK(strpbrk(json_string_value(json_object_get(object, "error")), "\x01\xff") == NULL);
    json_decref(object);
    reply_free(&reply);
    CHECK_INT(reply_code(WEIR_OK), ==, 200);
    CHECK_INT(reply_code(WEIR_ENOTFOUND), ==, 404);
    CHECK_INT(reply_code(WEIR_EUNAVAILABLE), ==, 503);
    CHECK_INT(reply_code(WEIR_ECORRUPT), ==, 500);
}
