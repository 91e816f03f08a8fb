/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/program.h"

/* `weir cancel`, and what it tells. */

static void check_out(const char *const words[], int code, const char *out)
{
    struct ended ended = program_expect(__FILE__, __LINE__, code, words);
    CHECK_STRING(ended.out, out);
    ended_free(&ended);
}

static bool says(const char *const words[], const char *text)
{
    struct ended ended = program_run(words);
    bool found = strstr(ended.out, text) != NULL;
    ended_free(&ended);
    return found;
}

TEST(waiting, "a job that waits is buried or deleted at once; a retry needs a run")
{
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "one");
    WEIR(0, "put", "t", "two");
    WEIR(0, "put", "t", "three");
    check_out(WORDS("cancel", "1"), 0, "buried 1\n");
    CHECK(says(WORDS("ls", "--json", "--id", "1"), "\"reason\":\"canceled by "));
    check_out(WORDS("cancel", "--reason", "no need", "2"), 0, "buried 2\n");
    CHECK(says(WORDS("ls", "--json", "--id", "2"), "\"reason\":\"no need\""));
    struct ended ended = WEIR_EXPECT(65, "cancel", "--retry", "3");
    CHECK(strstr(ended.err, "\"3\": is ready; ") != NULL);
    CHECK(strstr(ended.err, "expected a job that is reserved") != NULL);
    ended_free(&ended);
    check_out(WORDS("cancel", "--remove", "--json", "1", "3", "9"), 66,
              "{\"id\":\"1\",\"result\":\"removed\"}\n{\"id\":\"3\",\"result\":\"removed\"}\n"
              "{\"id\":\"9\",\"result\":\"not found\"}\n");
    CHECK_INT(program_count("t", "ready"), ==, 0);
    CHECK_INT(program_count("t", "buried"), ==, 1);
}

TEST(ended, "a job that has ended is left, and its state is told")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "work", "-e", "t", "--", "true");
    struct ended ended = WEIR_EXPECT(65, "cancel", "1");
    CHECK(strstr(ended.err, "\"1\": is ended; ") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, 1);
}

/* A worker with one job, whose program ends when it is told to; its TTR is an hour, so that no
 * renewal is due. */
static struct running start(const char *tube)
{
    WEIR(0, "put", "--ttr", "1h", tube, "x");
    struct running worker = program_start(
        "", 0,
        WORDS("work", "-j", "1", tube, "--", "sh", "-c", "echo on >>begun; exec sleep 1000"));
    WAIT_UNTIL(program_count(tube, "reserved") == 1 && access("begun", F_OK) == 0);
    return worker;
}

static void stop(struct running *worker)
{
    CHECK_INT(kill(worker->pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(worker);
    ended_free(&ended);
}

TEST(running, "a job that runs is asked to end, and is then what the verdict says")
{
    program_init();
    struct running worker = start("t");
    struct ended ended = WEIR_EXPECT(75, "rm", "1");
    CHECK(strstr(ended.err, "has it; expected") != NULL);
    CHECK(strstr(ended.err, "`weir cancel --remove` ends its run") != NULL);
    ended_free(&ended);
    check_out(WORDS("cancel", "--reason", "it hangs", "1"), 0, "asked 1 to end\n");
    WAIT_UNTIL(program_count("t", "buried") == 1);
    CHECK(says(WORDS("ls", "--json", "--id", "1"), "\"reason\":\"it hangs\""));
    CHECK(says(WORDS("log", "--json", "1"), "\"outcome\":\"canceled\""));
    CHECK_INT(program_count("t", "reserved"), ==, 0);
    stop(&worker);
}

TEST(all_that_run, "those that match a filter are asked to end; the last verdict counts")
{
    program_init();
    struct running worker = start("t");
    WEIR(0, "put", "t", "waits");
    check_out(WORDS("cancel", "--tube", "t", "--state", "reserved", "--dry-run"), 0,
              "would bury 1 job\n");
    CHECK_INT(kill(worker.pid, SIGSTOP), ==, 0);
    check_out(WORDS("cancel", "--retry", "1"), 0, "asked 1 to end\n");
    check_out(WORDS("cancel", "--remove", "--yes", "--tube", "t", "--older", "0s"), 0,
              "removed 1 job, asked 1 to end\n");
    CHECK(says(WORDS("ls", "--json", "--id", "1"), "\"verdict\":\"remove\""));
    CHECK_INT(kill(worker.pid, SIGCONT), ==, 0);
    WAIT_UNTIL(program_count("t", "reserved") == 0);
    CHECK_INT(program_count("t", "ready") + program_count("t", "buried"), ==, 0);
    CHECK(says(WORDS("why", "1"), "it was canceled, after run 1"));
    stop(&worker);
}
