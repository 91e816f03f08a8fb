/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "integration/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/forbid_call.h"

/* A worker that dies: nothing is lost. */

/* With --until-empty it ends by itself; else it works until it is killed. */
static struct running start_worker(bool until_empty)
{
    const char *words[] = {"work", "-j",       "4",   "--retry-delay", "10ms", "t",
                           "--",   WEIR_PROBE, "log", "log",           NULL};
    const char *ending[] = {"work", "-e", "-j",       "4",   "--retry-delay", "10ms",
                            "t",    "--", WEIR_PROBE, "log", "log",           NULL};
    return program_start("", 0, until_empty ? ending : words);
}

/* Whether the log has a run of each body `job 0` to `job COUNT-1`. */
static void check_all_ran(int count)
{
    char *log = read_file("log", NULL);
    CHECK(log != NULL);
    bool *ran = calloc((size_t)count, sizeof(*ran));
    CHECK(ran != NULL);
    for (char *line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int number = -1;
        CHECK_INT(sscanf(line, "%*s %*s %*s %*s %*s job %d", &number), ==, 1);
        CHECK_INT(number, >=, 0);
        CHECK_INT(number, <, count);
        ran[number] = true;
    }
    for (int i = 0; i < count; i++) {
        if (!ran[i]) {
            test_fail(__FILE__, __LINE__, "job %d never ran", i);
        }
    }
    free(ran);
    free(log);
}

