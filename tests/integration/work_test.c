/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/duration.h>

/* `weir work`: how a program is run for a job, and what its end means. */

/* One line of the log that weir_probe writes. Times are kept as text of one length, so that
 * comparing them loses nothing. */
struct run {
    long id;
    int attempt;
    char run_at[32];
    char now[32];
};

static size_t read_log(struct run *runs, size_t most)
{
    char *log = read_file("log", NULL);
    size_t count = 0;
    char *save = NULL;
    for (char *line = log != NULL ? strtok_r(log, "\n", &save) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        CHECK_INT(count, <, most);
        struct run *run = &runs[count++];
        CHECK_INT(sscanf(line, "%ld %d %31s %31s", &run->id, &run->attempt, run->run_at, run->now),
                  ==, 4);
        CHECK_INT(strlen(run->run_at), ==, strlen(run->now));
    }
    free(log);
    return count;
}

static double seconds_between(const char *first, const char *second)
{
    return strtod(second, NULL) - strtod(first, NULL);
}

static void check_contains(const char *text, const char *expected)
{
    if (strstr(text, expected) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", expected, text);
    }
}

/* The run is told, and the delay after it: that of the options, and up to a tenth more. */
static void check_again(const char *text, const char *run, int64_t delay_ns)
{
    char before[64];
    char delay[32] = "";
    int64_t told_ns = -1;
    (void)snprintf(before, sizeof(before), "%s; again in ", run);
    check_contains(text, before);
    (void)sscanf(strstr(text, before) + strlen(before), "%31[^\n]", delay);
    CHECK_STATUS(weir_duration_parse(delay, &told_ns, NULL), WEIR_OK);
    CHECK_INT(told_ns, >=, delay_ns);
    CHECK_INT(told_ns, <=, delay_ns + delay_ns / 10);
}

TEST(flow, "what is put is counted, shown, run and counted as done")
{
    program_init();
    WEIR(0, "put", "t", "one");
    WEIR(0, "put", "t", "two");
    CHECK_INT(program_count("t", "ready"), ==, 2);
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--body", "t");
    check_contains(ended.out, "two");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "work", "--until-empty", "t", "--", "cat");
    CHECK_STRING(ended.out, "onetwo");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready"), ==, 0);
    CHECK_INT(program_count("t", "done"), ==, 2);
}

TEST(facts,
     "the program sees its words, the job's facts, four descriptors, its own group, the body")
{
    program_init();
    CHECK_INT(setenv("OTHER", "kept", 1), ==, 0);
    CHECK_INT(setenv("WEIR_TUBE", "not this", 1), ==, 0);
    CHECK_INT(setenv("WEIR_JOB_IDENTITY", "not this", 1), ==, 0);
    CHECK_INT(setenv("WEIR_HEADER_OTHER", "not this", 1), ==, 0);
    struct ended ended =
        program_run_with("a\0b\n", 4,
                         WORDS("put", "--priority", "-3", "--ttr", "1m30s", "--header",
                               "content-type=a b=c", "--header", "x1=", "a/tube.1"));
    CHECK_INT(ended.code, ==, 0);
    ended.out[strcspn(ended.out, "\n")] = '\0';
    char identity[300];
    struct ended shown = program_run(WORDS("ls", "--json", "--id", ended.out));
    json_t *job = json_loads(shown.out, 0, NULL);
    (void)snprintf(identity, sizeof(identity), "variable WEIR_JOB_IDENTITY=%s\n",
                   json_string_value(json_object_get(job, "identity")));
    json_decref(job);
    ended_free(&shown);
    WEIR(0, "work", "-e", "a/tube.1", "--", WEIR_PROBE, "facts", "facts", "two  spaces",
         "; touch made $(touch made)", "new\nline", "--jobs", "", "--", "\xff");
    char *facts = read_file("facts", NULL);
    CHECK(facts != NULL);
    char id[64];
    (void)snprintf(id, sizeof(id), "variable WEIR_JOB_ID=%s\n", ended.out);
    check_contains(facts, id);
    check_contains(facts, "word 74776f2020737061636573\n"
                          "word 3b20746f756368206d616465202428746f756368206d61646529\n"
                          "word 6e65770a6c696e65\nword 2d2d6a6f6273\nword \nword 2d2d\nword ff\n");
    check_contains(facts, "variable OTHER=kept\n");
    check_contains(facts, "variable WEIR_TUBE=a/tube.1\n");
    CHECK(strstr(facts, "not this") == NULL);
    check_contains(facts, "variable WEIR_ATTEMPT=1\n");
    check_contains(facts, "variable WEIR_FENCE=");
    check_contains(facts, identity);
    check_contains(facts, "variable WEIR_PRIORITY=-3\n");
    check_contains(facts, "variable WEIR_HEADER_CONTENT_TYPE=a b=c\n");
    check_contains(facts, "variable WEIR_HEADER_X1=\n");
    check_contains(facts, "variable WEIR_TTR=90.000000000\n");
    char broker[600];
    (void)snprintf(broker, sizeof(broker), "variable WEIR_BROKER=%s\n", getenv("WEIR_BROKER"));
    check_contains(facts, broker);
    char *first = strstr(facts, "descriptor ");
    CHECK(first != NULL);
    CHECK(strncmp(first, "descriptor 0\ndescriptor 1\ndescriptor 2\ndescriptor 3\ngroup own\n",
                  61) == 0);
    check_contains(facts, "variable WEIR_CONTROL_FD=3\n");
    check_contains(facts, "body 6100620a\n");
    CHECK(access("made", F_OK) != 0);
    free(facts);
    ended_free(&ended);
}

