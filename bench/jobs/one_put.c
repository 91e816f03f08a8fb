/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/jobs/jobs.h"

/* One process for each job that is put, as shells do it: `weir put`, and task-spooler's tsp(1). */

enum {
    PUTS = 200
};

static void run_command(char *const words[])
{
    pid_t pid = fork();
    BENCH_CHECK(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)execvp(words[0], words);
        _exit(127);
    }
    int status = 0;
    BENCH_CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        bench_fail("%s: status 0x%x", words[0], (unsigned)status);
    }
}

/* The first one makes the store, or starts the server. */
static void run_commands(struct bench_run *run, char *const words[])
{
    run_command(words);
    int64_t start = bench_now();
    for (size_t i = 0; i < run->size; i++) {
        run_command(words);
    }
    bench_span(run, start, run->size);
}

static void put_by_weir(struct bench_run *run)
{
    char url[600];
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", bench_jobs_setting("FOLDER"));
    char program[] = WEIR_PROGRAM;
    char *words[] = {program, (char[]){"put"}, (char[]){"-b"}, url, (char[]){"t"}, (char[]){"true"},
                     NULL};
    run_commands(run, words);
}

static void put_by_task_spooler(struct bench_run *run)
{
    char socket[100]; /* the longest path of a socket */
    (void)snprintf(socket, sizeof(socket), "/tmp/weir-bench-%ld.tsp", (long)getpid());
    BENCH_CHECK(setenv("TS_SOCKET", socket, 1) == 0);
    BENCH_CHECK(setenv("TMPDIR", bench_jobs_setting("FOLDER"), 1) == 0);
    /* A job that does not end holds the others back: only their puts are measured. */
    run_command(
        (char *[]){(char[]){"tsp"}, (char[]){"-n"}, (char[]){"sleep"}, (char[]){"600"}, NULL});
    run_commands(run, (char *[]){(char[]){"tsp"}, (char[]){"-n"}, (char[]){"true"}, NULL});
    run_command((char *[]){(char[]){"tsp"}, (char[]){"-k"}, (char[]){"0"}, NULL});
    run_command((char *[]){(char[]){"tsp"}, (char[]){"-K"}, NULL});
    (void)unlink(socket);
}

const struct bench_measurement bench_one_put[] = {
    {"store_one_put_f0/weir", put_by_weir, PUTS, 0},
    {"store_one_put_f0/tsp", put_by_task_spooler, PUTS, 0},
    {NULL, NULL, 0, 0},
};
