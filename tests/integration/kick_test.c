/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "integration/program.h"
#include "integration/terminal.h"

/* `weir kick` of jobs that are not buried, with a rate, and until Ctrl-C. */

static void check_out(const char *const words[], const char *out, const char *err)
{
    struct ended ended = program_expect(__FILE__, __LINE__, 0, words);
    CHECK_STRING(ended.out, out);
    CHECK_STRING(ended.err, err);
    ended_free(&ended);
}

/* A job that has failed once, and waits so long; the count-th of its tube. */
static void fail_once(const char *tube, const char *delay, int64_t count)
{
    char wait[64];
    char most[64];
    (void)snprintf(wait, sizeof(wait), "--retry-delay=%s", delay);
    (void)snprintf(most, sizeof(most), "--retry-max=%s", delay);
    WEIR(0, "put", tube, "x");
    struct running worker = program_start("", 0, WORDS("work", wait, most, tube, "--", "false"));
    WAIT_UNTIL(program_count(tube, "retried") == count);
    CHECK_INT(kill(worker.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&worker);
    ended_free(&ended);
}

TEST(retries, "retries are kicked alone, and those of a day and more stay unless --yes says so")
{
    program_init();
    WEIR(0, "put", "--delay", "700h", "t", "next month");
    fail_once("t", "1h", 1);
    fail_once("t", "100h", 2);
    check_out(
        WORDS("kick", "--retries", "t"), "kicked 1 job\n",
        "weir kick: \"t\": 1 are for more than a day from now, and stay; --yes runs them too\n");
    CHECK_INT(program_count("t", "ready"), ==, 1);
    check_out(WORDS("kick", "--retries", "--yes", "t"), "kicked 1 job\n", "");
    CHECK_INT(program_count("t", "ready"), ==, 2);
    CHECK_INT(program_count("t", "delayed"), ==, 1);
}

TEST(one_delayed, "a delayed job is kicked by its id, and a ready one is left")
{
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "x");
    check_out(WORDS("kick", "1"), "kicked 1\n", "");
    CHECK_INT(program_count("t", "ready"), ==, 1);
    WEIR(65, "kick", "1");
    WEIR(0, "put", "--delay", "1h", "t", "x");
    WEIR(0, "bury", "2");
    check_out(WORDS("kick", "t"), "kicked 1 job\n", "");
}

TEST(delayed_asks, "all delayed jobs are kicked after a question with their number and latest time")
{
    static const char *const argv[] = {"weir", "kick", "--state", "delayed", "t", NULL};
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "x");
    WEIR(0, "put", "--at", "2100-01-31T06:00:00Z", "t", "x");
    WEIR(0, "put", "t", "x");
    WEIR(64, "kick", "--state", "delayed", "t");
    CHECK_INT(program_count("t", "delayed"), ==, 2);
    static const char *const answers[] = {"n\n", "y\n"};
    for (int agreed = 0; agreed < 2; agreed++) {
        struct terminal terminal;
        pid_t pid = start_on_terminal(&terminal, TERMINAL_ALL, argv);
        char *text = calloc(TEXT_MAX + 1, 1);
        CHECK(text != NULL);
        read_terminal(&terminal, text,
                      "run 2 jobs of \"t\" now, the latest of which is for 2100-01-31T06:00:00");
        read_terminal(&terminal, text, "[y/N] ");
        CHECK_INT(write(terminal.ours, answers[agreed], 2), ==, 2);
        read_terminal(&terminal, text, NULL);
        CHECK_INT(end_on_terminal(&terminal, pid), ==, agreed ? 0 : 75);
        CHECK_INT(program_count("t", "delayed"), ==, agreed ? 0 : 2);
        free(text);
    }
    WEIR(0, "put", "--delay", "1h", "t", "x");
    check_out(WORDS("kick", "--state", "delayed", "--yes", "t"), "kicked 1 job\n", "");
}

