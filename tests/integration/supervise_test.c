/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2 */
#include "integration/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program under a shell or a service manager, and above programs that do not what it hopes. */

/* A pipe that is full, and that nobody reads. */
static void open_full_pipe(int ends[2])
{
    char page[4096] = "";
    CHECK_INT(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ==, 0);
    while (write(ends[1], page, sizeof(page)) > 0) {
    }
    CHECK_INT(fcntl(ends[1], F_SETFL, 0), ==, 0);
}

static void stop(struct running *running, int code)
{
    CHECK_INT(kill(running->pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(running);
    CHECK_INT(ended.code, ==, code);
    ended_free(&ended);
}

TEST(unread, "a full standard error keeps neither a deadline, nor other jobs, nor a signal")
{
    static const char script[] = "echo said >&2; read -r line; [ $line = short ] || exec sleep "
                                 "1000; > ran; exit 1";
    int ends[2];
    program_init();
    open_full_pipe(ends);
    WEIR(0, "put", "t", "long");
    struct running running = program_start_telling(
        ends[1], WORDS("work", "-v", "--deadline", "100ms", "--grace", "100ms", "--retry-delay",
                       "1h", "t", "--", "sh", "-c", script));
    WAIT_UNTIL(program_count("t", "delayed") == 1);
    WEIR(0, "put", "t", "short");
    WAIT_UNTIL(program_count("t", "delayed") == 2);
    stop(&running, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(gone, "a program that is gone costs no job an attempt, whichever worker tells of it first")
{
    static const char script[] = "#!/bin/sh\nrm program\n";
    int ends[2];
    program_init();
    open_full_pipe(ends); /* what is told takes its time */
    write_file("program", script, strlen(script), 0700);
    struct running running = program_start_telling(
        ends[1], WORDS("work", "-j", "4", "--attempts", "1", "t", "--", "./program"));
    WEIR(0, "put", "t", "x");
    WAIT_UNTIL(program_count("t", "done") == 1);
    struct ended put = program_run_with("a\nb\nc\nd\n", 8, WORDS("put", "--lines", "t"));
    CHECK_INT(put.code, ==, 0);
    ended_free(&put);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, !=, 0);
    ended_free(&ended);
    CHECK_INT(program_count("t", "buried"), ==, 0);
    CHECK_INT(program_count("t", "ready"), ==, 4);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(unread_run, "nor does it keep a signal from `weir run`")
{
    static const char setup[] = "broker = \"sqlite:jobs.db\"\n"
                                "consumer a { program = {touch, ran} }\n";
    int ends[2];
    program_init();
    open_full_pipe(ends);
    write_file("weir.conf", setup, strlen(setup), 0600);
    struct running running = program_start_telling(ends[1], WORDS("run", "weir.conf"));
    WEIR(0, "put", "a", "x");
    WAIT_UNTIL(program_count("a", "done") == 1);
    stop(&running, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Says when its input has ended, and goes on until it is told to end. */
#define LATE "while read -r line; do echo 0; done; > eof; until [ -e go ]; do sleep 0.01; done"

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put_one(const char *tube)
{
    int64_t done = program_count(tube, "done");
    WEIR(0, "put", "-q", tube, "x");
    WAIT_UNTIL(program_count(tube, "done") > done);
}

static void await_said(const struct running *running, const char *said)
{
    bool is_said = false;
    while (!is_said) {
        char *err = program_err(running);
        is_said = strstr(err, said) != NULL;
        free(err);
        program_pause();
    }
}

static void reload(const struct running *running, const char *setup, const char *said)
{
    write_file("weir.conf", setup, strlen(setup), 0600);
    CHECK_INT(kill(running->pid, SIGHUP), ==, 0);
    await_said(running, said);
}

#define BROKER "broker = \"sqlite:jobs.db\"\n"

TEST(reload_beside, "reloads and signals go on while persistent programs of a former set-up end")
{
    static const char setup[] = BROKER "consumer a { program = {sh, \"-c\", \"" LATE "\"}\n"
                                       "persistent = lines\n grace = 1000s }\n";
    program_init();
    write_file("weir.conf", setup, strlen(setup), 0600);
    struct running running = program_start("", 0, WORDS("run", "weir.conf"));
    put_one("a");
    reload(&running, BROKER "consumer b { program = {touch, ran} }\n", ": reloaded");
    WAIT_UNTIL(is_there("eof"));
    reload(&running, BROKER "consumer c { nonsense }\n", ": not reloaded");
    write_file("go", "", 0, 0600);
    stop(&running, 0);
}

/* A worker whose persistent program has been asked to end by the end of its input, and goes on. */
static struct running start_ending(const char *grace, const char *script)
{
    program_init();
    struct running running = program_start(
        "", 0,
        WORDS("work", "--grace", grace, "--persistent", "lines", "t", "--", "sh", "-c", script));
    put_one("t");
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    WAIT_UNTIL(is_there("eof"));
    return running;
}

TEST(second_stop, "a second signal asks persistent programs that do not end, as a deadline does")
{
    struct running running = start_ending("1000s", "trap '> asked; exit' TERM; " LATE);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 75);
    ended_free(&ended);
    CHECK(is_there("asked"));
}

TEST(long_grace, "a grace of nearly any length is no time that has passed")
{
    struct running running =
        start_ending("9223372036854775807ns", "trap '> asked; exit' TERM; " LATE);
    write_file("go", "", 0, 0600);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    CHECK(!is_there("asked"));
}

TEST(pays_alone, "a job's time begins when it is given to a program, not at the end of another")
{
    static const char script[] =
        "trap '' TERM; while read -r line; do echo 0; [ -e said ] && continue\n"
        "until [ -e go ]; do sleep 0.01; done; echo 1; > said; exec sleep 1000; done";
    program_init();
    struct running running =
        program_start("", 0,
                      WORDS("work", "--deadline", "2s", "--grace", "3s", "--persistent", "lines",
                            "t", "--", "sh", "-c", script));
    put_one("t");
    write_file("go", "", 0, 0600);
    WAIT_UNTIL(is_there("said"));
    put_one("t");
    CHECK_INT(program_count("t", "retried"), ==, 0);
    stop(&running, 0);
}

TEST(nohup, "a signal that was ignored at the start stays so; HUP still reloads `weir run`")
{
    static const char setup[] = BROKER "consumer a { program = {touch, ran} }\n";
    program_init();
    CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    struct running running = program_start("", 0, WORDS("work", "t", "--", "true"));
    put_one("t");
    for (int i = 0; i < 3; i++) {
        CHECK_INT(kill(running.pid, SIGHUP), ==, 0);
        put_one("t");
    }
    stop(&running, 0);
    write_file("weir.conf", setup, strlen(setup), 0600);
    running = program_start("", 0, WORDS("run", "weir.conf"));
    put_one("a");
    reload(&running, BROKER "consumer b { program = {touch, ran} }\n", ": reloaded");
    CHECK(signal(SIGHUP, SIG_DFL) != SIG_ERR);
    stop(&running, 0);
}

TEST(stopped, "a program that is stopped is told of")
{
    program_init();
    WEIR(0, "put", "-q", "t", "x");
    struct running running =
        program_start("", 0, WORDS("work", "t", "--", "sh", "-c", "echo $$ > pid; kill -STOP $$"));
    await_said(&running, "job 1: its program, process ");
    await_said(&running, " is stopped by signal 19\n");
    char *pid = read_file("pid", NULL);
    CHECK_INT(kill(atoi(pid), SIGCONT), ==, 0);
    free(pid);
    WAIT_UNTIL(program_count("t", "done") == 1);
    stop(&running, 0);
}

TEST(own_boot, "a container with a boot_id of its own ends no lease of the host's workers")
{
    static const char script[] =
        "until [ -s log ]; do sleep 0.01; done; echo 0b10c0de-0000-4000-8000-000000000000 > id && "
        "mount --bind id /proc/sys/kernel/random/boot_id && " WEIR_PROGRAM
        " put -q t second && { " WEIR_PROGRAM " work t -- sh -c 'read -r name; echo $name >> log' "
        "& }; until [ $(wc -l < log) = 2 ]; do sleep 0.01; done; kill $!; wait $!";
    program_init();
    if (system("unshare -Urm true") != 0) {
        test_skip("no namespace can be made");
    }
    write_file("script", script, strlen(script), 0600);
    WEIR(0, "put", "-q", "t", "first");
    struct running running = program_start(
        "", 0,
        WORDS("work", "-j", "1", "t", "--", "sh", "-c",
              "read -r name; echo $name >> log; until [ -e go ]; do sleep 0.01; done"));
    WAIT_UNTIL(program_count("t", "reserved") == 1);
    CHECK_INT(system("unshare -Urm sh script"), ==, 0);
    char *log = read_file("log", NULL);
    CHECK_STRING(log, "first\nsecond\n");
    free(log);
    write_file("go", "", 0, 0600);
    stop(&running, 0);
}

TEST(without_null, "/dev/null is needed for a closed stream alone, and missed aloud")
{
    static const char script[] =
        "mount -t tmpfs none /dev && " WEIR_PROGRAM " --version && { " WEIR_PROGRAM
        " --version <&- 2> said; [ $? = 72 ]; } && grep -q /dev/null: said";
    program_init();
    if (system("unshare -Urm true") != 0) {
        test_skip("no namespace can be made");
    }
    write_file("script", script, strlen(script), 0600);
    CHECK_INT(system("unshare -Urm sh script"), ==, 0);
}

TEST(mended, "a reload that brings a program back leaves no exit status of its absence")
{
    static const char setup[] = BROKER "consumer a { program = ./gone }\n"
                                       "consumer b { program = {touch, ran} }\n";
    program_init();
    write_file("gone", "#!/bin/sh\n", 10, 0700);
    write_file("weir.conf", setup, strlen(setup), 0600);
    struct running running = program_start("", 0, WORDS("run", "weir.conf"));
    put_one("a");
    CHECK_INT(unlink("gone"), ==, 0);
    WEIR(0, "put", "-q", "a", "x");
    await_said(&running, "; stopping");
    write_file("gone", "#!/bin/sh\n", 10, 0700);
    reload(&running, setup, ": reloaded");
    WAIT_UNTIL(program_count("a", "done") == 2);
    stop(&running, 0);
}

TEST(headers_too_long, "headers that a program cannot be given cost their job, and no other")
{
    enum {
        PIECE = 100000,
        STACK = 8 << 20,
        LEFT = 2500
    };
    static const struct rlimit limit = {STACK, STACK};
    static char header[4000] = "a=";
    static char value[PIECE];
    program_init();
    memset(header + 2, 'x', sizeof(header) - 3);
    WEIR(0, "put", "-q", "--header", header, "t", "x");
    WEIR(0, "put", "-q", "--header", "a=b", "t", "x");
    /* A quarter of the stack's limit is for words and environment, a pointer each included. */
    size_t left = STACK / 4 - LEFT;
    for (char **i = environ; *i != NULL; i++) {
        left -= strlen(*i) + 1 + sizeof(char *);
    }
    memset(value, 'x', sizeof(value) - 1);
    for (int i = 0; left > 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "FILL%03d", i);
        size_t beside = strlen(name) + 2 + sizeof(char *);
        size_t size = left - beside < PIECE ? left - beside : PIECE - 1;
        value[size] = '\0';
        CHECK_INT(setenv(name, value, 1), ==, 0);
        left -= size + beside;
    }
    CHECK_INT(setrlimit(RLIMIT_STACK, &limit), ==, 0);
    struct ended ended = WEIR_EXPECT(1, "work", "-e", "--attempts", "1", "t", "--", "touch", "ran");
    CHECK(strstr(ended.err, "job 1: buried after run 1: its headers and the environment are longer "
                            "than a program may be given") != NULL);
    CHECK(strstr(ended.err, "t: 1 jobs done") != NULL);
    ended_free(&ended);
}

/* Whether a process is weir by now and has a file of this name open. */
static bool has_open(pid_t pid, const char *name)
{
    char command[192];
    (void)snprintf(command, sizeof(command),
                   "grep -qx weir /proc/%d/comm && ls -l /proc/%d/fd 2> errors | grep -q '%s$'",
                   (int)pid, (int)pid, name);
    return system(command) == 0;
}

TEST(waits_for_lock, "TERM ends what waits for a store that another process has locked")
{
    static const char *const commands[][10] = {
        {"work", "--lock-wait", "1h", "t", "--", "true", NULL},
        {"serve", "--lock-wait", "1h", "-l", "unix:weir.sock", NULL},
        {"run", "weir.conf", NULL}};
    static const char setup[] = BROKER "lock-wait = 1h\nconsumer t { program = true }\n";
    program_init();
    WEIR(0, "put", "t", "x");
    write_file("weir.conf", setup, strlen(setup), 0600);
    int fd = open("jobs.db.lock", O_RDWR | O_CLOEXEC);
    CHECK_INT(flock(fd, LOCK_EX), ==, 0);
    for (size_t i = 0; i < 3; i++) {
        struct running running = program_start("", 0, commands[i]);
        WAIT_UNTIL(has_open(running.pid, "jobs.db.lock"));
        CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
        struct ended ended = program_wait(&running);
        CHECK_INT(ended.signal, ==, SIGTERM);
        ended_free(&ended);
    }
    (void)close(fd);
}

static void succeed_unprivileged(const char *const words[])
{
    struct ended ended = program_run_unprivileged(words);
    if (ended.code != 0) {
        test_fail(__FILE__, __LINE__, "weir %s: exit status %d\n%s", words[0], ended.code,
                  ended.err);
    }
    ended_free(&ended);
}

TEST(masked, "what is made under a mask that takes all from its owner is of use to its owner")
{
    static const char *const files[] = {"sum", "state/weir/weir.db", "state/weir/weir.db.lock"};
    struct stat facts;
    program_init();
    CHECK_INT(unsetenv("WEIR_BROKER"), ==, 0);
    mode_t usual = umask(0777);
    for (int i = 0; i < 2; i++) {
        succeed_unprivileged(WORDS("put", "-q", "t", "x"));
        succeed_unprivileged(WORDS("work", "-e", "--summary", "sum", "t", "--", "true"));
    }
    (void)umask(usual); /* files written at the process' end, coverage counts, must stay writable */
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        CHECK_INT(stat(files[i], &facts), ==, 0);
        CHECK_INT(facts.st_mode & 0777, ==, 0600);
    }
    CHECK_INT(stat("state/weir", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 0777, ==, 0700);
}
