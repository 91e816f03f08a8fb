/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create */
#include "integration/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/capability.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 40

void program_init(void)
{
    char folder[512];
    char value[600];
    CHECK(getcwd(folder, sizeof(folder)) != NULL);
    CHECK_INT(setenv("HOME", folder, 1), ==, 0);
    (void)snprintf(value, sizeof(value), "%s/state", folder);
    CHECK_INT(setenv("XDG_STATE_HOME", value, 1), ==, 0);
    (void)snprintf(value, sizeof(value), "sqlite:%s/jobs.db", folder);
    CHECK_INT(setenv("WEIR_BROKER", value, 1), ==, 0);
    CHECK_INT(unsetenv("NO_COLOR"), ==, 0);
    CHECK_INT(setenv("TERM", "xterm", 1), ==, 0);
    CHECK_INT(setenv("LC_ALL", "C.UTF-8", 1), ==, 0);
}

static int memory_file(const void *data, size_t size)
{
    int fd = memfd_create("stream", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, data, size, 0), ==, size);
    /* Of a file in memory the kernel does not guard the offset that processes share: without this,
     * one child's output could overwrite another's. */
    CHECK_INT(fcntl(fd, F_SETFL, O_APPEND), ==, 0);
    return fd;
}

static void make_argv(const char *const words[], const char *ret_argv[WORDS_MAX])
{
    size_t count = 0;
    ret_argv[count++] = "weir";
    for (size_t i = 0; words[i] != NULL; i++) {
        CHECK_INT(count + 1, <, WORDS_MAX);
        ret_argv[count++] = words[i];
    }
    ret_argv[count] = NULL;
}

/* Starts it on files of the caller's; output and error are the program's from then on. */
static struct running start(int input, int output, int error, const char *const words[])
{
    const char *argv[WORDS_MAX];
    make_argv(words, argv);
    struct running running = {0, output, error};
    posix_spawn_file_actions_t actions;
    CHECK_INT(posix_spawn_file_actions_init(&actions), ==, 0);
    CHECK_INT(posix_spawn_file_actions_adddup2(&actions, input, 0), ==, 0);
    CHECK_INT(posix_spawn_file_actions_adddup2(&actions, running.out, 1), ==, 0);
    CHECK_INT(posix_spawn_file_actions_adddup2(&actions, running.err, 2), ==, 0);
    CHECK_INT(posix_spawn(&running.pid, WEIR_PROGRAM, &actions, NULL, (char *const *)argv, environ),
              ==, 0);
    CHECK_INT(posix_spawn_file_actions_destroy(&actions), ==, 0);
    return running;
}

struct running program_start_on(int input, const char *const words[])
{
    return start(input, memory_file("", 0), memory_file("", 0), words);
}

struct running program_start_telling(int error, const char *const words[])
{
    int input = memory_file("", 0);
    int copy = fcntl(error, F_DUPFD_CLOEXEC, 0);
    CHECK(copy >= 0);
    struct running running = start(input, memory_file("", 0), copy, words);
    (void)close(input);
    return running;
}

struct ended program_run_into(const char *output, const char *const words[])
{
    int input = memory_file("", 0);
    int fd = open(output, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    struct running running = start(input, fd, memory_file("", 0), words);
    (void)close(input);
    return program_wait(&running);
}

struct running program_start(const char *input, size_t size, const char *const words[])
{
    int fd = memory_file(input, size);
    struct running running = program_start_on(fd, words);
    (void)close(fd);
    return running;
}

static char *read_all(int fd, size_t *ret_size)
{
    struct stat facts;
    CHECK_INT(fstat(fd, &facts), ==, 0);
    size_t size = S_ISREG(facts.st_mode) ? (size_t)facts.st_size : 0;
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    CHECK(size == 0 || pread(fd, text, size, 0) == (ssize_t)size);
    text[size] = '\0';
    if (ret_size != NULL) {
        *ret_size = size;
    }
    return text;
}

char *program_err(const struct running *running)
{
    return read_all(running->err, NULL);
}

struct ended program_wait(struct running *running)
{
    int status = 0;
    while (waitpid(running->pid, &status, 0) < 0) {
        CHECK_INT(errno, ==, EINTR);
    }
    struct ended ended = {0};
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ended.out = read_all(running->out, &ended.out_size);
    ended.err = read_all(running->err, NULL);
    (void)close(running->out);
    (void)close(running->err);
    return ended;
}

struct ended program_run_with(const char *input, size_t size, const char *const words[])
{
    struct running running = program_start(input, size, words);
    return program_wait(&running);
}

struct ended program_run(const char *const words[])
{
    return program_run_with("", 0, words);
}

/* In the child: becomes the program, without the superuser's right to pass by permissions. What is
 * not in the bounding set a program does not get back when it starts, whoever runs it. */
_Noreturn static void exec_unprivileged(const struct running *running, const char *const argv[])
{
    bool dropped = geteuid() != 0 || (prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) == 0 &&
                                      prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) == 0);
    if (dropped && dup2(running->out, STDOUT_FILENO) >= 0 &&
        dup2(running->err, STDERR_FILENO) >= 0) {
        (void)execv(WEIR_PROGRAM, (char *const *)argv);
    }
    _exit(99);
}

struct ended program_run_unprivileged(const char *const words[])
{
    const char *argv[WORDS_MAX];
    make_argv(words, argv);
    struct running running = {0, memory_file("", 0), memory_file("", 0)};
    running.pid = fork();
    CHECK(running.pid >= 0);
    if (running.pid == 0) {
        exec_unprivileged(&running, argv);
    }
    return program_wait(&running);
}

void ended_free(struct ended *ended)
{
    free(ended->out);
    free(ended->err);
}

struct ended program_expect(const char *file, int line, int expected, const char *const words[])
{
    struct ended ended = program_run(words);
    if (ended.code != expected) {
        test_fail(file, line, "weir %s ...: exit status %d (signal %d), expected %d\n%s%s",
                  words[0], ended.code, ended.signal, expected, ended.out, ended.err);
    }
    return ended;
}

void program_check(const char *file, int line, int expected, const char *const words[])
{
    struct ended ended = program_expect(file, line, expected, words);
    ended_free(&ended);
}

int64_t program_count(const char *tube, const char *name)
{
    struct ended ended = program_run(WORDS("stats", "--json", tube));
    int64_t count = 0;
    if (ended.code != 66) {
        CHECK_INT(ended.code, ==, 0);
        json_t *object = json_loads(ended.out, 0, NULL);
        CHECK(object != NULL);
        json_t *value = json_object_get(object, name);
        CHECK(json_is_integer(value));
        count = json_integer_value(value);
        json_decref(object);
    }
    ended_free(&ended);
    return count;
}

void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, data, size), ==, size);
    CHECK_INT(fchmod(fd, mode), ==, 0);
    CHECK_INT(close(fd), ==, 0);
}

char *read_file(const char *path, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        CHECK_INT(errno, ==, ENOENT);
        return NULL;
    }
    char *text = read_all(fd, ret_size);
    (void)close(fd);
    return text;
}

size_t count_lines(const char *path)
{
    size_t count = 0;
    char *text = read_file(path, NULL);
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        count += *at == '\n' ? 1 : 0;
    }
    free(text);
    return count;
}

void program_pause(void)
{
    (void)poll(NULL, 0, 5);
}