TEST(exit_statuses, "0 is done; 75, another status and a signal are retried; --bury-on buries")
{
    static const struct {
        const char *script;
        int code;
        int64_t done;
        int64_t retried;
        int64_t buried;
    } rows[] = {
        {"exit 0", 0, 1, 0, 0},        {"exit 75", 1, 0, 1, 1},       {"exit 1", 1, 0, 1, 1},
        {"kill -SEGV $$", 1, 0, 1, 1}, {"kill -KILL $$", 1, 0, 1, 1}, {"exit 65", 1, 0, 0, 1},
        {"exit 7", 1, 0, 0, 1},        {"exit 255", 1, 0, 1, 1},      {"kill -7 $$", 1, 0, 1, 1},
    };
    program_init();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char tube[16];
        (void)snprintf(tube, sizeof(tube), "t%zu", i);
        WEIR(0, "put", tube, "x");
        WEIR(rows[i].code, "work", "-e", "--attempts", "2", "--retry-delay", "1ms", "--bury-on",
             "5-9,65", tube, "--", "sh", "-c", rows[i].script);
        CHECK_INT(program_count(tube, "done"), ==, rows[i].done);
        CHECK_INT(program_count(tube, "retried"), ==, rows[i].retried);
        CHECK_INT(program_count(tube, "buried"), ==, rows[i].buried);
    }
}

TEST(told, "a buried job is told, with --verbose every failed run is, in one line each")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended = WEIR_EXPECT(1, "work", "-e", "-v", "--attempts", "2", "--retry-delay",
                                     "5ms", "t", "--", "sh", "-c", "exit 3");
    check_again(ended.err, ": run 1: exit status 3", WEIR_MS(5));
    check_contains(ended.err, ": buried after run 2: exit status 3\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "ls", "--next", "t");
    check_contains(ended.out, "attempt 2: exit status 3");
    ended_free(&ended);
    WEIR(0, "put", "u", "x");
    WEIR(1, "work", "-e", "--attempts", "1", "u", "--", "sh", "-c", "kill -KILL $$");
    ended = WEIR_EXPECT(0, "ls", "--next", "u");
    check_contains(ended.out, "attempt 1: signal 9");
    ended_free(&ended);
}

