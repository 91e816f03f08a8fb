/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs of jobs that are cancelled while they run. No renewal is due: the TTR is an hour. */

static void put(const char *body)
{
    WEIR(0, "put", "-q", "--ttr", "1h", "t", body);
}

/* A worker whose program is this script, which has the body in $body. */
static struct running start_worker(const char *jobs, const char *script)
{
    static char whole[2000];
    (void)snprintf(whole, sizeof(whole), "read -r body; echo $$ > pid; %s", script);
    return program_start(
        "", 0, WORDS("work", "-j", jobs, "--grace", "300ms", "t", "--", "sh", "-c", whole));
}

static void end_worker(struct running *worker)
{
    CHECK_INT(kill(worker->pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

TEST(hung_full, "a program that hangs in a worker without a free slot gets TERM, and the next job "
                "has its slot")
{
    program_init();
    put("hang");
    put("next");
    struct running worker = start_worker(
        "1", "trap 'echo TERM >> log; exit 3' TERM; [ $body = next ] && exec touch next; "
             ": > started; sleep 1000 & wait");
    WAIT_UNTIL(access("started", F_OK) == 0);
    WEIR(0, "cancel", "1");
    WAIT_UNTIL(access("next", F_OK) == 0);
    end_worker(&worker);
    CHECK_INT(count_lines("log"), ==, 1);
    CHECK_INT(program_count("t", "buried"), ==, 1);
    CHECK_INT(program_count("t", "done"), ==, 1);
    struct ended ended = WEIR_EXPECT(0, "why", "1");
    CHECK(strstr(ended.out, "canceled by ") != NULL);
    ended_free(&ended);
}

TEST(trapped_term_is_no_success, "a program that ends with 0 since it was asked to has not done "
                                 "its job")
{
    program_init();
    put("x");
    struct running worker = start_worker("1", "trap 'exit 0' TERM; : > started; sleep 1000 & wait");
    WAIT_UNTIL(access("started", F_OK) == 0);
    WEIR(0, "cancel", "1");
    WAIT_UNTIL(program_count("t", "buried") == 1);
    end_worker(&worker);
    CHECK_INT(program_count("t", "done"), ==, 0);
}

TEST(exit_before_term_is_done, "one that has ended with 0 before it was asked to has done it, "
                               "whatever the verdict")
{
    program_init();
    put("x");
    struct running worker = start_worker("1", ": > started; until [ -e go ]; do sleep 0.01; done");
    WAIT_UNTIL(access("started", F_OK) == 0);
    char *pid = read_file("pid", NULL);
    CHECK_INT(kill(worker.pid, SIGSTOP), ==, 0);
    WEIR(0, "cancel", "1");
    write_file("go", "", 0, 0600);
    char path[64];
    char line[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", atoi(pid));
    while (strstr(line, ") Z ") == NULL) {
        FILE *file = fopen(path, "re");
        CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL);
        (void)fclose(file);
        program_pause();
    }
    CHECK_INT(kill(worker.pid, SIGCONT), ==, 0);
    WAIT_UNTIL(program_count("t", "done") == 1);
    end_worker(&worker);
    CHECK_INT(program_count("t", "buried"), ==, 0);
    free(pid);
}

TEST(waits_for_all, "the next run begins when nothing is left of the one before: TERM, then KILL")
{
    program_init();
    put("x");
    /* The first run leaves a member in a group of its own, which does not hear TERM. */
    struct running worker = start_worker(
        "2",
        "echo run >> log; if [ -e member ]; then grep -qv ') Z ' /proc/$(cat "
        "member)/stat && echo both >> log; "
        "touch second; exit 0; fi; timeout 1000 sh -c \"trap '' TERM; echo \\$\\$ > new; mv new "
        "member; exec sleep 1000\" & wait");
    WAIT_UNTIL(access("member", F_OK) == 0);
    WEIR(0, "cancel", "--retry", "1");
    WAIT_UNTIL(program_count("t", "done") == 1);
    end_worker(&worker);
    CHECK_INT(count_lines("log"), ==, 2);
    CHECK_INT(program_count("t", "retried"), ==, 1);
}

TEST(persistent, "a program that has one job after another ends with the run that was cancelled")
{
    static const char script[] =
        "while read -r body; do echo $$ $body >> log; if [ $body = hang ]; then : > started; "
        "sleep 1000 & wait; fi; echo 0; done";
    program_init();
    put("first");
    put("hang");
    put("last");
    struct running worker =
        program_start("", 0, WORDS("work", "--persistent", "lines", "t", "--", "sh", "-c", script));
    WAIT_UNTIL(access("started", F_OK) == 0);
    WEIR(0, "cancel", "--remove", "--yes", "2");
    WAIT_UNTIL(program_count("t", "done") == 2);
    end_worker(&worker);
    CHECK_INT(program_count("t", "buried"), ==, 0);
    int pids[3] = {0};
    char *log = read_file("log", NULL);
    CHECK_INT(sscanf(log, "%d first %d hang %d last", &pids[0], &pids[1], &pids[2]), ==, 3);
    CHECK_INT(pids[0], ==, pids[1]);
    CHECK_INT(pids[1], !=, pids[2]);
    free(log);
}

TEST(put_during, "a put by the key of a run that is cancelled is a job of its own")
{
    program_init();
    WEIR(0, "put", "-q", "--ttr", "1h", "--unique", "k", "t", "hang");
    struct running worker = start_worker(
        "1", "echo $body >> log; [ $body = hang ] || exit 0; : > started; exec sleep 1000");
    WAIT_UNTIL(access("started", F_OK) == 0);
    WEIR(0, "put", "-q", "--unique", "k", "--on-duplicate", "again", "t", "new");
    WEIR(0, "cancel", "--remove", "--yes", "1");
    WAIT_UNTIL(program_count("t", "done") == 1);
    end_worker(&worker);
    char *log = read_file("log", NULL);
    CHECK_STRING(log, "hang\nnew\n");
    free(log);
}

TEST(killed_worker, "where the worker is killed after it was asked, what it ran ends, and the next "
                    "look at the job applies the verdict")
{
    program_init();
    WEIR(0, "put", "-q", "--ttr", "1s", "t", "x");
    struct running worker =
        start_worker("1", "echo run >> log; trap '' TERM; : > started; sleep 1000 & wait; wait");
    WAIT_UNTIL(access("started", F_OK) == 0);
    CHECK_INT(kill(worker.pid, SIGSTOP), ==, 0); /* it cannot apply it itself */
    WEIR(0, "cancel", "1");
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.signal, ==, SIGKILL);
    ended_free(&ended);
    worker = start_worker("1", "echo run >> log");
    WAIT_UNTIL(program_count("t", "buried") == 1);
    end_worker(&worker);
    CHECK_INT(count_lines("log"), ==, 1);
}
