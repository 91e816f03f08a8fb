/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_PROGRAM_H
#define WEIR_TEST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/harness.h"

/* Runs the program `weir` as its users do, and looks at what it leaves. Everything happens in the
 * test's own folder, with an environment that names no broker and no folder outside it. */

/* What a run of the program came to. */
struct ended {
    int code;   /* Exit status; -1: a signal ended it. */
    int signal; /* That signal, or 0. */
    size_t out_size;
    char *out; /* Standard output and error, each with a NUL behind. */
    char *err;
};

/* A program that runs. */
struct running {
    pid_t pid;
    int out;
    int err;
};

/* Sets HOME, XDG_STATE_HOME and WEIR_BROKER for the program: `state` and `jobs.db` of the test's
 * folder. To be called first. */
void program_init(void);

/* Runs `weir WORDS...`, to NULL, with these bytes as its standard input. */
struct ended program_run_with(const char *input, size_t size, const char *const words[]);
struct ended program_run(const char *const words[]);
/* As program_run(), with its standard output going into a file that is there. */
struct ended program_run_into(const char *output, const char *const words[]);
void ended_free(struct ended *ended);

/* As program_run(), with permissions binding it even where the superuser runs the tests. */
struct ended program_run_unprivileged(const char *const words[]);

/* Starts it, and later waits for its end. */
struct running program_start(const char *input, size_t size, const char *const words[]);
/* The same with an open file as its standard input. */
struct running program_start_on(int input, const char *const words[]);
/* The same with an open file as its standard error. */
struct running program_start_telling(int error, const char *const words[]);
struct ended program_wait(struct running *running);
/* What it has written on standard error so far; to be freed. */
char *program_err(const struct running *running);

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* Runs it, expects this exit status, and returns what it said. */
#define WEIR_EXPECT(expected, ...) program_expect(__FILE__, __LINE__, expected, WORDS(__VA_ARGS__))
struct ended program_expect(const char *file, int line, int expected, const char *const words[]);

/* The same where nothing but the exit status matters. */
#define WEIR(expected, ...) program_check(__FILE__, __LINE__, expected, WORDS(__VA_ARGS__))
void program_check(const char *file, int line, int expected, const char *const words[]);

/* One number of `weir stats --json TUBE`; 0 where there is no such tube or store yet. */
int64_t program_count(const char *tube, const char *name);

/* Writes a file, with this mode. */
void write_file(const char *path, const void *data, size_t size, mode_t mode);
/* The whole of a file with a NUL behind; to be freed. NULL: there is none. */
char *read_file(const char *path, size_t *ret_size);
/* Lines of a file; 0 where there is none. */
size_t count_lines(const char *path);

/* Waits for something that other processes do; for as long as it takes, since the harness limits
 * the whole. */
#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        while (!(condition)) {                                                                     \
            program_pause();                                                                       \
        }                                                                                          \
    } while (0)
void program_pause(void);

/* Every file and folder below a folder: name, mode, owner, size, time of change and a hash of its
 * bytes, a line each, in order; to be freed. Where two are equal, nothing was created or changed;
 * with folder_times not even for a moment. */
char *tree_describe(const char *folder, bool folder_times);

#endif
