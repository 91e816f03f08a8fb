/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* `weir doctor`: findings, and how it ends. */

static void check_doctor(int code, const char *part)
{
    struct ended ended = program_run(WORDS("doctor"));
    CHECK_INT(ended.code, ==, code);
    CHECK_STRING(ended.err, "");
    if (strstr(ended.out, part) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", part, ended.out);
    }
    ended_free(&ended);
}

TEST(sound, "a store in order ends it with 0, and is left as it was")
{
    program_init();
    WEIR(0, "put", "t", "a");
    char *before = tree_describe(".", false);
    struct ended ended = WEIR_EXPECT(0, "doctor");
    CHECK(strstr(ended.out, "problem") == NULL);
    CHECK(ended.out_size > 0);
    ended_free(&ended);
    char *after = tree_describe(".", false);
    CHECK_STRING(after, before);
    free(before);
    free(after);
}

/* For the jobs of the store. */
static void let_an_hour_pass(void)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "UPDATE jobs SET run_at = run_at - 3600000000000", NULL, NULL, NULL),
              ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

TEST(findings, "buried jobs, and ready ones that nobody takes, end it with 1 and what to do")
{
    program_init();
    WEIR(0, "put", "bad", "b");
    WEIR(1, "work", "-e", "--attempts", "1", "bad", "--", "false");
    check_doctor(1, "problem: buried: bad: 1 buried; the first one: \"attempt 1: exit status 1\"\n"
                    "    `weir ls TUBE --state buried` shows them; then `weir kick`, or");
    WEIR(0, "rm", "--tube", "bad", "--state", "buried", "--yes");
    WEIR(0, "put", "idle", "a");
    let_an_hour_pass();
    check_doctor(1, "problem: idle: idle: 1 ready, the first one for 60 minutes, and none");
    WEIR(0, "pause", "idle");
    struct ended ended = WEIR_EXPECT(0, "doctor");
    CHECK(strstr(ended.out, "problem") == NULL);
    ended_free(&ended);
}

TEST(json, "a finding is an object a line, with stable names")
{
    program_init();
    WEIR(0, "put", "bad", "b");
    WEIR(0, "bury", "--reason", "why", "1");
    struct ended ended = WEIR_EXPECT(1, "doctor", "--json");
    CHECK(strstr(ended.out,
                 "{\"finding\":\"buried\",\"level\":\"problem\",\"subject\":\"bad\","
                 "\"text\":\"1 buried; the first one: \\\"why\\\"\",\"advice\":\"") != NULL);
    ended_free(&ended);
}

TEST(refused, "what is no broker, or none that is there, is refused as by any command")
{
    program_init();
    WEIR(66, "doctor");
    WEIR(0, "put", "t", "a");
    WEIR(64, "doctor", "t");
    WEIR(64, "doctor", "--broker", "nonsense");
    write_file("other.db", "text", 4, 0600);
    WEIR(65, "doctor", "--broker", "sqlite:other.db");
}
