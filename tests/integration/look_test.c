/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* `weir stats` and `weir ls`: looking without touching. */

/* The n-th line of text as an object, to be given back by json_decref(). */
static json_t *line_object(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text = strchr(text, '\n');
        CHECK(text != NULL);
        text++;
    }
    json_t *object = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    CHECK(json_is_object(object));
    return object;
}

static const char *text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    CHECK(json_is_string(value));
    return json_string_value(value);
}

static int64_t number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n' ? 1 : 0;
    }
    return count;
}

/* One job in every state but reserved, and a second tube. */
static void fill(void)
{
    program_init();
    WEIR(0, "put", "img", "fails");
    WEIR(1, "work", "--until-empty", "--attempts", "1", "img", "--", "sh", "-c", "exit 3");
    WEIR(0, "put", "--delay", "1h", "img", "waits");
    WEIR(0, "put", "img", "first");
    WEIR(0, "put", "--priority", "-7", "--ttr", "90s", "img", "urgent");
    WEIR(0, "put", "mail", "other");
}

TEST(stats_table, "stats counts the jobs of every tube, in order of their names")
{
    fill();
    struct ended ended = WEIR_EXPECT(0, "stats");
    CHECK_STRING(ended.err, "");
    char *save = NULL;
    char *titles = strtok_r(ended.out, "\n", &save);
    char *img = strtok_r(NULL, "\n", &save);
    char *mail = strtok_r(NULL, "\n", &save);
    CHECK(strtok_r(NULL, "\n", &save) == NULL);
    CHECK(strncmp(titles, "TUBE ", 5) == 0);
    CHECK(strstr(titles, "DELAYED READY RESERVED BURIED PUT DONE FAILED RETRIED EXPIRED BURIALS") !=
          NULL);
    CHECK_STRING(strtok_r(img, " ", &save), "img");
    static const char *const expected[] = {"1", "2", "0", "1", "4", "0", "1", "0", "0", "1"};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        CHECK_STRING(strtok_r(NULL, " ", &save), expected[i]);
    }
    CHECK(strncmp(mail, "mail ", 5) == 0);
    ended_free(&ended);
}

TEST(stats_json, "--json prints an object a tube; a name limits it to that tube")
{
    fill();
    struct ended ended = WEIR_EXPECT(0, "stats", "--json");
    CHECK_INT(lines_of(ended.out), ==, 2);
    json_t *object = line_object(ended.out, 1);
    CHECK_STRING(text_of(object, "tube"), "mail");
    CHECK_INT(number_of(object, "ready"), ==, 1);
    CHECK_INT(json_object_size(object), ==, 11);
    json_decref(object);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "stats", "--json", "img");
    CHECK_INT(lines_of(ended.out), ==, 1);
    object = line_object(ended.out, 0);
    CHECK_INT(number_of(object, "buried"), ==, 1);
    CHECK_INT(number_of(object, "delayed"), ==, 1);
    json_decref(object);
    ended_free(&ended);
}

TEST(unknown_tube, "a tube that never was is an error, which names it")
{
    fill();
    struct ended ended = WEIR_EXPECT(66, "stats", "imgs");
    CHECK_STRING(ended.err, "weir stats: \"imgs\": no such tube; expected one that a job was put "
                            "into\n");
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    ended = WEIR_EXPECT(66, "ls", "--next", "imgs");
    CHECK_STRING(ended.err, "weir ls: \"imgs\": no such tube; expected one that a job was put "
                            "into\n");
    ended_free(&ended);
}