TEST(never_early, "no delayed job runs before its time")
{
    enum {
        COUNT = 40
    };
    program_init();
    for (int i = 0; i < COUNT; i++) {
        char delay[24];
        (void)snprintf(delay, sizeof(delay), "%" PRIu64 "us", test_random_below(1500000));
        WEIR(0, "put", "--quiet", "--delay", delay, "t", "x");
    }
    WEIR(0, "work", "-j", "4", "-e", "t", "--", WEIR_PROBE, "log", "log");
    struct run runs[COUNT];
    CHECK_INT(read_log(runs, COUNT), ==, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(runs[i].now, runs[i].run_at) < 0) {
            test_fail(__FILE__, __LINE__, "job %ld ran at %s, not from %s on", runs[i].id,
                      runs[i].now, runs[i].run_at);
        }
    }
}

TEST(growing_delays, "a job that fails comes back after delays that double")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "work", "-e", "--retry-delay", "50ms", "t", "--", WEIR_PROBE, "log", "log", "4", "75");
    struct run runs[5];
    CHECK_INT(read_log(runs, 5), ==, 5);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(runs[i].attempt, ==, i + 1);
        CHECK(strcmp(runs[i].now, runs[i].run_at) >= 0);
        if (i > 0) {
            CHECK(seconds_between(runs[i - 1].now, runs[i].now) >= 0.05 * (1 << (i - 1)));
        }
    }
    CHECK_INT(program_count("t", "retried"), ==, 4);
    CHECK_INT(program_count("t", "done"), ==, 1);
}

TEST(retry_max, "--retry-max bounds the delay, before its random part")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "work", "-e", "-v", "--retry-delay", "10ms", "--retry-max",
                                     "25ms", "t", "--", WEIR_PROBE, "log", "log", "4", "75");
    check_again(ended.err, "run 1: exit status 75", WEIR_MS(10));
    check_again(ended.err, "run 2: exit status 75", WEIR_MS(20));
    check_again(ended.err, "run 3: exit status 75", WEIR_MS(25));
    check_again(ended.err, "run 4: exit status 75", WEIR_MS(25));
    ended_free(&ended);
}

TEST(deadline, "a run past its deadline is ended with its whole session, and retried")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct ended ended = WEIR_EXPECT(
        0, "work", "-e", "-v", "--deadline", "200ms", "--grace", "100ms", "--retry-delay", "1ms",
        "t", "--", "sh", "-c",
        "[ $WEIR_ATTEMPT = 1 ] || exit 0; trap '' TERM; sleep 1000 & sleep 1001 & wait");
    check_again(ended.err, "run 1: the time limit passed", WEIR_MS(1));
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, 1);
}

TEST(parallel, "-j 4 runs four at once")
{
    program_init();
    for (int i = 0; i < 4; i++) {
        WEIR(0, "put", "t", "x");
    }
    /* Each waits until all four have begun; a fifth of a second more or less does not matter. */
    WEIR(0, "work", "-j", "4", "-e", "t", "--", "sh", "-c",
         ": > begun.$WEIR_JOB_ID; while set -- begun.*; [ $# -lt 4 ]; do sleep 0.01; done");
    CHECK_INT(program_count("t", "done"), ==, 4);
}

TEST(summary,
     "at the end the counts and run times are told, on request as JSON in a file and on output")
{
    program_init();
    for (int i = 0; i < 10; i++) {
        WEIR(0, "put", "t", "x");
    }
    struct ended ended = WEIR_EXPECT(1, "work", "-e", "--json", "--summary", "summary",
                                     "--attempts", "2", "--retry-delay", "1ms", "t", "--", "sh",
                                     "-c", "[ $((WEIR_JOB_ID % 5)) -gt 0 ]");
    check_contains(ended.err, "weir work: t: 8 jobs done in ");
    check_contains(ended.err, " 12 runs (p50 ");
    check_contains(ended.err, " 2 retries, 2 buried, 0 lost\n");
    char *file = read_file("summary", NULL);
    CHECK(file != NULL);
    CHECK_STRING(file, ended.out);
    json_t *object = json_loads(file, 0, NULL);
    CHECK(object != NULL);
    CHECK_INT(json_integer_value(json_object_get(object, "done")), ==, 8);
    CHECK_INT(json_integer_value(json_object_get(object, "runs")), ==, 12);
    CHECK_INT(json_integer_value(json_object_get(object, "retried")), ==, 2);
    CHECK_INT(json_integer_value(json_object_get(object, "buried")), ==, 2);
    json_t *times = json_object_get(object, "run_seconds");
    double half = json_real_value(json_object_get(times, "p50"));
    double most = json_real_value(json_object_get(times, "max"));
    CHECK(half > 0 && half <= most);
    CHECK(most <= json_real_value(json_object_get(object, "seconds")));
    json_decref(object);
    free(file);
    ended_free(&ended);
}

