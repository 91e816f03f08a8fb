/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem, close_range */
#include "cli/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/session.h"

#define NAME "WEIR_GUARD"

enum {
    WORD_SIZE = 33, /* 128 bits in hexadecimal, and NUL */
    ROUNDS_QUIET =
        3, /* rounds in a row that find nothing: a process may be missed while it forks */
    ROUND_MS = 5,
    ROUNDS_QUICK = 200, /* what is left then ends by itself, if at all */
    ROUND_SLOW_MS = 100,
    LEADERS_MAX = 8192 /* of more programs at once the word alone tells */
};

/* The worker's end of a pair of sockets; the kernel closes it when the worker ends. -1: there is no
 * guard. */
static int worker_end = -1;

/* Memory of the worker and its guard, so that the worker never waits for the guard. */
static struct shared {
    atomic_int guard; /* its pid */
    struct {
        atomic_int pid;        /* 0: the place is free */
        atomic_ullong started; /* 0: not known */
    } leaders[LEADERS_MAX];
} * shared;

/* Whether it is in a session of the worker. The leader may be gone; if another process has its
 * number, the session has ended. A session whose leader is outside of a container is 0 in it, like
 * a place that is free. */
static bool is_member(const struct process *process)
{
    struct process leader;
    size_t i = 0;
    while (i < LEADERS_MAX && atomic_load(&shared->leaders[i].pid) != process->session) {
        i++;
    }
    unsigned long long started = i < LEADERS_MAX ? atomic_load(&shared->leaders[i].started) : 0;
    return i < LEADERS_MAX && process->session > 0 &&
           (started == 0 || !process_read(process->session, &leader) || leader.started == started);
}

/* Whether a process has the word in its environment, as far as that can be read. */
static bool has_word(pid_t pid, const char *word)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    /* The end of each part is kept before the next one, so that no word is cut in two. */
    static char text[WORD_SIZE + (64 << 10)];
    size_t kept = 0;
    bool has = false;
    ssize_t size;
    while (!has && (size = read(fd, text + kept, sizeof(text) - kept)) > 0) {
        size_t filled = kept + (size_t)size;
        has = memmem(text, filled, word, WORD_SIZE - 1) != NULL;
        kept = filled < WORD_SIZE ? filled : WORD_SIZE;
        memmove(text, text + filled - kept, kept);
    }
    (void)close(fd);
    return has;
}

/* Kills each process that the worker has left, and its group. Returns whether there was one, also
 * such as may not be killed: others take the guard's end for that of all programs. The caller's
 * group is another: each program leads a group of its own. */
static bool kill_all(const char *word)
{
    DIR *proc = opendir("/proc");
    bool was_there = false;
    if (proc == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        struct process process;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid() || !process_read(pid, &process) ||
            !(is_member(&process) || has_word(pid, word))) {
            continue;
        }
        if (process.group > 1 && process.group != getpgrp()) {
            (void)kill(-process.group, SIGKILL);
        }
        was_there = kill(pid, SIGKILL) == 0 || errno != ESRCH || was_there;
    }
    (void)closedir(proc);
    return was_there;
}

/* The guard's process. */
_Noreturn static void watch(int end, const char *word)
{
    char none;
    (void)setsid(); /* signals of the terminal are for the worker */
    (void)dup2(end, STDIN_FILENO);
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    while (read(STDIN_FILENO, &none, 1) < 0 && errno == EINTR) {
    }
    for (int quiet = 0, rounds = 0; quiet < ROUNDS_QUIET; rounds++) {
        quiet = kill_all(word) ? 0 : quiet + 1;
        (void)poll(NULL, 0, rounds < ROUNDS_QUICK ? ROUND_MS : ROUND_SLOW_MS);
    }
    _exit(0);
}

void guard_start(void)
{
    unsigned char random[(WORD_SIZE - 1) / 2];
    char word[WORD_SIZE];
    int ends[2];
    sigset_t all;
    sigset_t before;
    void *memory =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
    shared = memory;
    for (size_t i = 0; i < sizeof(random); i++) {
        (void)snprintf(word + 2 * i, 3, "%02x", random[i]);
    }
    /* It has all signals blocked from its first moment on: it would not end in place of the worker
     * that it is to outlive. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    /* A child of a child, so that the worker's only children are its programs. */
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        pid = fork();
        if (pid == 0) {
            watch(ends[0], word);
        }
        atomic_store(&shared->guard, pid);
        _exit(0);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    /* A worker that is a program of another one keeps the other's word, too. */
    const char *outer = getenv(NAME);
    char value[1024];
    int length = snprintf(value, sizeof(value), "%s%s%s", word, outer == NULL ? "" : ",",
                          outer == NULL ? "" : outer);
    if (pid < 0 || length < 0 || (size_t)length >= sizeof(value) || setenv(NAME, value, 1) != 0) {
        (void)close(ends[1]);
        return;
    }
    worker_end = ends[1];
}

int guard_pid(void)
{
    int pid = worker_end < 0 ? 0 : atomic_load(&shared->guard);
    return pid > 0 ? pid : 0;
}

void guard_add(pid_t pid)
{
    struct process process = {.started = 0};
    bool is_told = worker_end < 0;
    (void)process_read(pid, &process);
    for (size_t i = 0; i < LEADERS_MAX && !is_told; i++) {
        int none = 0;
        is_told = atomic_compare_exchange_strong(&shared->leaders[i].pid, &none, pid);
        if (is_told) {
            atomic_store(&shared->leaders[i].started, process.started);
        }
    }
}

void guard_remove(pid_t pid)
{
    for (size_t i = 0; i < LEADERS_MAX && worker_end >= 0; i++) {
        if (atomic_load(&shared->leaders[i].pid) == pid) {
            atomic_store(&shared->leaders[i].started, 0);
            atomic_store(&shared->leaders[i].pid, 0);
            return;
        }
    }
}

void guard_stop(void)
{
    struct pollfd poller = {.fd = worker_end};
    char none;
    if (worker_end < 0) {
        return;
    }
    /* KILL ends one that is stopped, too. The number of one that is gone may be another's by now;
     * its end of the sockets is closed then. */
    if (poll(&poller, 1, 0) == 0) {
        (void)kill(atomic_load(&shared->guard), SIGKILL);
    }
    while (read(worker_end, &none, 1) < 0 && errno == EINTR) {
    }
    (void)close(worker_end);
    worker_end = -1;
}
