/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <string.h>

/* `weir wait`: how jobs ended. */

TEST(ended, "jobs that are gone end it with 0, a buried one with 1 and its reason")
{
    program_init();
    WEIR(0, "put", "t", "a");
    WEIR(0, "put", "bad", "b");
    WEIR(0, "put", "t", "c");
    WEIR(0, "work", "-e", "t", "--", "true");
    WEIR(1, "work", "-e", "--attempts", "1", "bad", "--", "false");
    WEIR(0, "wait", "1", "3");
    WEIR(66, "wait", "4");
    WEIR(66, "wait", "1", "99999");
    struct ended ended = program_run(WORDS("wait", "2", "1"));
    CHECK_INT(ended.code, ==, 1);
    CHECK_STRING(ended.err, "weir wait: \"2\": buried: \"attempt 1: exit status 1\"\n");
    ended_free(&ended);
}

TEST(passes, "a job that has not ended within the time is told of with its state")
{
    program_init();
    WEIR(0, "put", "t", "a");
    WEIR(0, "put", "-d", "1h", "t", "b");
    struct ended ended = program_run(WORDS("wait", "-t", "0s", "1"));
    CHECK_INT(ended.code, ==, 75);
    CHECK_STRING(ended.err, "weir wait: \"1\": still ready when the time had passed\n");
    ended_free(&ended);
    WEIR(75, "wait", "--timeout", "50ms", "2");
}

TEST(waits, "it ends when the job does, while it waits")
{
    program_init();
    WEIR(0, "put", "t", "a");
    struct running waiting = program_start("", 0, WORDS("wait", "1"));
    WEIR(0, "work", "-e", "t", "--", "true");
    struct ended ended = program_wait(&waiting);
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.err, "");
    ended_free(&ended);
}

TEST(refused, "ids, times and stores that are none are refused")
{
    program_init();
    WEIR(64, "wait");
    WEIR(66, "wait", "1");
    WEIR(0, "put", "t", "a");
    WEIR(64, "wait", "x");
    WEIR(64, "wait", "-t", "soon", "1");
}
