/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* `weir schedule`. */

/* A schedule as `ls --json` shows it; to be released. */
static json_t *see(const char *name)
{
    struct ended ended = program_run(WORDS("schedule", "ls", "--json", name));
    CHECK_INT(ended.code, ==, 0);
    json_t *object = json_loads(ended.out, 0, NULL);
    CHECK(object != NULL);
    ended_free(&ended);
    return object;
}

static int64_t number_of(const char *name, const char *member)
{
    json_t *object = see(name);
    int64_t number = json_integer_value(json_object_get(object, member));
    json_decref(object);
    return number;
}

TEST(works, "a worker runs the jobs of a schedule, again and again, until it is paused")
{
    program_init();
    struct ended ended =
        program_run(WORDS("schedule", "add", "poll", "feeds", "hello", "--every", "100ms"));
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.out, "");
    CHECK(strncmp(ended.err, "weir schedule: poll: next at ", 29) == 0);
    ended_free(&ended);
    struct running worker =
        program_start("", 0, WORDS("work", "feeds", "--", "sh", "-c", "cat >> seen; echo >> seen"));
    WAIT_UNTIL(count_lines("seen") >= 3);
    WEIR(0, "schedule", "pause", "poll");
    int64_t fired = number_of("poll", "fired");
    WAIT_UNTIL(program_count("feeds", "done") == fired);
    WEIR(0, "schedule", "resume", "poll");
    WAIT_UNTIL(number_of("poll", "fired") >= fired + 2);
    WEIR(0, "schedule", "rm", "poll");
    WAIT_UNTIL(program_count("feeds", "done") == program_count("feeds", "put"));
    CHECK_INT(kill(worker.pid, SIGTERM), ==, 0);
    ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    char *seen = read_file("seen", NULL);
    CHECK(strncmp(seen, "hello\nhello\nhello\n", 18) == 0);
    free(seen);
}

TEST(shown, "ls shows what was asked for, as a table and as objects")
{
    program_init();
    WEIR(0, "schedule", "add", "night", "backups", "--cron", "30 2 * * *", "--zone",
         "Europe/Berlin", "--missed", "skip", "--tolerance", "1h", "--ttr", "5m", "-p", "3");
    WEIR(0, "schedule", "add", "poll", "feeds", "x", "-e", "10m", "--no-overlap", "--missed", "all",
         "--catch-up", "7", "--first", "2100-01-01T00:00:00Z");
    json_t *found = see("night");
    json_t *expected = json_pack(
        "{s:s, s:s, s:b, s:i, s:I, s:s, s:I, s:i, s:i, s:i, s:b, s:s, s:s, s:s, s:s, "
        "s:s}",
        "schedule", "night", "tube", "backups", "paused", 0, "priority", 3, "ttr_ns",
        (json_int_t)300000000000, "missed", "skip", "tolerance_ns", (json_int_t)3600000000000,
        "catch_up", 100, "fired", 0, "skipped", 0, "overlap", 1, "problem", "", "cron",
        "30 2 * * *", "zone", "Europe/Berlin", "body", "", "encoding", "utf-8");
    CHECK(json_is_string(json_object_get(found, "next_at")));
    CHECK_INT(json_object_del(found, "next_at"), ==, 0);
    CHECK(json_equal(found, expected));
    json_decref(found);
    json_decref(expected);
    found = see("poll");
    CHECK_INT(json_integer_value(json_object_get(found, "every_ns")), ==, 600000000000);
    CHECK_INT(json_integer_value(json_object_get(found, "catch_up")), ==, 7);
    CHECK(json_is_false(json_object_get(found, "overlap")));
    CHECK_STRING(json_string_value(json_object_get(found, "next_at")),
                 "2100-01-01T00:00:00.000000000Z");
    json_decref(found);
    WEIR(0, "schedule", "pause", "night");
    struct ended ended = program_run(WORDS("schedule", "ls"));
    CHECK_INT(ended.code, ==, 0);
    CHECK(strstr(ended.out, "night backups 30 2 * * * Europe/Berlin paused") != NULL);
    CHECK(strstr(ended.out, "every 10m") != NULL);
    ended_free(&ended);
}

TEST(runs_now, "run puts a job at once and prints its id")
{
    program_init();
    WEIR(0, "schedule", "add", "a", "t", "x", "--every", "1h");
    WEIR(0, "schedule", "add", "b", "t", "y", "--every", "1h");
    struct ended ended = program_run(WORDS("schedule", "run", "a", "b"));
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.out, "1\n2\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 2);
    ended = program_run(WORDS("schedule", "run", "nix", "a"));
    CHECK_INT(ended.code, ==, 66);
    CHECK_STRING(ended.out, "3\n");
    CHECK(strstr(ended.err, "\"nix\": no such schedule") != NULL);
    ended_free(&ended);
}

TEST(refused, "what makes no sense is refused in one line, and makes no store")
{
    static const struct {
        const char *words[10];
        const char *text;
    } rows[] = {
        {{"schedule"}, "no action: expected one of add, ls, rm, pause, resume, run"},
        {{"schedule", "ad"}, "\"ad\": expected one of add, ls, rm, pause, resume, run"},
        {{"schedule", "add"}, "no name"},
        {{"schedule", "add", "a"}, "no tube"},
        {{"schedule", "add", "a", "t"}, "no times; expected one of --cron and --every"},
        {{"schedule", "add", "a", "t", "b", "c", "-e", "1s"}, "\"c\""},
        {{"schedule", "add", "a", "t u", "-e", "1s"}, "\"t u\""},
        {{"schedule", "add", "a", "t", "-e", "1s", "-c", "* * * * *"}, "both given"},
        {{"schedule", "add", "a", "t", "-e", "1s", "-z", "UTC"}, "--zone: without --cron"},
        {{"schedule", "add", "a", "t", "-e", "99ms"}, "--every: \"99ms\""},
        {{"schedule", "add", "a", "t", "-e", "1s", "--missed", "x"}, "expected one of once"},
        {{"schedule", "add", "a", "t", "-e", "1s", "--tolerance", "1s"}, "--missed skip"},
        {{"schedule", "add", "a", "t", "-e", "1s", "--catch-up", "3"}, "--missed all"},
        {{"schedule", "add", "a", "t", "-e", "1s", "--catch-up", "1001"}, "--catch-up"},
        {{"schedule", "add", "a", "t", "-e", "1s", "--first", "soon"}, "--first: \"soon\""},
        {{"schedule", "add", "a", "t", "-e", "1s", "--json"}, "--json: expected it beside ls"},
        {{"schedule", "ls", "-e", "1s"}, "--every: expected it beside add"},
        {{"schedule", "rm"}, "no name; expected one or more schedules"},
        {{"schedule", "rm", "a", "--json"}, "--json: expected it beside ls"},
    };
    program_init();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ended ended = program_run(rows[i].words);
        if (ended.code != 64 || strstr(ended.err, rows[i].text) == NULL ||
            strchr(ended.err, '\n') != strrchr(ended.err, '\n')) {
            test_fail(__FILE__, __LINE__, "row %zu: exit status %d: %s", i, ended.code, ended.err);
        }
        CHECK_STRING(ended.out, "");
        ended_free(&ended);
    }
    WEIR(66, "schedule", "ls");
    WEIR(66, "schedule", "rm", "a");
    WEIR(64, "schedule", "add", "a b", "t", "-e", "1s");
    WEIR(64, "schedule", "add", "a", "t", "-c", "61 * * * *");
    WEIR(64, "schedule", "add", "a", "t", "-c", "* * * * *", "-z", "Europe/Nowhere");
    WEIR(66, "schedule", "ls", "a");
}
