/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests that must fail, each in one way, for harness_test.c to see that the harness notices. */

static const struct weir_allocator *memory;

static void *take(size_t size)
{
    memory = test_allocator();
    return memory->alloc(size, memory->arg);
}

TEST(passes, "nothing is wrong")
{
    void *block = take(10);
    CHECK(block != NULL);
    memory->release(block, 10, memory->arg);
}

TEST(check, "a condition does not hold")
{
    CHECK(1 + 1 == 3);
}

TEST(check_int, "two numbers differ")
{
    CHECK_INT(40 + 2, ==, 41);
}

TEST(check_status, "another status")
{
    CHECK_STATUS(WEIR_EINVAL, WEIR_OK);
}

TEST(check_string, "other text")
{
    CHECK_STRING("this", "that");
}

static void fail_there(void *arg)
{
    (void)arg;
    CHECK_INT(1, >, 2);
}

TEST(check_on_thread, "a check fails on another thread")
{
    struct test_thread *thread = test_start(fail_there, NULL);
    test_join(thread);
}

TEST(crash, "a signal ends the process")
{
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

TEST(early_exit, "the process ends itself")
{
    exit(0);
}

TEST(hang, "the test does not end")
{
    for (;;) {
        (void)pause();
    }
}

TEST(memory_left, "a block is not given back")
{
    CHECK(take(123) != NULL);
}

TEST(memory_twice, "a block is given back twice")
{
    void *block = take(64);
    memory->release(block, 64, memory->arg);
    memory->release(block, 64, memory->arg);
}

TEST(memory_size, "a block is given back with another size")
{
    void *block = take(64);
    memory->release(block, 63, memory->arg);
}

TEST(memory_overrun, "a byte behind a block is written")
{
    char *block = take(8);
    block[8] = 1;
    memory->release(block, 8, memory->arg);
}

TEST(fd_left, "a file descriptor is not closed")
{
    CHECK(open("/dev/zero", O_RDONLY) >= 0);
}

TEST(fd_closed, "a file descriptor is closed that was open before")
{
    CHECK(close(STDIN_FILENO) == 0);
}

static void *sleep_long(void *arg)
{
    (void)pause();
    return arg;
}

TEST(thread_left, "a thread is not joined")
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleep_long, NULL) == 0);
}

TEST(child_left, "a child runs on")
{
    pid_t child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    CHECK(child > 0);
}

TEST(zombie_left, "nobody waits for a child")
{
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    siginfo_t info;
    CHECK(child > 0 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
}

TEST(grandchild_left, "a child's child runs on in a session of its own")
{
    pid_t child = fork();
    if (child == 0) {
        if (setsid() > 0 && fork() == 0) {
            (void)pause();
        }
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
}

TEST(skipped, "the test says that it cannot run")
{
    test_skip("no %s here", "moon");
}

TEST(prints_seed, "the numbers of a seed are the same in each run")
{
    test_fail(__FILE__, __LINE__, "random %llu of seed %llu", (unsigned long long)test_random(),
              (unsigned long long)test_seed());
}

TEST(repeat_seed, "a test names the seed to repeat with")
{
    test_repeat_with(4711);
    CHECK(false);
}

TEST_OOM(oom_handled, "three allocations, each of which may fail")
{
    void *blocks[3] = {NULL, NULL, NULL};
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < 3 && status == WEIR_OK; i++) {
        blocks[i] = take(10);
        status = blocks[i] != NULL ? WEIR_OK : WEIR_ENOMEM;
    }
    (void)CHECK_OR_OOM(status);
    for (int i = 0; i < 3; i++) {
        if (blocks[i] != NULL) {
            memory->release(blocks[i], 10, memory->arg);
        }
    }
}

TEST_OOM(oom_leak, "the second allocation failing leaks the first")
{
    void *first = take(10);
    if (CHECK_OR_OOM(first != NULL ? WEIR_OK : WEIR_ENOMEM)) {
        return;
    }
    void *second = take(20);
    if (CHECK_OR_OOM(second != NULL ? WEIR_OK : WEIR_ENOMEM)) {
        return;
    }
    memory->release(first, 10, memory->arg);
    memory->release(second, 20, memory->arg);
}

TEST(oom_unasked, "out of memory that nobody caused")
{
    (void)CHECK_OR_OOM(WEIR_ENOMEM);
}

TEST(resize, "a resize moves the block and keeps what is in it")
{
    unsigned char *block = take(4);
    memset(block, 7, 4);
    unsigned char *moved = memory->resize(block, 4, 400, memory->arg);
    CHECK(moved != NULL && moved != block && moved[3] == 7);
    CHECK_INT(test_allocated_blocks(), ==, 1);
    CHECK_INT(test_allocated_bytes(), ==, 400);
    test_fail_allocation(1, false);
    CHECK(memory->resize(moved, 400, 4, memory->arg) == NULL);
    CHECK(moved[3] == 7);
    memory->release(moved, 400, memory->arg);
}

TEST(folder, "the working folder is empty, and removed afterwards")
{
    char path[512];
    CHECK(getcwd(path, sizeof(path)) != NULL);
    FILE *file = fopen("some-file", "wx");
    CHECK(file != NULL && fclose(file) == 0);
    test_fail(__FILE__, __LINE__, "folder %s", path);
}
