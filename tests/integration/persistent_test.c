/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `weir work --persistent`: programs that take one job after another. */

/* Puts so many jobs, with their numbers as bodies. */
static void put_numbers(int count)
{
    char text[4096] = "";
    for (int i = 1; i <= count; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d\n", i);
    }
    struct ended ended = program_run_with(text, strlen(text), WORDS("put", "-q", "--lines", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

/* Works on the tube until it is empty, with a script for the shell; what it said. */
static struct ended work(int code, const char *mode, const char *script)
{
    write_file("script", script, strlen(script), 0600);
    return WEIR_EXPECT(code, "work", "-e", "-v", "--retry-delay", "10ms", "--attempts", "3",
                       "--bury-on", "3", "--grace", "200ms", "--persistent", mode, "t", "--", "sh",
                       "script");
}

static void check_work(int code, const char *mode, const char *script, const char *said)
{
    struct ended ended = work(code, mode, script);
    if (strstr(ended.err, said) == NULL) {
        test_fail(__FILE__, __LINE__, "%s\nexpected in\n%s", said, ended.err);
    }
    ended_free(&ended);
}

TEST(lines, "one process takes all jobs of a worker, a line each, and ends at the end of its input")
{
    program_init();
    put_numbers(50);
    check_work(0, "lines",
               "echo begun >> processes\n"
               "while read -r line; do echo \"$line\" >> seen; echo 0; done\n"
               "echo ended >> processes\n",
               "50 jobs done");
    CHECK_INT(count_lines("seen"), ==, 50);
    char *text = read_file("processes", NULL);
    CHECK_STRING(text, "begun\nended\n");
    free(text);
}

TEST(frames, "frames have the job's facts and any bytes")
{
    static const char body[] = "two\nlines, and \0 a NUL\n\n";
    program_init();
    struct ended ended = program_run_with(body, sizeof(body), WORDS("put", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended.out[strcspn(ended.out, "\n")] = '\0';
    check_work(0, "frames",
               "while read -r size id tube attempt fence identity; do\n"
               "  echo \"$size $id $tube $attempt\" >> heads\n"
               "  dd bs=1 count=$size of=body 2> /dev/null\n"
               "  [ \"$fence\" -gt 0 ] && [ -n \"$identity\" ] && echo 0\n"
               "done\n",
               "1 jobs done");
    char expected[256];
    (void)snprintf(expected, sizeof(expected), "%zu %s t 1\n", sizeof(body), ended.out);
    char *heads = read_file("heads", NULL);
    CHECK_STRING(heads, expected);
    size_t size = 0;
    char *written = read_file("body", &size);
    CHECK_INT(size, ==, sizeof(body));
    CHECK(memcmp(written, body, size) == 0);
    free(heads);
    free(written);
    ended_free(&ended);
}

TEST(large, "a body larger than the pipe, read slowly")
{
    size_t size = (size_t)1 << 20;
    char *body = malloc(size);
    CHECK(body != NULL);
    memset(body, 'x', size);
    program_init();
    struct ended ended = program_run_with(body, size, WORDS("put", "-q", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(body);
    check_work(0, "lines", "while read -r line; do echo ${#line} > size; echo 0; done\n",
               "1 jobs done");
    char *text = read_file("size", NULL);
    CHECK_STRING(text, "1048576\n");
    free(text);
}

TEST(answers, "an answer is an exit status with a reason: done, retried, buried")
{
    program_init();
    put_numbers(3);
    check_work(1, "lines",
               "while read -r line; do case $line in\n"
               "  1) echo 0 'well done';;\n"
               "  2) echo failing >&2; echo '9 not now';;\n"
               "  3) echo '3 never';;\nesac; done\n",
               "1 jobs done");
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "--state", "buried", "t");
    CHECK(strstr(ended.out, "exit status 3: never") != NULL);
    CHECK(strstr(ended.out, "exit status 9: not now") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("t", "buried"), ==, 2);
    /* What it wrote on standard error during a job is that job's. */
    ended = WEIR_EXPECT(0, "log", "2");
    CHECK(strstr(ended.out, "failing") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "log", "3");
    CHECK(strstr(ended.out, "failing") == NULL);
    ended_free(&ended);
}

TEST(dies, "a process that dies in a job fails that run alone; the next job gets a new one")
{
    program_init();
    put_numbers(5);
    check_work(0, "lines",
               "while read -r line; do\n"
               "  [ $line = 3 ] && [ ! -e died ] && { > died; kill -9 $$; }\n"
               "  echo 0; done\n",
               "5 jobs done");
    struct ended ended = WEIR_EXPECT(0, "stats", "--json", "t");
    CHECK(strstr(ended.out, "\"buried\":0") != NULL);
    ended_free(&ended);
}

TEST(renewed, "a program may end after an answer as often as it likes: no run fails for that")
{
    program_init();
    put_numbers(40);
    check_work(0, "lines", "read -r line; echo 0\n", "0 retries, 0 buried");
    CHECK_INT(program_count("t", "done"), ==, 40);
}

TEST(silent, "one that ends in order without an answer has not done the job")
{
    program_init();
    put_numbers(1);
    check_work(1, "lines", "read -r line; exit 0\n", "exit status 76: it ended without an answer");
}

TEST(closes, "one that closes its output and goes on is ended, and has not done the job")
{
    program_init();
    put_numbers(1);
    check_work(1, "lines", "read -r line; exec >&-; exec sleep 1000\n",
               "exit status 76: it closed its output without an answer");
}

TEST(babble, "an answer that is none, too long, or too early fails the run")
{
    static const char *const scripts[] = {
        "while read -r line; do echo done; done\n",
        "while read -r line; do echo 256; done\n",
        "while read -r line; do echo 0x; done\n",
        "while read -r line; do echo; done\n",
        "read -r line; while :; do printf 0000000000000000000000000000000000000000; done\n",
    };
    program_init();
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        put_numbers(1);
        check_work(1, "lines", scripts[i], "exit status 76: it answered no line");
        WEIR(0, "rm", "--tube", "t", "--state", "buried");
    }
}

TEST(unasked, "an unasked line between two jobs ends the process, and harms no job")
{
    static const char script[] = "while read -r line; do echo 0; [ -e said ] && continue\n"
                                 "until [ -e go ]; do sleep 0.01; done; echo 1; > said; done";
    program_init();
    struct running running =
        program_start("", 0, WORDS("work", "--persistent", "lines", "t", "--", "sh", "-c", script));
    put_numbers(1);
    WAIT_UNTIL(program_count("t", "done") == 1);
    write_file("go", "", 0, 0600);
    WAIT_UNTIL(access("said", F_OK) == 0);
    put_numbers(1);
    WAIT_UNTIL(program_count("t", "done") == 2);
    CHECK_INT(program_count("t", "retried"), ==, 0);
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

TEST(newline, "a body with a newline is buried where jobs are lines, and says why")
{
    program_init();
    WEIR(0, "put", "-q", "t", "a\nb");
    check_work(1, "lines", "while read -r line; do echo 0; done\n",
               "its body has a newline, which --persistent lines cannot hand on");
}

TEST(deadline, "at its deadline the process is ended, and the next job gets another")
{
    program_init();
    put_numbers(2);
    static const char script[] = "while read -r line; do\n"
                                 "  [ $line = 1 ] && [ ! -e slow ] && { > slow; sleep 60; }\n"
                                 "  echo 0; done\n";
    write_file("script", script, strlen(script), 0600);
    struct ended ended =
        WEIR_EXPECT(0, "work", "-e", "-v", "--retry-delay", "10ms", "--deadline", "300ms",
                    "--grace", "100ms", "--persistent", "lines", "t", "--", "sh", "script");
    CHECK(strstr(ended.err, "2 jobs done") != NULL);
    CHECK(strstr(ended.err, " 1 retries") != NULL);
    ended_free(&ended);
}

TEST(stops, "a second signal ends the process that runs; its job comes back uncounted")
{
    program_init();
    put_numbers(1);
    struct running running =
        program_start("", 0,
                      WORDS("work", "--grace", "100ms", "--persistent", "lines", "t", "--", "sh",
                            "-c", "read -r line; echo > began; sleep 60"));
    WAIT_UNTIL(count_lines("began") == 1 && program_count("t", "reserved") == 1);
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 75);
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(deaf, "programs that go on after the end of their input are all killed once the grace is over")
{
    static const char script[] =
        "trap '' TERM; read -r line; > began.$line; until [ -e began.1 ] && [ -e began.2 ]; do "
        "sleep 0.01; done; echo 0; exec sleep 1000";
    program_init();
    put_numbers(2);
    struct ended ended = WEIR_EXPECT(0, "work", "-e", "-j", "2", "--grace", "200ms", "--persistent",
                                     "lines", "t", "--", "sh", "-c", script);
    CHECK(strstr(ended.err, "2 jobs done") != NULL);
    ended_free(&ended);
}
