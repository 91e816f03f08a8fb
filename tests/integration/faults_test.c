/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program on a system whose calls fail; strace makes them. */

enum {
    EXIT_UNTRACED = 98
};

/* A disk that is full stays full: a put is tried again, and must fail each time. */
static bool is_lasting(const char *error)
{
    return strcmp(error, "ENOSPC") == 0 || strcmp(error, "EDQUOT") == 0;
}

/* Runs `weir put` of a list with the nth call of a name failing; returns its exit status. What it
 * said is in the file `said`. *ret_failed: it made so many calls, and the nth failed. */
static int put_with_fault(const char *call, const char *error, int nth, bool *ret_failed)
{
    char trace[100];
    char inject[100];
    (void)snprintf(trace, sizeof(trace), "trace=%s", call);
    (void)snprintf(inject, sizeof(inject), "inject=%s:error=%s:when=%d%s", call, error, nth,
                   is_lasting(error) ? "+" : "");
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        /* Leaks cannot be looked for under a tracer. */
        (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        int said = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (said >= 0 && dup2(said, STDERR_FILENO) >= 0) {
            (void)execlp("strace", "strace", "-f", "-qq", "-o", "traced", "-e", trace, "-e", inject,
                         WEIR_PROGRAM, "put", "-q", "-l", "-i", "list", "t", (char *)NULL);
        }
        _exit(EXIT_UNTRACED);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        CHECK_INT(errno, ==, EINTR);
    }
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) != EXIT_UNTRACED) {
        char *traced = read_file("traced", NULL);
        *ret_failed = strstr(traced, "(INJECTED)") != NULL;
        free(traced);
    }
    return WEXITSTATUS(status);
}

static void remove_store(void)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
}

/* Whoever fails to make a store leaves nothing of it. */
static bool tree_is_empty(void)
{
    return access("jobs.db", F_OK) != 0 && access("jobs.db.lock", F_OK) != 0 &&
           access("jobs.db-wal", F_OK) != 0 && access("jobs.db.weir-new", F_OK) != 0;
}

/* The number after a text in what was said; 0: it was not. */
static long said_number(const char *said, const char *before)
{
    const char *at = strstr(said, before);
    return at == NULL ? 0 : strtol(at + strlen(before), NULL, 10);
}

/* Fails each call in turn, or some of many; what was said is true each time. Returns how many puts
 * failed. */
static int fail_each(const char *call, const char *error, int stride)
{
    int failures = 0;
    bool failed = true;
    for (int nth = 1 + (int)test_random_below((uint64_t)stride); failed; nth += stride) {
        CHECK_INT(nth, <, 4000); /* else it goes round for ever */
        remove_store();
        int code = put_with_fault(call, error, nth, &failed);
        char *said = read_file("said", NULL);
        if (code == EXIT_UNTRACED || strstr(said, "PTRACE") != NULL) {
            test_skip("strace cannot trace here");
        }
        /* Some failures do not matter, such as that of a call which only asks. */
        failures += code != 0;
        int64_t count = program_count("t", "put");
        if (code == 0) {
            CHECK_INT(count, ==, 2500);
        } else {
            CHECK_INT(code, ==, 74);
            CHECK(strstr(said, "$WEIR_BROKER: ") == NULL || tree_is_empty());
            CHECK_INT(count, >=, said_number(said, "; the first "));
            CHECK_INT(count, <=,
                      said_number(said, "; the first ") + said_number(said, "; whether the next "));
        }
        free(said);
    }
    return failures;
}

static void make_list(void)
{
    char list[2 * 2500];
    for (size_t i = 0; i < sizeof(list); i += 2) {
        list[i] = 'x';
        list[i + 1] = '\n';
    }
    write_file("list", list, sizeof(list), 0600);
}

TEST(failed_flush, "after a failed flush or cut put tells what is stored, and of what nobody knows")
{
    program_init();
    make_list();
    CHECK_INT(fail_each("fdatasync", "EIO", 1), >=, 4);
    CHECK_INT(fail_each("fsync", "EIO", 1), ==, 2);
    CHECK_INT(fail_each("ftruncate", "EIO", 1), >=, 1);
}

TEST(failed_write, "after a failed write put tells what is stored, and leaves no half of a store")
{
    program_init();
    make_list();
    CHECK_INT(fail_each("pwrite64", "EIO", 11), >=, 4);
}

TEST(full_disk, "so it does on a disk that is full")
{
    program_init();
    make_list();
    CHECK_INT(fail_each("pwrite64", "ENOSPC", 11), >=, 4);
}

TEST(used_quota, "and where the user may write no more")
{
    program_init();
    make_list();
    CHECK_INT(fail_each("pwrite64", "EDQUOT", 11), >=, 4);
}

TEST(interrupted, "a call that a signal interrupts is made again")
{
    program_init();
    make_list();
    CHECK_INT(fail_each("flock", "EINTR", 1), ==, 0);
    CHECK_INT(fail_each("fallocate", "EINTR", 1), ==, 0);
}
