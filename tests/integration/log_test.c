/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <jansson.h>
#include <stdlib.h>

/* `weir log`: what the runs of a job left that failed. */

TEST(words, "log tells how each attempt ended, and its last output, which nothing is hidden in")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended =
        WEIR_EXPECT(1, "work", "-e", "--attempts", "2", "--retry-delay", "1ms", "t", "--", "sh",
                    "-c", "printf 'no \"%s\"\\033[31m\\nlast' $WEIR_ATTEMPT >&2; exit 3");
    CHECK(strstr(ended.err, "no \"2\"\033[31m\nlast") != NULL);
    CHECK(strstr(ended.err, "job 1: buried after run 2: exit status 3: last\n") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "log", "1");
    CHECK_STRING(ended.err, "");
    const char *first = strstr(ended.out, "attempt 1: retry: exit status 3: last\n  started 2");
    const char *second = strstr(ended.out, "attempt 2: buried: exit status 3: last\n  started 2");
    CHECK(first == ended.out && second != NULL);
    CHECK(strstr(first, "\n    no \"1\"\\x1b[31m\n    last\nattempt 2") != NULL);
    CHECK(strstr(second, "\n    no \"2\"\\x1b[31m\n    last\n") != NULL);
    ended_free(&ended);
}

/* Runs a program once that fails, and compares the reason that its job has then. */
static void check_reason(const char *id, const char *script, const char *reason)
{
    WEIR(0, "put", "t", "x");
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "sh", "-c", script);
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "--id", id);
    json_t *job = json_loads(ended.out, 0, NULL);
    CHECK_STRING(json_string_value(json_object_get(job, "reason")), reason);
    json_decref(job);
    ended_free(&ended);
}

TEST(reason,
     "a program's last line is in the reason: escaped, without blank lines, 200 bytes of it")
{
    static const char most[] = "attempt 1: exit status 3: ";
    char reason[sizeof(most) + 200];
    program_init();
    check_reason("1", "exit 3", "attempt 1: exit status 3");
    check_reason("2", "printf ' \\n\\r\\n' >&2; exit 3", "attempt 1: exit status 3");
    check_reason("3", "printf 'one\ntwo: x\\ty\r\n\n' >&2; exit 3",
                 "attempt 1: exit status 3: two: x\\\\ty");
    check_reason("4", "printf 'a\\000b\\033[31m' >&2; exit 3",
                 "attempt 1: exit status 3: a b\\\\x1b[31m");
    memset(reason, 'x', sizeof(reason) - 1);
    memcpy(reason, most, sizeof(most) - 1);
    reason[sizeof(reason) - 2] = '\0';
    check_reason("5", "printf 'first\\n' >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; exit 3",
                 reason);
}

TEST(reason_found, "ls --text finds a job by what its program said, and why tells it")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "put", "t", "y");
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "sh", "-c",
         "read -r body; echo \"no such host: $body.example\" >&2; exit 3");
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "t", "--text", "host: y.");
    json_t *job = json_loads(ended.out, 0, NULL); /* of one line */
    CHECK_STRING(json_string_value(json_object_get(job, "id")), "2");
    json_decref(job);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "why", "2");
    CHECK(strstr(ended.out, "exit status 3: no such host: y.example") != NULL);
    ended_free(&ended);
}

TEST(json, "--json prints an object an attempt; ls tells how the last one ended, and the fence")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "sh", "-c",
         "printf '\\303\\274' >&2; kill -9 $$");
    struct ended ended = WEIR_EXPECT(0, "log", "--json", "1");
    json_t *attempt = json_loads(ended.out, 0, NULL);
    CHECK(json_is_object(attempt));
    CHECK_STRING(json_string_value(json_object_get(attempt, "id")), "1");
    CHECK_INT(json_integer_value(json_object_get(attempt, "attempt")), ==, 1);
    CHECK_STRING(json_string_value(json_object_get(attempt, "outcome")), "buried");
    CHECK_STRING(json_string_value(json_object_get(attempt, "reason")), "signal 9: \303\274");
    CHECK_INT(json_integer_value(json_object_get(attempt, "signal")), ==, 9);
    CHECK(json_object_get(attempt, "exit_status") == NULL);
    CHECK_STRING(json_string_value(json_object_get(attempt, "tail")), "\303\274");
    CHECK_STRING(json_string_value(json_object_get(attempt, "encoding")), "utf-8");
    CHECK(json_is_string(json_object_get(attempt, "started_at")));
    CHECK(json_is_string(json_object_get(attempt, "ended_at")));
    CHECK(json_integer_value(json_object_get(attempt, "process")) > 0);
    json_decref(attempt);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--json", "--id", "1");
    json_t *job = json_loads(ended.out, 0, NULL);
    CHECK_STRING(json_string_value(json_object_get(job, "last_outcome")), "buried");
    CHECK_INT(json_integer_value(json_object_get(job, "fence")), >, 0);
    json_decref(job);
    ended_free(&ended);
}

TEST(bury_on, "an exit status of --bury-on is in the history, the reason and the message")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended =
        WEIR_EXPECT(1, "work", "-e", "--bury-on", "7", "t", "--", "sh", "-c", "exit 7");
    CHECK(strstr(ended.err, "job 1: buried after run 1: exit status 7\n") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "log", "1");
    CHECK(strncmp(ended.out, "attempt 1: buried: exit status 7\n", 33) == 0);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "why", "1");
    CHECK(strstr(ended.out, "attempt 1: exit status 7") != NULL);
    ended_free(&ended);
}

TEST(none, "a job without failures has no attempts; one that is not there is refused")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "log", "1");
    CHECK_STRING(ended.out, "1: no attempt has failed\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "log", "--json", "1");
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    ended = WEIR_EXPECT(66, "log", "2");
    CHECK_STRING(ended.err, "weir log: \"2\": no such job; it is done, was removed or never was\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(64, "log", "x");
    CHECK(strstr(ended.err, "expected an id that `weir put` printed") != NULL);
    ended_free(&ended);
}
