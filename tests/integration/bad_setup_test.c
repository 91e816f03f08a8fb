/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Faults of the file of `weir run`: each is named with file and line and with what was expected,
 * and nothing is started or made. */

struct fault {
    const char *text;
    int line;
    const char *value;    /* Must be named. */
    const char *expected; /* What was expected instead. */
};

static void check_fault(const struct fault *fault, const char *const words[])
{
    char place[32];
    struct ended ended = program_run(words);
    (void)snprintf(place, sizeof(place), "bad.conf:%d: ", fault->line);
    if (ended.code != 78 || strstr(ended.err, place) == NULL ||
        strstr(ended.err, fault->value) == NULL || strstr(ended.err, fault->expected) == NULL) {
        test_fail(__FILE__, __LINE__, "%s\nexit status %d, expected 78; %s, %s, %s expected in\n%s",
                  fault->text, ended.code, place, fault->value, fault->expected, ended.err);
    }
    CHECK_STRING(ended.out, "");
    CHECK(access("jobs.db", F_OK) != 0);
    ended_free(&ended);
}

static void check_faults(const struct fault *faults, size_t count)
{
    program_init();
    for (size_t i = 0; i < count; i++) {
        write_file("bad.conf", faults[i].text, strlen(faults[i].text), 0600);
        check_fault(&faults[i], WORDS("config", "check", "bad.conf"));
        check_fault(&faults[i], WORDS("config", "show", "bad.conf"));
        check_fault(&faults[i], WORDS("run", "bad.conf"));
    }
}

#define CHECK_FAULTS(faults) check_faults(faults, sizeof(faults) / sizeof((faults)[0]))
#define CONSUMER(line) "consumer a {\n program = true\n " line "\n}\n"
#define SCHEDULE(line) "schedule a {\n tube = t\n every = 1s\n " line "\n}\n"
#define HTTP(line) "http {\n " line "\n}\n"

TEST(shapes, "what is no file of a set-up at all")
{
    static const struct fault faults[] = {
        {"brokr = x\n", 1, "\"brokr\"", "did you mean broker?"},
        {"\nconsumr a { }\n", 2, "\"consumr\"", "did you mean consumer?"},
        {"frobnicate = 1\n", 1, "\"frobnicate\"", "expected one that weir.conf(5) lists"},
        {CONSUMER("job = 1"), 3, "\"job\"", "did you mean jobs?"},
        {CONSUMER("until-empty = true"), 3, "\"until-empty\"", "expected one that weir.conf(5)"},
        {"broker\n", 2, "end of file", "premature"},
        {"broker x\n", 1, "broker", "equal sign"},
        {"broker = \"x\n", 2, "end of file", "premature"},
        {"consumer a {\n program = true\n", 3, "end of file", "a closing brace"},
        {"http {\n", 2, "end of file", "a closing brace"},
        {"consumer a {\n http {\n }\n}\n", 2, "\"http\"", "unknown setting"},
        {"consumer { program = true }\n", 1, "consumer", "title"},
        {CONSUMER("verbose = perhaps"), 3, "\"perhaps\"", "true or false"},
        {"broker = a\nbroker = b\n", 2, "broker: given twice", "expected once"},
        {CONSUMER("jobs = 1\n jobs = 2"), 4, "jobs: given twice", "expected once"},
        {"broker = a\n /* broker = b\n", 2, "comment without an end", "expected */"},
        {CONSUMER("") "consumer a { program = true }\n", 5, "title 'a'", "duplicate"},
        {HTTP("") HTTP(""), 6, "http: given twice", "expected once"},
    };
    CHECK_FAULTS(faults);
}