static void put_jobs(int count)
{
    char *list = malloc((size_t)count * 16);
    CHECK(list != NULL);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += (size_t)sprintf(list + size, "job %d\n", i);
    }
    struct ended ended =
        program_run_with(list, size, WORDS("put", "--lines", "--quiet", "--ttr", "1s", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(list);
}

TEST(killed_again_and_again, "workers killed with SIGKILL at random moments lose no job")
{
    enum {
        COUNT = 400,
        KILLS = 5
    };
    program_init();
    put_jobs(COUNT);
    for (size_t kills = 1; kills <= KILLS; kills++) {
        struct running worker = start_worker(false);
        size_t mark = COUNT * kills / (KILLS + 2) + (size_t)test_random_below(COUNT / 10);
        WAIT_UNTIL(count_lines("log") >= mark);
        CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
        struct ended ended = program_wait(&worker);
        CHECK_INT(ended.signal, ==, SIGKILL);
        ended_free(&ended);
        CHECK_INT(program_count("t", "done") + program_count("t", "ready") +
                      program_count("t", "delayed") + program_count("t", "reserved"),
                  ==, COUNT);
    }
    struct running worker = start_worker(true);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    CHECK_INT(program_count("t", "done"), ==, COUNT);
    CHECK_INT(program_count("t", "buried"), ==, 0);
    check_all_ran(COUNT);
}

TEST(put_killed, "of a list whose put was killed every id that was printed is a job that runs")
{
    program_init();
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    CHECK_INT(fcntl(pipes[1], F_SETFD, FD_CLOEXEC), ==, 0);
    struct running running = program_start_on(pipes[0], WORDS("put", "--lines", "t"));
    (void)close(pipes[0]);
    int written = 0;
    while (lseek(running.out, 0, SEEK_END) < 200) {
        char line[32];
        int length = snprintf(line, sizeof(line), "job %d\n", written++);
        CHECK_INT(write(pipes[1], line, (size_t)length), ==, length);
    }
    CHECK_INT(kill(running.pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.signal, ==, SIGKILL);
    (void)close(pipes[1]);
    struct ended jobs = WEIR_EXPECT(0, "ls", "--next", "--json", "--limit", "1000000", "t");
    const char *at = jobs.out;
    const char *id = ended.out;
    int64_t printed = 0;
    /* Ids were printed in the order in which the jobs would run. */
    for (const char *end = strchr(id, '\n'); end != NULL; end = strchr(id, '\n')) {
        char expected[64];
        (void)snprintf(expected, sizeof(expected), "{\"id\":\"%.*s\",", (int)(end - id), id);
        at = strstr(at, expected);
        CHECK(at != NULL);
        id = end + 1;
        printed++;
    }
    ended_free(&jobs);
    ended_free(&ended);
    CHECK_INT(printed, >, 0);
    CHECK_INT(program_count("t", "put"), >=, printed);
    CHECK_INT(program_count("t", "put"), <=, written);
}

TEST(two_workers, "two workers share a tube: every job is done, each once, while both live")
{
    enum {
        COUNT = 300
    };
    program_init();
    put_jobs(COUNT);
    struct running first = start_worker(true);
    struct running second = start_worker(true);
    struct ended ended = program_wait(&first);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    ended = program_wait(&second);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    check_all_ran(COUNT);
    CHECK_INT(program_count("t", "done"), ==, COUNT);
    CHECK_INT(count_lines("log"), ==, COUNT + program_count("t", "expired"));
}

TEST(last_attempt,
     "a job whose last worker was killed is told and counted as buried: exit status 1")
{
    program_init();
    WEIR(0, "put", "--ttr", "100ms", "t", "x");
    struct running worker =
        program_start("", 0,
                      WORDS("work", "t", "--", "sh", "-c",
                            "touch started; while [ ! -e go ]; do sleep 0.01; done"));
    WAIT_UNTIL(access("started", F_OK) == 0);
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.signal, ==, SIGKILL);
    ended_free(&ended);
    ended = WEIR_EXPECT(1, "work", "-e", "--attempts", "1", "t", "--", "true");
    CHECK(strstr(ended.err, "job 1: buried after run 1: its reservation ended") != NULL);
    CHECK(strstr(ended.err, " 1 buried, 0 lost") != NULL);
    write_file("go", "", 0, 0600);
    ended_free(&ended);
    CHECK_INT(program_count("t", "buried"), ==, 1);
}

TEST(leftovers, "the programs of a killed worker end with it, and all that they started")
{
    static const char script[] =
        "sleep 1000 & setsid sleep 1000 & (trap '' TERM HUP; env -i sleep 1000) & "
        "touch started; exec sleep 1000";
    program_init();
    WEIR(0, "put", "t", "x");
    struct running worker = program_start("", 0, WORDS("work", "t", "--", "sh", "-c", script));
    WAIT_UNTIL(access("started", F_OK) == 0);
    CHECK_INT(kill(worker.pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.signal, ==, SIGKILL);
    ended_free(&ended);
    /* The harness fails a test that leaves processes. */
}

/* The process of the program in the test's folder that is not this one: its guard. */
static pid_t find_guard(pid_t worker)
{
    char here[512];
    char *program = realpath(WEIR_PROGRAM, NULL);
    pid_t guard = 0;
    CHECK(getcwd(here, sizeof(here)) != NULL);
    CHECK(program != NULL);
    DIR *proc = opendir("/proc");
    CHECK(proc != NULL);
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        char path[300];
        char folder[512] = "";
        char file[512] = "";
        (void)snprintf(path, sizeof(path), "/proc/%s/cwd", entry->d_name);
        ssize_t folder_size = readlink(path, folder, sizeof(folder) - 1);
        (void)snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
        ssize_t size = readlink(path, file, sizeof(file) - 1);
        if (folder_size > 0 && size > 0 && strcmp(folder, here) == 0 &&
            strcmp(file, program) == 0 && atoi(entry->d_name) != worker) {
            guard = atoi(entry->d_name);
        }
    }
    (void)closedir(proc);
    free(program);
    return guard;
}

static void kill_worker(struct running *worker)
{
    CHECK_INT(kill(worker->pid, SIGKILL), ==, 0);
    struct ended ended = program_wait(worker);
    CHECK_INT(ended.signal, ==, SIGKILL);
    ended_free(&ended);
}

/* The last signal of the classic ones. Clang's ThreadSanitizer has a thread of its own in the
 * guard, which takes that. */
#define LAST_SIGNAL SIGSYS
#if defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        undef LAST_SIGNAL
#        define LAST_SIGNAL (SIGSYS - 1)
#    endif
#endif

TEST(guard_signals, "no signal that can be blocked ends the guard: it still ends what is left")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct running worker =
        program_start("", 0, WORDS("work", "t", "--", "sh", "-c", ": > started; sleep 1000"));
    WAIT_UNTIL(access("started", F_OK) == 0);
    pid_t guard = find_guard(worker.pid);
    CHECK_INT(guard, >, 0);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number != SIGKILL && number != SIGSTOP &&
            (number <= LAST_SIGNAL || number >= SIGRTMIN)) {
            CHECK_INT(kill(guard, number), ==, 0);
        }
    }
    kill_worker(&worker);
    /* The harness fails a test that leaves processes. */
}

