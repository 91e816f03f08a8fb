/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* `weir work` where the system gives it less than it needs. */

static void limit_files(rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = {soft, hard};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
}

/* How often a text is in another. */
static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void put_jobs(int count)
{
    char list[2000];
    int size = 0;
    for (int i = 0; i < count; i++) {
        size += snprintf(list + size, sizeof(list) - (size_t)size, "job\n");
    }
    write_file("list", list, (size_t)size, 0600);
    WEIR(0, "put", "-l", "-i", "list", "t");
}

TEST(raised, "the soft limit on descriptors is raised to what -j asks for, not above the hard one")
{
    struct rlimit before;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    CHECK_INT(before.rlim_max, >=, 1000);
    program_init();
    put_jobs(3);
    limit_files(70, before.rlim_max);
    struct ended ended =
        WEIR_EXPECT(0, "work", "-e", "-j", "50", "t", "--", "sh", "-c", "ulimit -Sn");
    CHECK_STRING(ended.out, "414\n414\n414\n");
    ended_free(&ended);
    put_jobs(1);
    limit_files(80, before.rlim_max);
    ended = WEIR_EXPECT(0, "work", "-e", "t", "--", "sh", "-c", "ulimit -Sn");
    CHECK_STRING(ended.out, "80\n");
    ended_free(&ended);
    put_jobs(1);
    limit_files(70, 100);
    ended = WEIR_EXPECT(0, "work", "-e", "-j", "50", "t", "--", "sh", "-c", "ulimit -Sn");
    CHECK_STRING(ended.out, "100\n");
    ended_free(&ended);
}

TEST(file_size, "a limit on the size of files is refused as a full disk, and nothing is put")
{
    enum {
        SIZE = 1 << 20
    };
    char *body = calloc(1, SIZE);
    CHECK(body != NULL);
    program_init();
    write_file("body", body, SIZE, 0600);
    free(body);
    WEIR(0, "put", "t", "x");
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    limit.rlim_cur = (rlim_t)256 << 10;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    struct ended ended = WEIR_EXPECT(74, "put", "-i", "body", "t");
    CHECK(strstr(ended.err, "jobs.db: no space left") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("t", "put"), ==, 1);
    WEIR(0, "put", "t", "small");
    CHECK_INT(program_count("t", "put"), ==, 2);
}

/* Runs `weir work` with a descriptor that nobody reads; returns what waitpid() says. */
static int work_unheard(int unheard)
{
    static const char *const argv[] = {"weir", "work", "-e", "--json", "--summary",     "summary",
                                       "t",    "--",   "sh", "-c",     "kill -PIPE $$", NULL};
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    (void)close(ends[0]);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
            dup2(ends[1], unheard) >= 0) {
            (void)execv(WEIR_PROGRAM, (char *const *)argv);
        }
        _exit(99);
    }
    (void)close(ends[1]);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    return status;
}

TEST(unheard, "a worker goes on when nobody reads what it says; its programs die of that as before")
{
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "sh", "-c", "kill -PIPE $$");
    CHECK_INT(program_count("t", "buried"), ==, 1);
    int status = work_unheard(STDERR_FILENO);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_INT(count_lines("summary"), ==, 1);
    CHECK_INT(unlink("summary"), ==, 0);
    status = work_unheard(STDOUT_FILENO);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 74);
    CHECK_INT(count_lines("summary"), ==, 1);
}

TEST(shortage,
     "jobs that no descriptor is left for are given back uncounted, and that is told once")
{
    enum {
        JOBS = 40
    };
    program_init();
    put_jobs(JOBS);
    limit_files(32, 32);
    /* Most of them cannot be started while the others wait. One attempt is all that they have. */
    struct running running = program_start(
        "", 0,
        WORDS("work", "-e", "-j", "40", "--attempts", "1", "t", "--", "sh", "-c",
              "echo $WEIR_ATTEMPT >> attempts; while [ ! -e go ]; do sleep 0.01; done"));
    static const char told[] = "cannot be run now: Too many open files";
    char *err = NULL;
    WAIT_UNTIL((free(err), err = program_err(&running), strstr(err, told) != NULL));
    free(err);
    write_file("go", "", 0, 0600);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    CHECK_INT(occurrences(ended.err, told), ==, 1);
    CHECK(strstr(ended.err, "40 jobs done in ") != NULL);
    CHECK(strstr(ended.err, " 40 runs (") != NULL);
    CHECK(strstr(ended.err, " 0 retries, 0 buried, 0 lost\n") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, JOBS);
    CHECK_INT(program_count("t", "retried"), ==, 0);
    CHECK_INT(count_lines("attempts"), ==, JOBS);
    char *attempts = read_file("attempts", NULL);
    CHECK_INT(occurrences(attempts, "1\n"), ==, JOBS);
    free(attempts);
}

TEST(lock_wait, "a store that another process has locked is waited for as long as --lock-wait says")
{
    program_init();
    WEIR(0, "put", "t", "x");
    int lock = open("jobs.db.lock", O_RDWR | O_CLOEXEC);
    CHECK(lock >= 0);
    CHECK_INT(flock(lock, LOCK_EX), ==, 0);
    char says[80];
    (void)snprintf(says, sizeof(says), "was held by process %ld for 20 ms", (long)getpid());
    static const char *const commands[][6] = {
        {"put", "--lock-wait", "20ms", "t", "y", NULL},
        {"kick", "--lock-wait=20ms", "t", NULL},
        {"move", "--lock-wait=20ms", "--to", "sqlite:to.db", "t", NULL},
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct ended ended = program_run(commands[i]);
        CHECK_INT(ended.code, ==, 75);
        CHECK(strstr(ended.err, says) != NULL);
        ended_free(&ended);
    }
    CHECK_INT(close(lock), ==, 0);
    WEIR(0, "put", "--lock-wait", "20s", "t", "y");
    CHECK_INT(program_count("t", "ready"), ==, 2);
}