TEST(values, "each setting with a value that it cannot have")
{
    static const struct fault faults[] = {
        {"durability = some\n", 1, "durability: \"some\"", "one of full, normal, memory"},
        {"lock-wait = 3\n", 1, "lock-wait: \"3\"", "such as 250ms"},
        {CONSUMER("tubes = {\"a b\"}"), 4, "tube: \"a b\"", "1 to 200 characters"},
        {CONSUMER("tubes = {t, t}"), 4, "\"t\": named twice", "each tube once"},
        {CONSUMER("tubes = {'t=0'}"), 4, "weight: \"0\"", "from 1 to 1000"},
        {"consumer a b { program = true }\n", 1, "b", "brace"},
        {"consumer \"a b\" { program = true }\n", 1, "tube: \"a b\"", "1 to 200 characters"},
        {"consumer \"\" { program = true\n tubes = t }\n", 2, "consumer \"\": no name",
         "expected one"},
        {"consumer a { }\n", 1, "consumer \"a\": no program", "expected one to run"},
        {"consumer a { program = {} }\n", 1, "no program", "expected one to run"},
        {"consumer a {\nprogram = {nonesuch, x}\n}\n", 3, "\"nonesuch\": no such program",
         "a program to run for each job"},
        {CONSUMER("jobs = 0"), 3, "jobs: \"0\"", "from 1 to 4096"},
        {CONSUMER("deadline = 5"), 3, "deadline: \"5\"", "such as 250ms"},
        {CONSUMER("grace = -1s"), 3, "grace: \"-1s\"", "such as 250ms"},
        {CONSUMER("attempts = none"), 3, "attempts: \"none\"", "from 1 to"},
        {CONSUMER("retry-delay = 0s"), 3, "retry-delay: \"0s\"", "at least 1ns"},
        {CONSUMER("retry-max = 1y"), 3, "retry-max: \"1y\"", "such as 250ms"},
        {CONSUMER("retry-delay = 2s\n retry-max = 1s"), 5, "consumer \"a\": retry-max",
         "at least that"},
        {"tube t { per-group = -1 }\n", 1, "per-group: \"-1\"", "from 0 to"},
        {"tube \"a b\" { per-group = 1 }\n", 1, "a b", "expected"},
        {"tube t {\nlate = run\nlate-after = 1h\n}\n", 4, "late-after", "bury or drop"},
        {CONSUMER("rate = 5/d"), 3, "rate: \"5/d\"", "a rate such as"},
        {CONSUMER("persistent = yes"), 3, "persistent: \"yes\"", "expected lines or frames"},
        {CONSUMER("bury-on = 0"), 3, "bury-on: \"0\"", "exit statuses such as"},
        {"schedule a {\n every = 1s\n}\n", 3, "schedule \"a\": no tube", "that of its jobs"},
        {"schedule a {\n tube = \"a b\"\n every = 1s\n}\n", 4, "tube: \"a b\"",
         "1 to 200 characters"},
        {"schedule \"a b\" {\n tube = t\n every = 1s\n}\n", 4, "schedule \"a b\"",
         "expected one of"},
        {"schedule a {\n tube = t\n cron = \"99 * * * *\"\n}\n", 4, "schedule \"a\"", "minute"},
        {"schedule a {\n tube = t\n cron = @daily\n zone = Nowhere/X\n}\n", 5, "Nowhere/X", "zone"},
        {"schedule a {\n tube = t\n}\n", 3, "no times", "one of cron and every"},
        {SCHEDULE("cron = \"* * * * *\""), 5, "both given", "one of cron and every"},
        {SCHEDULE("zone = UTC"), 5, "zone: without cron", "beside an expression"},
        {SCHEDULE("first = yesterdayish"), 4, "first: \"yesterdayish\"", "expected"},
        {SCHEDULE("missed = some"), 4, "missed: \"some\"", "one of once, skip, all"},
        {SCHEDULE("tolerance = 1s"), 5, "tolerance", "beside missed skip"},
        {SCHEDULE("catch-up = 1"), 5, "catch-up", "beside missed all"},
        {SCHEDULE("catch-up = 0"), 4, "catch-up: \"0\"", "from 1 to"},
        {SCHEDULE("priority = low"), 4, "priority: \"low\"", "a whole number"},
        {SCHEDULE("ttr = 1ms"), 4, "ttr: \"1ms\"", "at least 100ms"},
        {HTTP("token-file = nonesuch"), 2, "token-file: \"nonesuch\"", "No such file"},
        {HTTP("host = {\"a:1\"}"), 2, "host: \"a:1\"", "without a port"},
        {HTTP("prefix = weir"), 2, "prefix: \"weir\"", "such as /weir"},
        {HTTP("time-limit = 1ms"), 2, "time-limit: \"1ms\"", "at least 100ms"},
    };
    CHECK_FAULTS(faults);
}

TEST(all_told, "each fault of a file is told, not the first one alone")
{
    static const char text[] =
        "lock-wait = 3\n" CONSUMER("jobs = 0\n rate = x") SCHEDULE("ttr = x") HTTP("prefix = x");
    program_init();
    write_file("bad.conf", text, strlen(text), 0600);
    struct ended ended = WEIR_EXPECT(78, "config", "check", "bad.conf");
    CHECK(strstr(ended.err, "bad.conf:1: lock-wait") != NULL);
    CHECK(strstr(ended.err, "bad.conf:4: jobs") != NULL);
    CHECK(strstr(ended.err, "bad.conf:5: rate") != NULL);
    CHECK(strstr(ended.err, "bad.conf:10: ttr") != NULL);
    CHECK(strstr(ended.err, "bad.conf:13: prefix") != NULL);
    ended_free(&ended);
}

TEST(when_it_runs, "what shows only once it runs: the broker, a schedule's times, where it listens")
{
    static const struct {
        int code;
        struct fault fault;
    } rows[] = {
        {78, {"\nbroker = nonesuch:x\n", 2, "broker: ", "nonesuch"}},
        {78,
         {"broker = sqlite:jobs.db\nschedule a { tube = t\n cron = \"@every 1ms\" }\n", 3,
          "schedule \"a\": ", "more than once in 100 ms"}},
        {78,
         {"broker = sqlite:jobs.db\nhttp { listen = nowhere }\n", 2, "listen: \"nowhere\"",
          "ADDRESS:PORT"}},
    };
    program_init();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char place[32];
        write_file("bad.conf", rows[i].fault.text, strlen(rows[i].fault.text), 0600);
        struct ended ended = program_run(WORDS("run", "bad.conf"));
        (void)snprintf(place, sizeof(place), "bad.conf:%d: ", rows[i].fault.line);
        CHECK_INT(ended.code, ==, rows[i].code);
        CHECK(strstr(ended.err, place) != NULL);
        CHECK(strstr(ended.err, rows[i].fault.value) != NULL);
        CHECK(strstr(ended.err, rows[i].fault.expected) != NULL);
        ended_free(&ended);
    }
}

TEST(no_file, "a pipe is refused, not waited for")
{
    static const char *const commands[][4] = {
        {"config", "check", "pipe"}, {"config", "show", "pipe"}, {"run", "pipe"}};
    program_init();
    CHECK_INT(mkfifo("pipe", 0600), ==, 0);
    for (size_t i = 0; i < 3; i++) {
        struct ended ended = program_run(commands[i]);
        CHECK_INT(ended.code, ==, 66);
        CHECK(strstr(ended.err, "\"pipe\": it is no regular file; expected a file as "
                                "weir.conf(5) describes it") != NULL);
        ended_free(&ended);
    }
}