TEST(without_word, "programs without the guard's word in their environment end with their worker")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct running worker = program_start(
        "", 0,
        WORDS("work", "t", "--", "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c",
              "timeout 1000 sleep 1000 & sleep 1000 & echo started >&2; exec sleep 1000"));
    /* What the program writes is passed on once the guard has been told of it. */
    bool has_started = false;
    while (!has_started) {
        char *err = program_err(&worker);
        has_started = strstr(err, "started") != NULL;
        free(err);
        program_pause();
    }
    kill_worker(&worker);
}

/* A worker, and so its guard, that may not kill anything. */
static void start_powerless(void *worker)
{
    test_forbid_call(SYS_kill, SECCOMP_RET_ERRNO | EPERM);
    *(struct running *)worker = program_start(
        "", 0,
        WORDS("work", "t", "--", "sh", "-c", ": > started; until [ -e go ]; do sleep 0.01; done"));
}

/* How often it has slept; -1: it is gone. */
static long count_sleeps(pid_t pid)
{
    char path[64];
    long count = -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    char line[256];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "State:\tZ", 8) == 0) {
            break;
        }
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

TEST(guard_waits, "a guard lives as long as a program that it may not kill")
{
    struct running worker;
    program_init();
    WEIR(0, "put", "t", "x");
    test_join(test_start(start_powerless, &worker));
    WAIT_UNTIL(access("started", F_OK) == 0);
    pid_t guard = find_guard(worker.pid);
    long before = count_sleeps(guard);
    CHECK_INT(before, >=, 0);
    kill_worker(&worker);
    for (long sleeps = before; sleeps < before + 20; sleeps = count_sleeps(guard)) {
        CHECK_INT(sleeps, >=, 0);
        program_pause();
    }
    write_file("go", "", 0, 0600);
    WAIT_UNTIL(count_sleeps(guard) < 0);
}

/* Whether `weir why` says that the worker of job 1 does not live. */
static bool is_gone(void)
{
    struct ended ended = program_run(WORDS("why", "1"));
    CHECK_INT(ended.code, ==, 0);
    bool is = strstr(ended.out, "does not live") != NULL;
    ended_free(&ended);
    return is;
}

TEST(gone, "a worker that was killed is known not to live once its guard has ended the programs")
{
    program_init();
    WEIR(0, "put", "--ttr", "1h", "t", "x");
    struct running worker =
        program_start("", 0, WORDS("work", "t", "--", "sh", "-c", ": > started; sleep 1000"));
    WAIT_UNTIL(access("started", F_OK) == 0);
    pid_t guard = find_guard(worker.pid);
    CHECK(!is_gone());
    CHECK_INT(kill(guard, SIGSTOP), ==, 0);
    kill_worker(&worker);
    CHECK(!is_gone());
    CHECK_INT(kill(guard, SIGCONT), ==, 0);
    WAIT_UNTIL(is_gone());
    struct ended ended = WEIR_EXPECT(0, "ls", "--json", "--state", "reserved", "t");
    CHECK(strstr(ended.out, "\"process_lives\":false") != NULL);
    ended_free(&ended);
}

TEST(guard_stopped, "a guard that is stopped does not keep its worker")
{
    program_init();
    WEIR(0, "put", "t", "x");
    struct running worker = program_start("", 0, WORDS("work", "t", "--", "touch", "ran"));
    WAIT_UNTIL(access("ran", F_OK) == 0);
    CHECK_INT(kill(find_guard(worker.pid), SIGSTOP), ==, 0);
    CHECK_INT(kill(worker.pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}

TEST(container, "in a container a process whose session began outside of it is no program of weir")
{
    /* Process 1 of a new namespace, its child "other" and the worker are of a session that is 0
     * there. */
    static const char script[] =
        "sleep 1000 & other=$!; " WEIR_PROGRAM " work t -- sh -c 'echo $$ > pid; mv pid program; "
        "exec sleep 1000' & worker=$!; until [ -e program ]; do sleep 0.01; done; "
        "read -r program < program; kill -9 $worker; wait $worker 2> errors; "
        "while kill -0 $program 2> errors; do sleep 0.01; done; kill -9 $other && : > survived";
    program_init();
    WEIR(0, "put", "t", "x");
    if (system("unshare -Urfp --mount-proc true") != 0) {
        test_skip("no namespace can be made");
    }
    write_file("script", script, strlen(script), 0600);
    CHECK_INT(system("unshare -Urfp --mount-proc sh script"), ==, 0);
    CHECK(access("survived", F_OK) == 0);
}
