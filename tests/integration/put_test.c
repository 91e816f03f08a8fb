/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* `weir put`: what becomes a job, and what is said about it. */

/* The bodies of a tube in the order in which they would run, a line each, as `weir ls --next` has
 * them.
 */
static char *bodies(const char *tube)
{
    struct ended ended =
        WEIR_EXPECT(0, "ls", "--next", "--body", "--json", "--limit", "10000", tube);
    char *result = calloc(1, ended.out_size + 1);
    CHECK(result != NULL);
    char *at = result;
    for (char *line = strtok(ended.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *body = strstr(line, "\"body\":\"");
        CHECK(body != NULL);
        body += strlen("\"body\":\"");
        char *end = strstr(body, "\",\"encoding\"");
        CHECK(end != NULL);
        *end = '\0';
        at += sprintf(at, "%s\n", body);
    }
    ended_free(&ended);
    return result;
}

static void check_bodies(const char *tube, const char *expected)
{
    char *found = bodies(tube);
    CHECK_STRING(found, expected);
    free(found);
}

static struct ended put_input(const char *input, size_t size, const char *const words[])
{
    struct ended ended = program_run_with(input, size, words);
    CHECK_STRING(ended.err, "");
    CHECK_INT(ended.code, ==, 0);
    return ended;
}

TEST(body_from_operand, "the second operand is the body; its id is printed")
{
    program_init();
    struct ended ended = WEIR_EXPECT(0, "put", "t", "a body; $(with) 'signs'");
    CHECK_STRING(ended.err, "");
    char *end = NULL;
    CHECK_INT(strtol(ended.out, &end, 10), >, 0);
    CHECK_STRING(end, "\n");
    ended_free(&ended);
    check_bodies("t", "a body; $(with) 'signs'\n");
}

TEST(body_from_input,
     "without a second operand, or with -, standard input is one body, bytes and all")
{
    program_init();
    struct ended ended = put_input("one\ntwo\n", 8, WORDS("put", "t"));
    ended_free(&ended);
    ended = put_input("", 0, WORDS("put", "t", "-"));
    ended_free(&ended);
    ended = put_input("nul\0nul\xff", 8, WORDS("put", "t", "-"));
    ended_free(&ended);
    check_bodies("t", "one\\ntwo\\n\n\nbnVsAG51bP8=\n");
}

TEST(body_from_file, "--input names a file to read instead")
{
    program_init();
    write_file("list", "a\nb\n", 4, 0644);
    WEIR(0, "put", "--input", "list", "t");
    WEIR(0, "put", "--lines", "--input", "list", "u");
    check_bodies("t", "a\\nb\\n\n");
    check_bodies("u", "a\nb\n");
}

TEST(operand_with_dash, "after -- words that start with - are operands")
{
    program_init();
    WEIR(0, "put", "--quiet", "--", "t", "--delay");
    check_bodies("t", "--delay\n");
}

TEST(lines, "--lines makes a job of each line, in order, and prints their ids in order")
{
    program_init();
    struct ended ended = put_input("one\n\nthree", 10, WORDS("put", "--lines", "t"));
    long ids[3];
    CHECK_INT(sscanf(ended.out, "%ld\n%ld\n%ld\n", &ids[0], &ids[1], &ids[2]), ==, 3);
    CHECK(ids[0] < ids[1] && ids[1] < ids[2]);
    ended_free(&ended);
    check_bodies("t", "one\n\nthree\n");
    CHECK_INT(program_count("t", "put"), ==, 3);
}

TEST(null, "--null ends them by NUL bytes, so that they may hold newlines")
{
    program_init();
    struct ended ended = put_input("a\nb\0c\0", 6, WORDS("put", "-0", "t"));
    ended_free(&ended);
    check_bodies("t", "a\\nb\nc\n");
}

TEST(no_lines, "an empty list is no job and no error")
{
    program_init();
    struct ended ended = put_input("", 0, WORDS("put", "--lines", "t"));
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    CHECK_INT(program_count("t", "put"), ==, 0);
}

TEST(many_lines, "a list longer than one transaction is put whole, with one id a line")
{
    enum {
        COUNT = 5500
    };
    program_init();
    char *list = malloc((size_t)COUNT * 12);
    CHECK(list != NULL);
    size_t size = 0;
    for (int i = 0; i < COUNT; i++) {
        size += (size_t)snprintf(list + size, 12, "line%d\n", i);
    }
    struct ended ended = put_input(list, size, WORDS("put", "-l", "t"));
    size_t lines = 0;
    for (size_t i = 0; i < ended.out_size; i++) {
        lines += ended.out[i] == '\n' ? 1 : 0;
    }
    CHECK_INT(lines, ==, COUNT);
    ended_free(&ended);
    check_bodies("t", list);
    free(list);
}

TEST(quiet_and_json, "--quiet prints nothing, --json an object a job")
{
    program_init();
    struct ended ended = WEIR_EXPECT(0, "put", "--quiet", "t", "x");
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "put", "--json", "t", "x");
    long id = 0;
    int length = 0;
    CHECK_INT(sscanf(ended.out, "{\"id\":\"%ld\",\"tube\":\"t\"}\n%n", &id, &length), ==, 1);
    CHECK_INT(length, ==, ended.out_size);
    ended_free(&ended);
}

