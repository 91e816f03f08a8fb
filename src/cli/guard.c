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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "WEIR_GUARD"

enum {
    WORD_SIZE = 33, /* 128 bits in hexadecimal, and NUL */
    ROUNDS_QUIET =
        3, /* rounds in a row that find nothing: a process may be missed while it forks */
    ROUND_MS = 5
};

/* The worker's end of a pair of sockets; the kernel closes it when the worker ends. -1: there is no
 * guard. */
static int worker_end = -1;

/* Whether a process has the word in its environment, as far as that can be read. */
static bool has_word(int proc, const char *pid, const char *word)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%.16s/environ", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
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

/* Kills each process with the word, and its group. Returns whether there was one. The caller's
 * group is another: each program leads a group of its own. */
static bool kill_all(const char *word)
{
    DIR *proc = opendir("/proc");
    bool was_there = false;
    if (proc == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid() || !has_word(dirfd(proc), entry->d_name, word)) {
            continue;
        }
        pid_t group = getpgid(pid);
        if (group > 1 && group != getpgrp()) {
            (void)kill(-group, SIGKILL);
        }
        was_there = kill(pid, SIGKILL) == 0 || was_there;
    }
    (void)closedir(proc);
    return was_there;
}

/* The guard's process. */
_Noreturn static void watch(int end, const char *word)
{
    char stop;
    (void)setsid(); /* signals of the terminal are for the worker */
    (void)dup2(end, STDIN_FILENO);
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    ssize_t size;
    do {
        size = read(STDIN_FILENO, &stop, 1);
    } while (size < 0 && errno == EINTR);
    for (int quiet = 0; size == 0 && quiet < ROUNDS_QUIET;) {
        quiet = kill_all(word) ? 0 : quiet + 1;
        (void)poll(NULL, 0, ROUND_MS);
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
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
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
        if (fork() == 0) {
            watch(ends[0], word);
        }
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

void guard_stop(void)
{
    if (worker_end < 0) {
        return;
    }
    /* The answer is the end of the guard. */
    char byte = 0;
    (void)send(worker_end, &byte, 1, MSG_NOSIGNAL);
    while (read(worker_end, &byte, 1) < 0 && errno == EINTR) {
    }
    (void)close(worker_end);
    worker_end = -1;
}