TEST(delayed_later, "a job that is put after the question for a later time than was told stays")
{
    static const char *const argv[] = {"weir", "kick", "--state", "delayed", "t", NULL};
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "x");
    WEIR(0, "put", "--delay", "2h", "t", "x");
    struct terminal terminal;
    pid_t pid = start_on_terminal(&terminal, TERMINAL_ALL, argv);
    char *text = calloc(TEXT_MAX + 1, 1);
    CHECK(text != NULL);
    read_terminal(&terminal, text, "[y/N] ");
    WEIR(0, "put", "--delay", "300d", "t", "x");
    CHECK_INT(write(terminal.ours, "y\n", 2), ==, 2);
    read_terminal(&terminal, text, NULL);
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 0);
    CHECK(strstr(text, "\"t\": 1 are for a later time than that, and stay") != NULL);
    free(text);
    CHECK_INT(program_count("t", "ready"), ==, 2);
    CHECK_INT(program_count("t", "delayed"), ==, 1);
    struct ended ended = WEIR_EXPECT(64, "kick", "--retries", "--state", "buried", "t");
    CHECK(strstr(ended.err, "\"buried\": expected a job that is delayed\n") != NULL);
    ended_free(&ended);
}

TEST(rate, "a rate spreads the run times, which why tells, and the first one runs now")
{
    program_init();
    for (int i = 0; i < 3; i++) {
        WEIR(0, "put", "t", "x");
    }
    WEIR(0, "bury", "1", "2", "3");
    check_out(WORDS("kick", "--rate", "1/h", "t"), "kicked 3 jobs\n", "");
    CHECK_INT(program_count("t", "ready"), ==, 1);
    CHECK_INT(program_count("t", "delayed"), ==, 2);
    struct ended ended = WEIR_EXPECT(0, "why", "3");
    CHECK(strstr(ended.out, "3 is delayed: its time has not come; it can start at ") != NULL);
    ended_free(&ended);
}

/* Whether a process has a signal blocked. */
static bool blocks(pid_t pid, int number)
{
    char path[64];
    char line[256];
    unsigned long long mask = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    FILE *status = fopen(path, "re");
    CHECK(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0) {
            mask = strtoull(line + 7, NULL, 16);
        }
    }
    (void)fclose(status);
    return (mask >> (unsigned)(number - 1) & 1) != 0;
}

