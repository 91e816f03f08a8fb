/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdlib.h>
#include <string.h>

/* The control channel: what a handler tells of its run through $WEIR_CONTROL_FD. */

/* Works on the tube until it is empty, with a script for the shell. */
static struct ended work(int code, const char *script)
{
    return WEIR_EXPECT(code, "work", "-e", "-v", "--retry-delay", "1ms", "--deadline", "300ms",
                       "--grace", "100ms", "--bury-on", "9", "t", "--", "sh", "-c", script);
}

static void check_said(struct ended *ended, const char *said)
{
    if (strstr(ended->err, said) == NULL) {
        test_fail(__FILE__, __LINE__, "%s\nexpected in\n%s", said, ended->err);
    }
    ended_free(ended);
}

static void check_shown(const char *said, const char *const *words)
{
    struct ended ended = program_run_with("", 0, words);
    CHECK_INT(ended.code, ==, 0);
    if (strstr(ended.out, said) == NULL) {
        test_fail(__FILE__, __LINE__, "%s\nexpected in\n%s", said, ended.out);
    }
    ended_free(&ended);
}

TEST(progress, "progress is shown by log and ls while the program runs")
{
    /* The program looks at itself until it sees what it told. */
    static const char script[] =
        "echo progress 40 >&3\n"
        "until \"$0\" log 1 | grep -q '^attempt 1: running: 40 %$'; do :; done\n"
        "\"$0\" log --json 1 > log; \"$0\" ls --id 1 --json > ls";
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "work", "-e", "t", "--", "sh", "-c", script, WEIR_PROGRAM);
    CHECK_STRING(ended.out, "");
    ended_free(&ended);
    char *log = read_file("log", NULL);
    char *ls = read_file("ls", NULL);
    CHECK(strstr(log, "\"outcome\": \"running\"") != NULL ||
          strstr(log, "\"outcome\":\"running\"") != NULL);
    CHECK(strstr(log, "progress") != NULL && strstr(log, "started_at") != NULL);
    CHECK(strstr(ls, "progress") != NULL && strstr(ls, "process") != NULL);
    free(log);
    free(ls);
}

TEST(put_off,
     "retry and exit status 0 put the job off uncounted; with another status it is counted")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = work(0, "echo $WEIR_ATTEMPT >> attempts\n"
                                 "case $(wc -l < attempts) in\n"
                                 "1) echo retry 2ms >&3;;\n"
                                 "2) echo retry 3ms >&3; exit 9;;\n"
                                 "esac");
    CHECK(strstr(ended.err, "given back, again in 2ms\n") != NULL);
    check_said(&ended, "exit status 9; again in 3ms\n");
    char *attempts = read_file("attempts", NULL);
    CHECK_STRING(attempts, "1\n1\n2\n");
    free(attempts);
}

TEST(buried, "bury buries the job with the reason, whatever the exit status")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = work(1, "echo bury no such address >&$WEIR_CONTROL_FD");
    check_said(&ended, "job 1: buried after run 1: no such address\n");
    check_shown("attempt 1: buried: no such address\n", WORDS("log", "1"));
}

TEST(result, "the result of a run stays with an ended job")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = work(0, "echo 'result 2 pages' >&3");
    ended_free(&ended);
    check_shown("attempt 1: done: 2 pages\n", WORDS("log", "1"));
    check_shown("2 pages", WORDS("ls", "--id", "1"));
}

TEST(deadline, "a program may ask for a longer deadline, for none, or keep the one it has going")
{
    static const char *const scripts[] = {
        "echo deadline 1h >&3; sleep 0.6; echo done >> done",
        "echo deadline none >&3; sleep 0.6; echo done >> done",
        "for i in 1 2 3 4 5 6; do echo touch >&3; sleep 0.1; done; echo done >> done",
        "exec 3>&-; echo done >> done",
    };
    program_init();
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        WEIR(0, "put", "-q", "t", "x");
        struct ended ended = work(0, scripts[i]);
        ended_free(&ended);
        CHECK_INT(count_lines("done"), ==, i + 1);
    }
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended =
        work(0, "[ $WEIR_ATTEMPT -gt 1 ] && exit; echo deadline 10ms >&3; sleep 60");
    check_said(&ended, "job 5: run 1: ");
}

TEST(overrun, "a run that is ended at its deadline has no other reason")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = WEIR_EXPECT(1, "work", "-e", "--attempts", "1", "--deadline", "300ms", "t",
                                     "--", "sh", "-c", "echo bury never >&3; exec sleep 60");
    CHECK(strstr(ended.err, "never") == NULL);
    check_said(&ended, "job 1: buried after run 1: ");
}

TEST(refused, "a line that makes no sense is told of once, and the run goes on")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct ended ended = work(0, "printf 'progress many\\nresults\\nretry' >&3");
    const char *told =
        strstr(ended.err, "job 1: control line \"progress many\": expected progress");
    CHECK(told != NULL && strstr(told + 10, "job 1:") == NULL);
    ended_free(&ended);
    /* What nobody reads must not hold the program up: more than a pipe takes. */
    WEIR(0, "put", "-q", "t", "x");
    ended =
        WEIR_EXPECT(0, "work", "-e", "t", "--", "sh", "-c", "yes 'progress 5' | head -n 50000 >&3");
    ended_free(&ended);
}

TEST(persistent, "what a persistent program tells is of the job that it has")
{
    static const char script[] = "while read -r line; do\n"
                                 "[ $line = two ] || echo result first $line >&3\n"
                                 "echo 0; done";
    program_init();
    WEIR(0, "put", "-q", "t", "one");
    WEIR(0, "put", "-q", "t", "two");
    struct ended ended =
        WEIR_EXPECT(0, "work", "-e", "--persistent", "lines", "t", "--", "sh", "-c", script);
    ended_free(&ended);
    check_shown("attempt 1: done: first one\n", WORDS("log", "1"));
    check_shown("attempt 1: done\n", WORDS("log", "2"));
}