TEST(order, "jobs run by priority, then in the order in which they were put")
{
    program_init();
    WEIR(0, "put", "t", "usual 1");
    WEIR(0, "put", "--priority", "-5", "t", "urgent");
    WEIR(0, "put", "--priority", "2147483647", "t", "last");
    WEIR(0, "put", "t", "usual 2");
    check_bodies("t", "urgent\nusual 1\nusual 2\nlast\n");
}

TEST(delayed, "--delay and --at hold a job back")
{
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "x");
    WEIR(0, "put", "--at", "2200-01-01T00:00:00Z", "t", "y");
    WEIR(0, "put", "--delay", "0", "t", "z");
    CHECK_INT(program_count("t", "delayed"), ==, 2);
    CHECK_INT(program_count("t", "ready"), ==, 1);
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--state", "delayed", "--json", "t");
    CHECK(strstr(ended.out, "\"run_at\":\"2200-01-01T00:00:00.000000000Z\"") != NULL);
    ended_free(&ended);
}

TEST(given_twice, "of an option that is given twice the last one counts")
{
    program_init();
    WEIR(0, "put", "--delay", "1h", "--quiet", "--delay=0", "t", "x");
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(as_it_comes, "lines from a pipe are put while its writer still thinks")
{
    program_init();
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    /* Our end must not reach the program, or it would never see the end. */
    CHECK_INT(fcntl(pipes[1], F_SETFD, FD_CLOEXEC), ==, 0);
    struct running running = program_start_on(pipes[0], WORDS("put", "--lines", "--quiet", "t"));
    (void)close(pipes[0]);
    for (int i = 1; i <= 3; i++) {
        CHECK_INT(write(pipes[1], "line\n", 5), ==, 5);
        WAIT_UNTIL(program_count("t", "put") == i);
    }
    (void)close(pipes[1]);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    CHECK_INT(program_count("t", "put"), ==, 3);
}

TEST(largest_body,
     "a body of 16 MiB is put; one byte more is refused, named by its line, with nothing put")
{
    size_t most = (size_t)16 << 20;
    char *list = malloc(most + 4);
    CHECK(list != NULL);
    memset(list, 'x', most + 4);
    list[0] = 'a';
    list[1] = '\n';
    program_init();
    struct ended ended = put_input(list + 2, most, WORDS("put", "--quiet", "t"));
    ended_free(&ended);
    ended = put_input(list, most + 2, WORDS("put", "--quiet", "--lines", "t"));
    ended_free(&ended);
    CHECK_INT(program_count("t", "put"), ==, 3);

    ended = program_run_with(list, most + 3, WORDS("put", "--lines", "t"));
    CHECK_INT(ended.code, ==, 65);
    CHECK_STRING(ended.out, "");
    CHECK_STRING(ended.err, "weir put: \"standard input\": line 2: too long; expected a body of at "
                            "most 16777216 bytes; nothing was put\n");
    ended_free(&ended);
    ended = program_run_with(list + 2, most + 1, WORDS("put", "t"));
    CHECK_INT(ended.code, ==, 65);
    CHECK_STRING(ended.err, "weir put: \"standard input\": too long; expected a body of at most "
                            "16777216 bytes; nothing was put\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "put"), ==, 3);
    free(list);
}

TEST(default_store, "without a broker the store is made in the state folder, for its owner alone")
{
    program_init();
    CHECK_INT(unsetenv("WEIR_BROKER"), ==, 0);
    struct ended ended = WEIR_EXPECT(66, "stats");
    ended_free(&ended);
    CHECK(access("state", F_OK) != 0);
    WEIR(0, "put", "t", "x");
    struct stat facts;
    CHECK_INT(stat("state", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 07777, ==, 0700);
    CHECK_INT(stat("state/weir", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 07777, ==, 0700);
    CHECK_INT(stat("state/weir/weir.db", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 07777, ==, 0600);
    CHECK_INT(program_count("t", "ready"), ==, 1);

    CHECK_INT(setenv("XDG_STATE_HOME", "relative/ignored", 1), ==, 0);
    WEIR(0, "put", "t", "x");
    CHECK_INT(stat(".local/state/weir/weir.db", &facts), ==, 0);
    CHECK(access("relative", F_OK) != 0);
}

TEST(broker_order, "--broker goes before $WEIR_BROKER, which goes before the state folder")
{
    program_init();
    WEIR(0, "put", "--broker", "sqlite:first.db", "t", "x");
    CHECK(access("first.db", F_OK) == 0);
    CHECK(access("jobs.db", F_OK) != 0);
    WEIR(0, "put", "t", "x");
    CHECK(access("jobs.db", F_OK) == 0);
    CHECK(access("state", F_OK) != 0);
}

/* Puts with nowhere to print to, and expects this to be said and so many jobs to be there. */
static void expect_unprinted(const char *const words[], const char *said, int64_t count)
{
    program_init();
    struct ended ended = program_run_into("/dev/full", words);
    char expected[200];
    (void)snprintf(expected, sizeof(expected),
                   "weir put: standard output: No space left on device; %s\n", said);
    CHECK_STRING(ended.err, expected);
    CHECK_INT(ended.code, ==, 74);
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, count);
}

TEST(full_output, "ids that cannot be printed are an error, which tells the jobs that are put")
{
    expect_unprinted(WORDS("put", "t", "x"), "one job was put: 1", 1);
    expect_unprinted(WORDS("put", "--json", "t", "x"), "one job was put: 2", 2);
    write_file("list", "a\nb\nc\n", 6, 0600);
    expect_unprinted(WORDS("put", "-l", "-i", "list", "t"),
                     "the first 3 jobs were put, the last of them as 5", 5);
}

TEST(full_output_early,
     "a list whose first ids cannot be printed is not put to its end, as is told")
{
    enum {
        COUNT = 2500
    };
    char list[COUNT * 2];
    for (int i = 0; i < COUNT; i++) {
        list[2 * i] = 'x';
        list[2 * i + 1] = '\n';
    }
    write_file("list", list, sizeof(list), 0600);
    expect_unprinted(WORDS("put", "--lines", "--input", "list", "t"),
                     "the first 1000 jobs were put, the last of them as 1000", 1000);
}

TEST(at_once_for_all, "a time that comes while a list is read is in the future for all of it")
{
    program_init();
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    CHECK_INT(fcntl(pipes[1], F_SETFD, FD_CLOEXEC), ==, 0);
    struct timespec now;
    CHECK_INT(clock_gettime(CLOCK_REALTIME, &now), ==, 0);
    char at[32];
    (void)snprintf(at, sizeof(at), "@%lld", (long long)now.tv_sec + 5);
    struct running running =
        program_start_on(pipes[0], WORDS("put", "-q", "--lines", "--at", at, "t"));
    (void)close(pipes[0]);
    CHECK_INT(write(pipes[1], "early\n", 6), ==, 6);
    WAIT_UNTIL(program_count("t", "put") == 1);
    WAIT_UNTIL(program_count("t", "ready") == 1);
    CHECK_INT(write(pipes[1], "late\n", 5), ==, 5);
    (void)close(pipes[1]);
    struct ended ended = program_wait(&running);
    CHECK_STRING(ended.err, "");
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    check_bodies("t", "early\nlate\n");
}

TEST(unique, "--unique puts one job for a key; --on-duplicate says what a second put does")
{
    program_init();
    WEIR(0, "put", "--delay", "1h", "--unique", "k", "t", "first");
    struct ended ended = WEIR_EXPECT(75, "put", "--unique", "k", "t", "second");
    CHECK(strstr(ended.err, "job 1 has the key \"k\"") != NULL);
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    static const char *const modes[] = {"keep", "replace", "debounce", "again"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        ended = WEIR_EXPECT(0, "put", "--delay", "2h", "--unique", "k", "--on-duplicate", modes[i],
                            "t", modes[i]);
        CHECK_STRING(ended.out, "1\n");
        ended_free(&ended);
    }
    ended = WEIR_EXPECT(0, "put", "--unique", "k", "--on-duplicate", "throttle", "--unique-for",
                        "1h", "--at", "2100-01-01T00:00:00Z", "t", "x");
    CHECK_STRING(ended.out, "1\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--json", "--body", "t");
    CHECK(strstr(ended.out, "\"key\":\"k\"") != NULL);
    CHECK(strstr(ended.out, "\"body\":\"debounce\"") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--json", "t");
    CHECK(strstr(ended.out, "\"key\":\"k\"") != NULL);
    ended_free(&ended);
}

TEST(unique_refused, "keys, modes and headers that make no sense are refused, and nothing is put")
{
    static const struct {
        const char *said;
        const char *words[12];
    } rows[] = {
        {"--on-duplicate: without --unique", {"put", "--on-duplicate", "keep", "t", "x"}},
        {"--on-duplicate: \"x\": unknown mode",
         {"put", "--unique", "k", "--on-duplicate", "x", "t", "x"}},
        {"--unique: \"\": expected 1 to 200 bytes", {"put", "--unique", "", "t", "x"}},
        {"--unique: beside --lines", {"put", "--unique", "k", "--lines", "t"}},
        {"--unique-for: expected it with",
         {"put", "--unique", "k", "--on-duplicate", "throttle", "t", "x"}},
        {"--unique-for: expected it with",
         {"put", "--unique", "k", "--unique-for", "1s", "t", "x"}},
        {"--unique-for: without --unique", {"put", "--unique-for", "1s", "t", "x"}},
        {"--group: \"\": expected 1 to 200 bytes", {"put", "--group", "", "t", "x"}},
        {"--put-id: \"\": expected 1 to 240 bytes", {"put", "--put-id", "", "t", "x"}},
        {"put_id has byte 0x20 at offset 1: expected", {"put", "--put-id", "a b", "t", "x"}},
        {"--put-id: beside --lines", {"put", "--put-id", "p", "--lines", "t"}},
        {"--header: \"a\": expected NAME=VALUE", {"put", "--header", "a", "t", "x"}},
        {"--header: \"A=1\": expected NAME=VALUE", {"put", "--header", "A=1", "t", "x"}},
        {"--header: \"a=1\\nb=2\": expected", {"put", "--header", "a=1\nb=2", "t", "x"}},
        {"--header: \"a=2\": expected", {"put", "--header", "a=1", "--header", "a=2", "t", "x"}},
    };
    program_init();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *words[13] = {NULL};
        memcpy(words, rows[i].words, sizeof(rows[i].words));
        struct ended ended = program_expect(__FILE__, __LINE__, 64, words);
        CHECK(strstr(ended.err, rows[i].said) != NULL);
        ended_free(&ended);
    }
}

TEST(repeated, "a put whose answer was lost is repeated with its put_id, and there is one job")
{
    program_init();
    /* The id cannot be printed: what is known is that the answer did not arrive. */
    const char *words[] = {"put", "--put-id", "p", "t", "x", NULL};
    struct ended ended = program_run_into("/dev/full", words);
    CHECK_INT(ended.code, ==, 74);
    ended_free(&ended);
    WEIR(0, "put", "--put-id", "p", "--delay", "1h", "t", "x");
    ended = WEIR_EXPECT(65, "put", "--put-id", "p", "t", "y");
    CHECK(strstr(ended.err, "job 1 has the put_id \"p\", and another body") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "--json", "t");
    CHECK(strstr(ended.out, "\"identity\":\"p\"") != NULL);
    ended_free(&ended);
}

TEST(headers, "headers are shown with the body")
{
    program_init();
    WEIR(0, "put", "--header", "traceparent=00-1", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "--body", "--id", "1");
    CHECK(strstr(ended.out, "traceparent") != NULL && strstr(ended.out, "00-1") != NULL);
    ended_free(&ended);
}