TEST(interrupted, "Ctrl-C ends a kick after its step: the rest is as it was, and the count is told")
{
    static const char *const argv[] = {"weir",        "kick", "--state", "delayed",
                                       "--lock-wait", "1h",   "t",       NULL};
    program_init();
    size_t size = 2500 * 2;
    char *lines = malloc(size);
    CHECK(lines != NULL);
    for (size_t i = 0; i < size; i += 2) {
        lines[i] = 'x';
        lines[i + 1] = '\n';
    }
    struct ended ended = program_run_with(lines, size, WORDS("put", "-lq", "--delay", "9h", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(lines);
    struct terminal terminal;
    pid_t pid = start_on_terminal(&terminal, TERMINAL_ALL, argv);
    char *text = calloc(TEXT_MAX + 1, 1);
    CHECK(text != NULL);
    read_terminal(&terminal, text, "run 2500 jobs of \"t\" now");
    /* Its first step waits for the lock until the signal has come. */
    int lock = open("jobs.db.lock", O_RDWR | O_CLOEXEC);
    CHECK(lock >= 0);
    CHECK_INT(flock(lock, LOCK_EX), ==, 0);
    CHECK_INT(write(terminal.ours, "y\n", 2), ==, 2);
    WAIT_UNTIL(blocks(pid, SIGINT));
    CHECK_INT(kill(pid, SIGINT), ==, 0);
    CHECK_INT(close(lock), ==, 0);
    read_terminal(&terminal, text, NULL);
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 75);
    const char *told = strstr(text, "kicked ");
    CHECK(told != NULL);
    int64_t kicked = strtoll(told + strlen("kicked "), NULL, 10);
    CHECK_INT(kicked, <=, 1000); /* what was found before the signal was seen */
    CHECK(strstr(text, "interrupted; all others are as they were") != NULL);
    free(text);
    CHECK_INT(program_count("t", "ready"), ==, kicked);
    CHECK_INT(program_count("t", "delayed"), ==, 2500 - kicked);
}

/* Each run holds a lock of its job as long as a process of it lives, and says where it has to share
 * it. A first run lasts until it is killed. */
static const char locked_run[] =
    "exec 9>\"lock.$WEIR_JOB_ID\"; flock -n 9 || echo overlap >>ledger; echo begin >>ledger; "
    "[ -e go ] || exec sleep 1000";

static bool says(const char *const words[], const char *text)
{
    struct ended ended = program_run(words);
    bool found = strstr(ended.out, text) != NULL;
    ended_free(&ended);
    return found;
}

TEST(dead,
     "the jobs of a worker that was killed are taken back by one command, and run once at a time")
{
    program_init();
    char lines[50 * 2 + 1] = "";
    for (int i = 0; i < 50; i++) {
        strcat(lines, "x\n");
    }
    struct ended ended = program_run_with(lines, 100, WORDS("put", "-lq", "--ttr", "1h", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    struct running worker =
        program_start("", 0, WORDS("work", "-j", "50", "t", "--", "sh", "-c", locked_run));
    WAIT_UNTIL(count_lines("ledger") == 50);
    ended = WEIR_EXPECT(0, "kick", "--dead");
    CHECK_STRING(ended.out, "took back 0 jobs\n");
    CHECK(strstr(ended.err, "50 are reserved by workers that live") != NULL);
    ended_free(&ended);
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    ended = program_wait(&worker);
    ended_free(&ended);
    /* Its guard ends after the last program. */
    WAIT_UNTIL(says(WORDS("ls", "--json", "--id", "1"), "\"process_lives\":false"));
    CHECK(says(WORDS("ls", "--state", "reserved", "t"), " does not live\n"));
    check_out(WORDS("kick", "--dead", "t"), "took back 50 jobs\n", "");
    CHECK_INT(program_count("t", "ready"), ==, 50);
    CHECK(says(WORDS("log", "1"), "does not live"));
    write_file("go", "", 0, 0600);
    WEIR(0, "work", "-e", "-j", "8", "t", "--", "sh", "-c", locked_run);
    CHECK_INT(program_count("t", "done"), ==, 50);
    CHECK_INT(count_lines("ledger"), ==, 100); /* and no overlap */
    char *ledger = read_file("ledger", NULL);
    CHECK(strstr(ledger, "overlap") == NULL);
    free(ledger);
}

TEST(living, "a job of a worker that lives is left, and the ways to get it are named")
{
    program_init();
    WEIR(0, "put", "--ttr", "1h", "t", "x");
    struct running worker = program_start(
        "", 0, WORDS("work", "t", "--", "sh", "-c", "echo on >>ledger; exec sleep 1000"));
    WAIT_UNTIL(count_lines("ledger") == 1);
    char says_process[64];
    (void)snprintf(says_process, sizeof(says_process), "a worker, process %ld, has it; ",
                   (long)worker.pid);
    struct ended ended = WEIR_EXPECT(75, "kick", "1");
    CHECK(strstr(ended.err, says_process) != NULL);
    CHECK(strstr(ended.err, "`weir cancel --retry` ends its run, --force takes it") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(64, "kick", "--force", "1");
    CHECK(strstr(ended.err, "--force: no terminal to ask on; expected --yes") != NULL);
    ended_free(&ended);
    check_out(WORDS("kick", "--force", "--yes", "1"), "took back 1\n", "");
    /* Its worker ends that run, and begins the next one. */
    WAIT_UNTIL(count_lines("ledger") == 2);
    CHECK(says(WORDS("ls", "--json", "--id", "1"), "\"attempts\":2"));
    CHECK_INT(kill(worker.pid, SIGTERM), ==, 0);
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    ended = program_wait(&worker);
    ended_free(&ended);
    WEIR(66, "kick", "--dead", "u");
}