TEST(progress, "--progress tells of progress where standard error is no terminal, a line each time")
{
    program_init();
    WEIR(0, "put", "t", "not of this process");
    WEIR(0, "bury", "1");
    WEIR(0, "put", "--delay", "2500ms", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "work", "-e", "--progress", "t", "--", "true");
    check_contains(ended.err, "weir work: t: 0 done (0/s), 0 running, 0 retries, 0 buried\n");
    CHECK(strchr(ended.err, '\r') == NULL && strchr(ended.err, '\033') == NULL);
    ended_free(&ended);
}

static const char patient[] = ": > begun; while [ ! -e go ]; do sleep 0.01; done";

TEST(graceful_stop, "the first signal lets what runs go on to its end, and takes nothing more")
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    program_init();
    for (size_t i = 0; i < 3; i++) {
        WEIR(0, "put", "t", "x");
        WEIR(0, "put", "t", "y");
        struct running running =
            program_start("", 0, WORDS("work", "t", "--", "sh", "-c", patient));
        WAIT_UNTIL(access("begun", F_OK) == 0);
        CHECK_INT(kill(running.pid, signals[i]), ==, 0);
        char *err = NULL;
        WAIT_UNTIL((free(err), err = program_err(&running), strstr(err, "stopping") != NULL));
        free(err);
        write_file("go", "", 0, 0600);
        struct ended ended = program_wait(&running);
        CHECK_INT(ended.code, ==, 0);
        check_contains(ended.err, "weir work: stopping; 1 running jobs go on to their end");
        ended_free(&ended);
        CHECK_INT(program_count("t", "done"), ==, 2 * i + 1);
        CHECK_INT(program_count("t", "ready"), ==, 1);
        CHECK_INT(unlink("begun"), ==, 0);
        WEIR(0, "work", "-e", "t", "--", "true");
        CHECK_INT(unlink("go"), ==, 0);
    }
}

TEST(forced_stop, "the second signal ends what runs, with its group; the job is not lost")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct running running = program_start("", 0,
                                           WORDS("work", "--attempts", "1", "t", "--", "sh", "-c",
                                                 ": > begun; sleep 1000 & sleep 1000"));
    WAIT_UNTIL(access("begun", F_OK) == 0);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    char *err = NULL;
    WAIT_UNTIL((free(err), err = program_err(&running), strstr(err, "stopping") != NULL));
    free(err);
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 75);
    check_contains(ended.err, "weir work: ending 1 running jobs\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, 0);
    CHECK_INT(program_count("t", "buried"), ==, 0);
    CHECK_INT(program_count("t", "ready") + program_count("t", "delayed"), ==, 1);
    WEIR(0, "work", "-e", "t", "--", "true");
    CHECK_INT(program_count("t", "done"), ==, 1);
}

TEST(stopped_before_empty, "--until-empty that a signal cut short is a failure, to be tried again")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "put", "--delay", "1h", "t", "y");
    struct running running = program_start("", 0, WORDS("work", "-e", "t", "--", "true"));
    WAIT_UNTIL(program_count("t", "done") == 1);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 75);
    ended_free(&ended);
    CHECK_INT(program_count("t", "delayed"), ==, 1);
}