TEST(ls_next,
     "ls --next shows the facts of jobs in the order in which they would run, bodies on request")
{
    fill();
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--json", "--state", "ready", "img");
    CHECK_INT(lines_of(ended.out), ==, 2);
    json_t *object = line_object(ended.out, 0);
    CHECK_STRING(text_of(object, "tube"), "img");
    CHECK_STRING(text_of(object, "state"), "ready");
    CHECK_INT(number_of(object, "priority"), ==, -7);
    CHECK_INT(number_of(object, "ttr_ns"), ==, INT64_C(90000000000));
    CHECK_INT(number_of(object, "size"), ==, strlen("urgent"));
    CHECK_INT(number_of(object, "attempts"), ==, 0);
    CHECK(json_object_get(object, "body") == NULL);
    json_decref(object);
    ended_free(&ended);

    ended = WEIR_EXPECT(0, "ls", "--next", "--json", "--body", "--state", "buried", "img");
    CHECK_INT(lines_of(ended.out), ==, 1);
    object = line_object(ended.out, 0);
    CHECK_STRING(text_of(object, "body"), "fails");
    CHECK_STRING(text_of(object, "encoding"), "utf-8");
    CHECK_INT(number_of(object, "attempts"), ==, 1);
    CHECK(strlen(text_of(object, "reason")) > 0);
    json_decref(object);
    ended_free(&ended);
}

TEST(ls_limit, "--limit limits it; without a state those of every state are shown")
{
    fill();
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--json", "img");
    CHECK_INT(lines_of(ended.out), ==, 4);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--json", "--limit", "3", "img");
    CHECK_INT(lines_of(ended.out), ==, 3);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--state", "delayed", "mail");
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
}

TEST(ls_id, "--id shows one job; an unknown one and one that is no id are told apart")
{
    fill();
    struct ended put = WEIR_EXPECT(0, "put", "mail", "this one");
    put.out[strcspn(put.out, "\n")] = '\0';
    struct ended ended = WEIR_EXPECT(0, "ls", "--id", put.out, "--body");
    CHECK_INT(lines_of(ended.out), ==, 2);
    CHECK(strstr(ended.out, "this one") != NULL);
    ended_free(&ended);
    ended_free(&put);
    ended = WEIR_EXPECT(66, "ls", "--id", "999999");
    CHECK(strstr(ended.err, "weir ls: \"999999\": no such job") == ended.err);
    ended_free(&ended);
    ended = WEIR_EXPECT(64, "ls", "--id", "12x");
    CHECK(strstr(ended.err, "12x") != NULL);
    CHECK_INT(lines_of(ended.err), ==, 1);
    ended_free(&ended);
}

TEST(hostile_body, "no byte of a body reaches the terminal that could act on it")
{
    static const char body[] = "\033]0;title\a\033[2J\nnext \\x41 \"q\" gr\xc3\xbc\xc3\x9f \xff\0.";
    program_init();
    struct ended ended = program_run_with(body, sizeof(body) - 1, WORDS("put", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--body", "t");
    CHECK_INT(lines_of(ended.out), ==, 2);
    CHECK(strstr(ended.out,
                 "\\x1b]0;title\\x07\\x1b[2J\\nnext \\\\x41 \\\"q\\\" gr\xc3\xbc\xc3\x9f "
                 "\\xff\\x00.\n") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--body", "--json", "t");
    json_t *object = line_object(ended.out, 0);
    CHECK_STRING(text_of(object, "encoding"), "base64");
    json_decref(object);
    ended_free(&ended);
}

TEST(changes_nothing, "looking changes no count and no job")
{
    fill();
    struct ended before = WEIR_EXPECT(0, "stats", "--json");
    struct ended jobs = WEIR_EXPECT(0, "ls", "--next", "--json", "--body", "img");
    WEIR(0, "ls", "--next", "--body", "img");
    WEIR(0, "stats", "img");
    struct ended after = WEIR_EXPECT(0, "stats", "--json");
    struct ended again = WEIR_EXPECT(0, "ls", "--next", "--json", "--body", "img");
    CHECK_STRING(after.out, before.out);
    CHECK_STRING(again.out, jobs.out);
    ended_free(&before);
    ended_free(&jobs);
    ended_free(&after);
    ended_free(&again);
}
