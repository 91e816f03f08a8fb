/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The harness, tested on an executable of tests that fail on purpose (planted/failing.c). */

static char output[65536];

/* Runs that executable; returns its exit status, its output in output. */
static int run(const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "%s %s 2>&1", WEIR_TEST_PLANTED, arguments);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    size_t length = fread(output, 1, sizeof(output) - 1, pipe);
    output[length] = '\0';
    int status = pclose(pipe);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void must_contain(const char *text)
{
    if (strstr(output, text) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", text, output);
    }
}

static void must_end_with(const char *text)
{
    size_t length = strlen(output);
    size_t wanted = strlen(text);
    if (length < wanted || strcmp(output + length - wanted, text) != 0) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not the end of:\n%s", text, output);
    }
}

TEST(passing, "a passing test gives exit status 0 and the closing line")
{
    CHECK_INT(run("--filter=passes"), ==, 0);
    must_contain("TAP version 13\n1..1\nok 1 - passes: nothing is wrong\n");
    must_end_with("\n1 passed, 0 failed, 0 skipped\n");
}

TEST(failures, "every way to fail is noticed and named")
{
    static const struct {
        const char *name;
        const char *text;
    } rows[] = {
        {"check", "not true: 1 + 1 == 3"},
        {"check_int", "40 + 2 == 41: 42, 41"},
        {"check_status", "WEIR_EINVAL: WEIR_EINVAL, expected WEIR_OK"},
        {"check_string", "\"this\" is \"this\", expected \"that\""},
        {"check_on_thread", "1 > 2: 1, 2"},
        {"crash", "ended by signal 11"},
        {"early_exit", "the process ended before the test, with exit status 0"},
        {"memory_left", "1 blocks of test_allocator() are left, 123 bytes"},
        {"memory_size", "64 bytes given back as 63 bytes"},
        {"fd_left", "is left: /dev/zero"},
        {"fd_closed", "file descriptor 0 was closed"},
        {"thread_left", "1 threads are left"},
        {"child_left", "a child is left running"},
        {"zombie_left", "nobody waited for it"},
        {"oom_unasked", "no allocation was made to fail"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char arguments[128];
        (void)snprintf(arguments, sizeof(arguments), "--filter=%s", rows[i].name);
        CHECK_INT(run(arguments), ==, 1);
        must_contain(rows[i].text);
        must_contain("not ok 1 - ");
        must_end_with("0 passed, 1 failed, 0 skipped\n");
    }
}

TEST(memory_misuse, "a block given back twice or written past its end is noticed")
{
    /* A sanitizer may be the first to say so, in its own words. */
    CHECK_INT(run("--filter=memory_twice"), ==, 1);
    CHECK_INT(run("--filter=memory_overrun"), ==, 1);
    must_end_with("0 passed, 1 failed, 0 skipped\n");
}

TEST(grandchild, "a process that left its group is found and ended")
{
    CHECK_INT(run("--filter=grandchild_left"), ==, 1);
    must_contain("processes are left running");
}

TEST(time_limit, "a test that hangs is ended at its limit, and its threads are shown")
{
    CHECK(setenv("WEIR_TEST_TIMEOUT_MULT", "0.01", 1) == 0);
    CHECK_INT(run("--filter=hang"), ==, 1);
    must_contain("the time limit passed; threads");
    must_contain("not finished after 0.6 s");
}

TEST(skipping, "a skipped test is told with its reason; all skipped is status 77")
{
    CHECK_INT(run("--filter=skipped"), ==, 77);
    must_contain("ok 1 - skipped: the test says that it cannot run # SKIP no moon here\n");
    must_end_with("0 passed, 0 failed, 1 skipped\n");
}

TEST(seeds, "a seed repeats its numbers, in the command that a failure prints")
{
    CHECK_INT(run("--filter=prints_seed"), ==, 1);
    const char *again = strstr(output, "again: ");
    const char *said = strstr(output, "random ");
    CHECK(again != NULL && said != NULL);
    char command[512];
    char numbers[128];
    (void)snprintf(command, sizeof(command), "%.*s", (int)strcspn(again + 7, "\n"), again + 7);
    (void)snprintf(numbers, sizeof(numbers), "%.*s", (int)strcspn(said, "\n"), said);
    const char *arguments = strstr(command, " --");
    CHECK(arguments != NULL);
    CHECK_INT(run(arguments), ==, 1);
    must_contain(numbers);

    CHECK_INT(run("--filter=prints_seed --seed=5"), ==, 1);
    must_contain(" of seed 5\n");
    CHECK(strstr(output, numbers) == NULL);
    CHECK_INT(run("--filter=repeat_seed --seed=5"), ==, 1);
    must_contain("# seed 4711; again: ");
}

TEST(repeating, "each round of --repeat has a seed of its own, and --shuffle keeps every test")
{
    CHECK_INT(run("--filter=prints_seed --seed=5 --repeat=3"), ==, 1);
    must_contain(" of seed 5\n");
    const char *first = strstr(output, " of seed ");
    CHECK(first != NULL);
    const char *second = strstr(first + 1, " of seed ");
    CHECK(second != NULL && strncmp(second, " of seed 5\n", 11) != 0);
    must_end_with("0 passed, 3 failed, 0 skipped\n");

    CHECK_INT(run("--filter=check --shuffle --seed=3"), ==, 1);
    must_end_with("0 passed, 1 failed, 0 skipped\n");
    CHECK_INT(run("--filter=\"two \" --shuffle --seed=3"), ==, 1);
    must_contain("check_int");
}

TEST(failing_allocations, "TEST_OOM fails each allocation in turn and names the one that leaks")
{
    CHECK_INT(run("--filter=oom_handled"), ==, 0);
    CHECK_INT(run("--filter=oom_leak"), ==, 1);
    must_contain("1 blocks of test_allocator() are left, 10 bytes");
    must_contain(" --fail-alloc=2\n");
    CHECK_INT(run("--filter=oom_leak --fail-alloc=1"), ==, 0);
    CHECK_INT(run("--filter=oom_leak --fail-alloc=2,sticky"), ==, 1);
    must_contain(" --fail-alloc=2,sticky\n");
    CHECK_INT(run("--filter=passes --fail-alloc=all"), ==, 1);
    must_contain(" --fail-alloc=1\n");
}

TEST(bad_command_lines, "a wrong option is refused and named")
{
    static const char *const rows[] = {"--frobnicate",
                                       "--seed=x",
                                       "--seed=-1",
                                       "--repeat=0",
                                       "--fail-alloc=0",
                                       "--fail-alloc=1,x",
                                       "--fail-alloc=,",
                                       "--filter",
                                       "--seed=99999999999999999999",
                                       "--list=1",
                                       "name"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_INT(run(rows[i]), ==, 1);
        must_contain(rows[i]);
        must_contain("usage: ");
    }
    CHECK_INT(run("--filter=there-is-no-such-test"), ==, 1);
    must_contain("no test is chosen");
}

TEST(listing, "--list names the tests and runs none")
{
    CHECK_INT(run("--list"), ==, 0);
    must_contain("hang: the test does not end\n");
    CHECK(strstr(output, "passed,") == NULL);
}

TEST(no_fork, "--no-fork runs the test in the process itself")
{
    CHECK_INT(run("--no-fork --filter=passes"), ==, 0);
    must_end_with("1 passed, 0 failed, 0 skipped\n");
    CHECK_INT(run("--no-fork --filter=check"), ==, 1);
    must_contain("not true: 1 + 1 == 3");
}

TEST(test_memory, "a resize moves, keeps the bytes, and leaves the block alone when it fails")
{
    CHECK_INT(run("--filter=resize"), ==, 0);
}

TEST(folders, "each test has an empty folder, which is gone afterwards")
{
    CHECK_INT(run("--filter=folder"), ==, 1);
    const char *said = strstr(output, "folder /");
    CHECK(said != NULL);
    char path[512];
    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(said + 7, "\n"), said + 7);
    CHECK(access(path, F_OK) != 0);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass_gate(void *arg)
{
    int *stage = arg;
    (void)pthread_mutex_lock(&gate);
    *stage = 2;
    (void)pthread_mutex_unlock(&gate);
}

TEST(sleeping_threads, "test_wait_asleep returns while the thread waits for what its caller holds")
{
    int stage = 1;
    CHECK(pthread_mutex_lock(&gate) == 0);
    struct test_thread *thread = test_start(pass_gate, &stage);
    test_wait_asleep(thread);
    CHECK_INT(stage, ==, 1);
    CHECK(pthread_mutex_unlock(&gate) == 0);
    test_join(thread);
    CHECK_INT(stage, ==, 2);
}

static int hook_calls;

static void count_and_leave(const char *text)
{
    CHECK(strstr(text, "on purpose") != NULL);
    hook_calls++;
    exit(3);
}

TEST(failure_hook, "test_on_failure sees a failure before the process ends")
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        test_on_failure(count_and_leave);
        test_fail(__FILE__, __LINE__, "on purpose");
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 3);
}

TEST(random_numbers, "test_random_below stays below, and scaling is one where nothing is said")
{
    for (int i = 0; i < 10000; i++) {
        CHECK_INT(test_random_below(7), <, 7);
    }
    CHECK(unsetenv("WEIR_TEST_SCALE") == 0);
    CHECK_INT(test_scaled(1000), ==, 1000);
    CHECK(setenv("WEIR_TEST_SCALE", "0.001", 1) == 0);
    CHECK_INT(test_scaled(5000), ==, 5);
    CHECK_INT(test_scaled(5), ==, 1);
}
