/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* gettid */

#include "support/internal.h"
#include "support/sanitizer.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A joined thread is gone for its process a little earlier than for /proc: the check gives it this
 * long, in steps of a millisecond, before it calls it left over. */
#define SETTLE_STEPS 5000

#define FDS_MAX 4096

static bool fd_open_before[FDS_MAX];
static unsigned threads_before;

typedef void entry_fn(unsigned number, void *arg);

/* Calls fn for each entry of a folder of /proc that has a number as its name. */
static void each_number(const char *folder, entry_fn *fn, void *arg)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        harness_die(folder);
    }
    unsigned own = (unsigned)dirfd(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') {
            continue;
        }
        unsigned number = (unsigned)strtoul(entry->d_name, NULL, 10);
        if (strcmp(folder, "/proc/self/fd") != 0 || number != own) {
            fn(number, arg);
        }
    }
    (void)closedir(dir);
}

static void count_entry(unsigned number, void *arg)
{
    (void)number;
    ++*(unsigned *)arg;
}

unsigned test_thread_count(void)
{
    unsigned count = 0;
    each_number("/proc/self/task", count_entry, &count);
    return count;
}

static void mark_fd(unsigned fd, void *arg)
{
    bool *is_open = arg;
    if (fd < FDS_MAX) {
        is_open[fd] = true;
    }
}

#if TEST_TSAN
static void *tell_tid(void *arg)
{
    *(pid_t *)arg = gettid();
    return NULL;
}

/* ThreadSanitizer starts threads of its own beside the first one of the program: one is started and
 * seen to its end, so that they are there. */
static void start_sanitizer_threads(void)
{
    pthread_t first;
    pid_t tid = 0;
    char name[32];
    if (pthread_create(&first, NULL, tell_tid, &tid) != 0 || pthread_join(first, NULL) != 0) {
        harness_die("pthread_create");
    }
    for (int i = 0; i < SETTLE_STEPS && harness_thread_state(tid, name) != 0; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
#endif

void harness_leaks_before(void)
{
#if TEST_TSAN
    start_sanitizer_threads();
#endif
    threads_before = test_thread_count();
    memset(fd_open_before, 0, sizeof(fd_open_before));
    each_number("/proc/self/fd", mark_fd, fd_open_before);
}

static void show_thread(unsigned tid, void *arg)
{
    (void)arg;
    char name[32];
    char state = harness_thread_state((pid_t)tid, name);
    (void)dprintf(STDERR_FILENO, "thread %u \"%s\", state %c\n", tid, name,
                  state == 0 ? '?' : state);
}

static void check_threads(void)
{
    unsigned count = test_thread_count();
    for (int i = 0; i < SETTLE_STEPS && count > threads_before; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        count = test_thread_count();
    }
    if (count > threads_before) {
        each_number("/proc/self/task", show_thread, NULL);
        test_fail(__FILE__, __LINE__, "%u threads are left", count - threads_before);
    }
}

static void check_fds(void)
{
    static bool is_open[FDS_MAX];
    memset(is_open, 0, sizeof(is_open));
    each_number("/proc/self/fd", mark_fd, is_open);
    for (unsigned fd = 0; fd < FDS_MAX; fd++) {
        if (is_open[fd] == fd_open_before[fd]) {
            continue;
        }
        if (!is_open[fd]) {
            test_fail(__FILE__, __LINE__, "file descriptor %u was closed, which was not the test's",
                      fd);
        }
        char link[64];
        char target[256] = "";
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%u", fd);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        test_fail(__FILE__, __LINE__, "file descriptor %u is left: %s", fd,
                  length > 0 ? target : "?");
    }
}

static void check_children(void)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid > 0) {
        test_fail(__FILE__, __LINE__, "child %d ended and nobody waited for it", (int)pid);
    }
    if (pid == 0) {
        test_fail(__FILE__, __LINE__, "a child is left running");
    }
}

/* Of base/wait.h, where the program has it: a test that relied on the bound of a wait has passed
 * for the wrong reason. */
__attribute__((weak)) uint64_t weiri_wait_lost(void);

static void check_lost_wakes(void)
{
    uint64_t lost = weiri_wait_lost != NULL ? weiri_wait_lost() : 0;
    if (lost > 0) {
        test_fail(__FILE__, __LINE__, "%llu waits ended at their bound, though woken before",
                  (unsigned long long)lost);
    }
}

void harness_leaks_check(void)
{
    harness_ports_end();
    check_lost_wakes();
    check_threads();
    check_fds();
    check_children();
}