TEST(program_vanishes, "a program that cannot be run any more ends the work, and no job is lost")
{
    static const char script[] = "#!/bin/sh\nmv \"$0\" gone\n";
    program_init();
    write_file("handler", script, sizeof(script) - 1, 0755);
    for (int i = 0; i < 3; i++) {
        WEIR(0, "put", "t", "x");
    }
    struct ended ended = WEIR_EXPECT(69, "work", "--retry-delay", "1h", "t", "--", "./handler");
    check_contains(ended.err, "weir work: \"./handler\": cannot be run: No such file or directory; "
                              "stopping\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, 1);
    CHECK_INT(program_count("t", "ready") + program_count("t", "delayed"), ==, 2);
}

TEST(no_zombies, "a worker has no child left between jobs, even where its parent ignored their end")
{
    program_init();
    for (int i = 0; i < 50; i++) {
        WEIR(0, "put", "t", "x");
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    CHECK_INT(sigaction(SIGCHLD, &ignore, &before), ==, 0);
    struct running running =
        program_start("", 0, WORDS("work", "-j", "4", "t", "--", "sh", "-c", "true & exit 0"));
    CHECK_INT(sigaction(SIGCHLD, &before, NULL), ==, 0);
    WAIT_UNTIL(program_count("t", "done") == 50);
    char command[160];
    (void)snprintf(command, sizeof(command), "[ -z \"$(cat /proc/%d/task/*/children)\" ]",
                   (int)running.pid);
    CHECK_INT(system(command), ==, 0);
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

TEST(closed_streams, "closed standard streams do not end up as the store's descriptors")
{
    program_init();
    WEIR(0, "put", "t", "x");
    CHECK_INT(
        system("exec \"" WEIR_PROGRAM "\" work -e t -- \"" WEIR_PROBE "\" log log <&- >&- 2>&-"),
        ==, 0);
    CHECK_INT(count_lines("log"), ==, 1);
    CHECK_INT(program_count("t", "done"), ==, 1);
}

TEST(several_tubes, "work takes jobs of several tubes by their weights, at a rate if asked")
{
    program_init();
    for (int i = 0; i < 8; i++) {
        WEIR(0, "put", "a", "x");
        WEIR(0, "put", "b", "x");
    }
    struct ended ended = WEIR_EXPECT(0, "work", "-e", "a=3", "b", "--rate", "1000", "--", "sh",
                                     "-c", "echo $WEIR_TUBE");
    CHECK(strncmp(ended.out, "a\na\nb\na\na\na\nb\na\n", 16) == 0);
    CHECK(strstr(ended.err, "weir work: a, b: 16 jobs done") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("a", "done"), ==, 8);
    CHECK_INT(program_count("b", "done"), ==, 8);
}

TEST(per_group,
     "policy --per-group runs at most so many jobs of a group at once, and others meanwhile")
{
    /* The first run of a waits until those behind it have run. */
    static const char script[] =
        "[ \"$WEIR_GROUP\" = a ] && { mkdir a || echo two at once >> bad;\n"
        "until [ -e 'got b c' ] && [ -e 'got ' ]; do sleep 0.01; done; rmdir a; }\n"
        ": > \"got $WEIR_GROUP\"";
    program_init();
    for (int i = 0; i < 6; i++) {
        WEIR(0, "put", "-q", "--group", "a", "t", "x");
    }
    WEIR(0, "put", "-q", "--group", "b c", "t", "y");
    WEIR(0, "put", "-q", "t", "z");
    WEIR(0, "policy", "t", "--per-group", "1");
    WEIR(0, "work", "-e", "-j", "4", "t", "--", "sh", "-c", script);
    CHECK_INT(count_lines("bad"), ==, 0);
    CHECK_INT(program_count("t", "done"), ==, 8);
    WEIR(0, "put", "-q", "--group", "a", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "why", "9");
    CHECK(strstr(ended.out, "0 of its group \\\"a\\\" run") != NULL);
    ended_free(&ended);
}
