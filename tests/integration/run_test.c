/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* `weir run`. */

#define BROKER "broker = \"sqlite:jobs.db\"\n"
/* Appends each job's body to a file named by its tube. */
#define PROGRAM "program = {sh, \"-c\", \"cat >> $WEIR_TUBE.out; echo >> $WEIR_TUBE.out\"}\n"

static void write_setup(const char *text)
{
    write_file("weir.conf.new", text, strlen(text), 0600);
    CHECK_INT(rename("weir.conf.new", "weir.conf"), ==, 0);
}

static struct running start(const char *text)
{
    program_init();
    write_setup(text);
    return program_start("", 0, WORDS("run", "weir.conf"));
}

static size_t times_said(const struct running *running, const char *text)
{
    char *err = program_err(running);
    size_t count = 0;
    for (const char *at = err; (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    free(err);
    return count;
}

/* Reads another file; waits until it is said what became of that. */
static void reload(const struct running *running, const char *text, const char *outcome)
{
    size_t before = times_said(running, outcome);
    write_setup(text);
    CHECK_INT(kill(running->pid, SIGHUP), ==, 0);
    WAIT_UNTIL(times_said(running, outcome) > before);
}

static void stop(struct running *running, int code)
{
    CHECK_INT(kill(running->pid, SIGTERM), ==, 0);
    struct ended ended = program_wait(running);
    if (ended.code != code) {
        test_fail(__FILE__, __LINE__, "exit status %d, expected %d\n%s", ended.code, code,
                  ended.err);
    }
    ended_free(&ended);
}

static void put_numbers(const char *tube, int first, int last)
{
    for (int i = first; i <= last; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        WEIR(0, "put", "-q", tube, text);
    }
}

TEST(consumers, "each consumer runs its program for the jobs of its tubes")
{
    struct running running = start(BROKER "consumer a { " PROGRAM " tubes = {a, \"b=2\"} }\n"
                                          "consumer c { " PROGRAM " jobs = 2 }\n"
                                          "consumer d { program = {sh, \"-c\", \"exit 3\"}\n"
                                          " bury-on = 3 }\n");
    put_numbers("a", 1, 3);
    put_numbers("b", 1, 2);
    put_numbers("c", 1, 4);
    put_numbers("d", 1, 1);
    WAIT_UNTIL(count_lines("a.out") == 3 && count_lines("b.out") == 2 && count_lines("c.out") == 4);
    WAIT_UNTIL(program_count("d", "buried") == 1);
    stop(&running, 0);
}

TEST(schedules, "schedules are made, changed with the file and removed with it; others stay")
{
    program_init();
    WEIR(0, "schedule", "add", "mine", "other", "--every", "1h");
    struct running running = start(BROKER "consumer a { " PROGRAM " }\n"
                                          "schedule s { tube = a\n every = 100ms\n body = one }\n"
                                          "schedule t { tube = b\n every = 1h }\n");
    WAIT_UNTIL(count_lines("a.out") >= 2);
    reload(&running,
           BROKER "consumer a { " PROGRAM " }\n"
                  "schedule s { tube = c\n every = 100ms\n body = two }\n",
           ": reloaded");
    struct ended ended = WEIR_EXPECT(0, "schedule", "ls", "--json");
    CHECK(strstr(ended.out, "\"tube\":\"c\"") != NULL);
    CHECK(strstr(ended.out, "\"tube\":\"other\"") != NULL);
    CHECK(strstr(ended.out, "\"tube\":\"b\"") == NULL);
    CHECK(strstr(ended.out, "\"tube\":\"a\"") == NULL);
    ended_free(&ended);
    stop(&running, 0);
}

/* Whether `weir policy` prints this line of a tube. */
static bool has_policy(const char *tube, const char *line)
{
    struct ended ended = WEIR_EXPECT(0, "policy", tube);
    bool has = strstr(ended.out, line) != NULL;
    ended_free(&ended);
    return has;
}

TEST(policies,
     "the policies of tubes are those of the file; what it does not name, or no longer, stays")
{
    program_init();
    WEIR(0, "policy", "a", "--per-group", "1");
    WEIR(0, "policy", "b", "--keep", "1d", "--per-group", "9");
    struct running running = start(BROKER "tube a { per-group = 2 }\ntube b { per-group = 3 }\n");
    WAIT_UNTIL(has_policy("a", "per-group     2\n") && has_policy("b", "per-group     3\n"));
    CHECK(has_policy("b", "keep          1d\n"));
    WEIR(0, "policy", "b", "--per-group", "7");
    reload(&running, BROKER "tube a { per-group = 5 }\ntube b { per-group = 3 }\n", "reloaded");
    CHECK(has_policy("a", "per-group     5\n"));
    CHECK(has_policy("b", "per-group     7\n")); /* the file says the same as before */
    reload(&running, BROKER, "reloaded");
    CHECK(has_policy("a", "per-group     5\n"));
    stop(&running, 0);
}

TEST(reloads, "a reload adds, removes and changes consumers; no job is lost or run twice, and one "
              "that did not change goes on undisturbed")
{
    struct running running =
        start(BROKER "consumer same { " PROGRAM " }\n"
                     "consumer changed { " PROGRAM " }\n"
                     "consumer removed { program = {sh, \"-c\", \"echo > began; until [ -e go ]; do"
                     " sleep 0.02; done; cat >> removed.out; echo >> removed.out\"} }\n");
    put_numbers("same", 1, 5);
    put_numbers("changed", 1, 5);
    put_numbers("removed", 1, 2);
    put_numbers("added", 1, 5);
    /* A job that is reserved but not begun would be given back. */
    WAIT_UNTIL(count_lines("began") == 1);
    reload(&running,
           BROKER "# a comment moves the lines\nconsumer added { " PROGRAM " }\n"
                  "consumer changed { " PROGRAM " jobs = 3 }\n"
                  "consumer same { " PROGRAM " }\n",
           ": reloaded");
    put_numbers("same", 6, 9);
    put_numbers("changed", 6, 9);
    WAIT_UNTIL(count_lines("same.out") == 9 && count_lines("changed.out") == 9 &&
               count_lines("added.out") == 5);
    /* What ran when its consumer was removed goes on to its end; nothing else of its tube runs. */
    CHECK_INT(program_count("removed", "reserved"), ==, 1);
    write_file("go", "", 0, 0600);
    WAIT_UNTIL(count_lines("removed.out") == 1);
    stop(&running, 0);
    CHECK_INT(count_lines("removed.out"), ==, 1);
    CHECK_INT(program_count("removed", "ready"), ==, 1);
    CHECK_INT(program_count("same", "done"), ==, 9);
    CHECK_INT(program_count("changed", "done"), ==, 9);
}

TEST(changed_drains, "the successor of a changed consumer starts once the old one has drained: its "
                     "jobs at once do not add up")
{
    static const char text[] =
        BROKER "consumer a { program = {sh, \"-c\", \"mkdir held || echo two >> wrong;"
               " until [ -e go ]; do sleep 0.02; done; sleep 0.3; rmdir held; echo >> a.out\"}\n"
               "%s }\n";
    char first[512];
    char second[512];
    (void)snprintf(first, sizeof(first), text, "");
    (void)snprintf(second, sizeof(second), text, "attempts = 7");
    struct running running = start(first);
    put_numbers("a", 1, 4);
    WAIT_UNTIL(program_count("a", "reserved") == 1);
    reload(&running, second, ": reloaded");
    write_file("go", "", 0, 0600);
    WAIT_UNTIL(count_lines("a.out") == 4);
    stop(&running, 0);
    CHECK_INT(count_lines("wrong"), ==, 0);
}

TEST(removed_drains, "one signal lets the jobs of a removed consumer go on to their end, too")
{
    struct running running =
        start(BROKER "consumer a { program = {sh, \"-c\", \"echo > began; until [ -e go ]; do"
                     " sleep 0.02; done; echo >> a.out\"} }\n");
    put_numbers("a", 1, 1);
    WAIT_UNTIL(count_lines("began") == 1);
    reload(&running, BROKER "consumer b { " PROGRAM " }\n", ": reloaded");
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    WAIT_UNTIL(times_said(&running, "stopping; 1 running jobs go on") == 1);
    write_file("go", "", 0, 0600);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    CHECK_INT(count_lines("a.out"), ==, 1);
    CHECK_INT(program_count("a", "done"), ==, 1);
}

/* A consumer with a job that runs, and a program that was found to be gone after that. */
static struct running start_gone(const char *setup)
{
    static const char script[] =
        "#!/bin/sh\n: > began\nuntil [ -e go ]; do sleep 0.02; done\necho >> old.out\n";
    program_init();
    write_file("script", script, strlen(script), 0700);
    struct running running = start(setup);
    put_numbers("a", 1, 1);
    WAIT_UNTIL(access("began", F_OK) == 0);
    CHECK_INT(rename("script", "moved"), ==, 0);
    put_numbers("a", 2, 2);
    WAIT_UNTIL(times_said(&running, "cannot be run") == 1);
    return running;
}

TEST(gone, "a consumer with a program that is gone drains, and is followed by the one of the file "
           "that was read meanwhile, changed or not")
{
    static const char first[] = BROKER "consumer a { program = \"./script\"\n jobs = 2 }\n"
                                       "consumer b { " PROGRAM " }\n";
    static const char second[] = BROKER "consumer a { " PROGRAM " }\n"
                                        "consumer b { " PROGRAM " }\n";
    for (int i = 0; i < 2; i++) {
        struct running running = start_gone(first);
        CHECK_INT(rename("moved", "script"), ==, 0);
        reload(&running, i == 0 ? first : second, ": reloaded");
        write_file("go", "", 0, 0600);
        WAIT_UNTIL(program_count("a", "done") == 2 * i + 2);
        stop(&running, 0);
        CHECK_INT(unlink("go"), ==, 0);
        CHECK_INT(unlink("began"), ==, 0);
    }
    CHECK_INT(count_lines("old.out"), ==, 3);
    CHECK_INT(count_lines("a.out"), ==, 1);
}

TEST(refuses, "a file with a fault, or with another broker, is refused, and the old set-up goes on")
{
    static const char *const bad[] = {
        BROKER "consumer a { program = nonesuch }\n",
        BROKER "consumer a { " PROGRAM " } consumer b {\n",
        "broker = \"sqlite:other.db\"\nconsumer a { " PROGRAM " }\n",
        BROKER "consumer a { " PROGRAM " }\nhttp { listen = \"unix:/nonesuch/x\" }\n",
        BROKER "consumer b { " PROGRAM " }\nschedule s { tube = a\n cron = \"61 * * * *\" }\n",
    };
    struct running running = start(BROKER "consumer a { " PROGRAM " }\n");
    put_numbers("a", 0, 0);
    WAIT_UNTIL(count_lines("a.out") == 1);
    for (int i = 0; i < 5; i++) {
        reload(&running, bad[i], "not reloaded; the old set-up goes on");
        put_numbers("a", i, i);
        WAIT_UNTIL(count_lines("a.out") == (size_t)i + 2);
    }
    stop(&running, 0);
    CHECK(access("other.db", F_OK) != 0);
}

TEST(stops, "one signal drains; a second one ends what runs, and gives it back uncounted")
{
    struct running running =
        start(BROKER "consumer a { program = {sh, \"-c\", \"echo > began; sleep 60\"}\n"
                     " grace = 100ms }\n");
    put_numbers("a", 1, 1);
    WAIT_UNTIL(count_lines("began") == 1);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    WAIT_UNTIL(times_said(&running, "stopping; 1 running jobs go on") == 1);
    stop(&running, 75);
    CHECK_INT(program_count("a", "ready"), ==, 1);
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--json", "a");
    CHECK(strstr(ended.out, "\"attempts\":0") != NULL);
    ended_free(&ended);
}

/* Asks until the answer has this part: a job counts a moment after the store has its end. */
static void await_answer(const char *line, const char *part)
{
    const struct server server = {.port = 0};
    for (bool has_part = false; !has_part;) {
        struct answer answer = client_ask(&server, line, "", NULL);
        CHECK_INT(answer.status, ==, 200);
        has_part = strstr(answer.body, part) != NULL;
        answer_free(&answer);
    }
}

TEST(endpoint, "the endpoint shows the consumers' work, and moves with the file")
{
    struct running running = start(BROKER "consumer a { " PROGRAM " }\n"
                                          "http { listen = \"unix:weir.sock\" }\n");
    put_numbers("a", 1, 3);
    WAIT_UNTIL(program_count("a", "done") == 3);
    await_answer("GET /metrics", "workqueue_work_duration_seconds_count{name=\"a\"} 3\n");
    /* At the same place with other settings, then at another place, and back. */
    reload(&running,
           BROKER "consumer a { " PROGRAM
                  " }\nhttp { listen = \"unix:weir.sock\"\n prefix = /x }\n",
           "weir.sock/x");
    await_answer("GET /x/livez", "");
    reload(&running, BROKER "consumer a { " PROGRAM " }\nhttp { listen = \"unix:b.sock\" }\n",
           ": reloaded");
    CHECK_INT(access("b.sock", F_OK), ==, 0);
    CHECK(access("weir.sock", F_OK) != 0);
    reload(&running, BROKER "consumer a { " PROGRAM " }\nhttp { listen = \"unix:weir.sock\" }\n",
           ": reloaded");
    await_answer("GET /livez", "");
    reload(&running, BROKER "consumer a { " PROGRAM " jobs = 2 }\n", ": reloaded");
    CHECK(access("weir.sock", F_OK) != 0);
    stop(&running, 0);
}

/* --- systemd and containers --- */

/* The next message of the service; -1: none within ten seconds. */
static bool hear(int fd, const char *expected)
{
    char text[256] = "";
    do {
        ssize_t size = recv(fd, text, sizeof(text) - 1, 0);
        CHECK(size > 0);
        text[size] = '\0';
    } while (strcmp(text, "WATCHDOG=1") == 0 && strcmp(text, expected) != 0);
    return strncmp(text, expected, strlen(expected)) == 0;
}

/* A socket of the service manager's. */
static int open_manager(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char folder[64];
    CHECK(getcwd(folder, sizeof(folder)) != NULL);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.64s/notify", folder);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    CHECK_INT(setenv("NOTIFY_SOCKET", address.sun_path, 1), ==, 0);
    return fd;
}

TEST(notifies, "systemd hears when it is ready, reloads, lives and stops; its programs do not")
{
    int fd = open_manager();
    /* Few enough messages that none is dropped while the test does not listen. */
    CHECK_INT(setenv("WATCHDOG_USEC", "2000000", 1), ==, 0);
    static const char text[] = BROKER "consumer a { program = {sh, \"-c\", \"env > a.out\"} %s}\n";
    char setup[256];
    (void)snprintf(setup, sizeof(setup), text, "");
    struct running running = start(setup);
    CHECK(hear(fd, "READY=1"));
    CHECK(hear(fd, "WATCHDOG=1"));
    put_numbers("a", 1, 1);
    WAIT_UNTIL(program_count("a", "done") == 1);
    char *environment = read_file("a.out", NULL);
    CHECK(strstr(environment, "NOTIFY_SOCKET") == NULL);
    CHECK(strstr(environment, "WATCHDOG_USEC") == NULL);
    free(environment);
    (void)snprintf(setup, sizeof(setup), text, "jobs = 2\n");
    reload(&running, setup, ": reloaded");
    CHECK(hear(fd, "RELOADING=1\nMONOTONIC_USEC="));
    CHECK(hear(fd, "READY=1"));
    CHECK_INT(kill(running.pid, SIGTERM), ==, 0);
    CHECK(hear(fd, "STOPPING=1"));
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    (void)close(fd);
}

static void fill_manager(int filler)
{
    while (send(filler, "full", 4, 0) == 4) {
    }
}

/* What it hears after all that filled it. */
static void hear_late(int fd, char text[64])
{
    do {
        ssize_t size = recv(fd, text, 63, 0);
        CHECK_INT(size, >, 0);
        text[size] = '\0';
    } while (strcmp(text, "full") == 0);
}

TEST(manager_full, "a manager that reads nothing holds nothing up; later it hears what it needs")
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "notify"};
    char text[64] = "";
    int fd = open_manager();
    int filler = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK_INT(connect(filler, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    fill_manager(filler);
    struct running running = start(BROKER "consumer a { " PROGRAM " }\n");
    put_numbers("a", 1, 1);
    WAIT_UNTIL(count_lines("a.out") == 1);
    hear_late(fd, text);
    CHECK_STRING(text, "READY=1");
    fill_manager(filler);
    reload(&running,
           BROKER "consumer b { program = {sh, \"-c\", \"echo > began; until [ -e go ]; do "
                  "sleep 0.01; done\"} }\n",
           ": reloaded");
    hear_late(fd, text);
    CHECK(strncmp(text, "RELOADING=1\nMONOTONIC_USEC=", 27) == 0);
    CHECK_STRING(text + strcspn(text + 12, "\n") + 12, "\nREADY=1");
    put_numbers("b", 1, 1);
    WAIT_UNTIL(access("began", F_OK) == 0);
    fill_manager(filler);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    WAIT_UNTIL(times_said(&running, "stopping; 1 running jobs go on") == 1);
    hear_late(fd, text);
    CHECK_STRING(text, "STOPPING=1");
    write_file("go", "", 0, 0600);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    /* No sign of life was asked for. */
    CHECK_INT(recv(fd, text, sizeof(text), MSG_DONTWAIT), <, 0);
    (void)close(filler);
    (void)close(fd);
}

/* Runs a shell's words with `weir` as $0, this descriptor as its third, and its standard error in
 * the file `err`. */
static pid_t start_shell(const char *words, int third)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int err = open("err", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        (void)dup2(err, STDERR_FILENO);
        (void)dup2(third, 3);
        (void)fcntl(3, F_SETFD, 0); /* dup2() leaves it as it is if it is 3 already */
        (void)execl("/bin/sh", "sh", "-c", words, WEIR_PROGRAM, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static int end_shell(pid_t pid)
{
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(inherits, "a socket that systemd opened is served; without one it is refused")
{
    static const char text[] = BROKER "http { listen = \"systemd:\" }\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "weir.sock"};
    program_init();
    write_setup(text);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    CHECK_INT(listen(fd, 16), ==, 0);
    pid_t pid = start_shell("LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" run weir.conf", fd);
    await_answer("GET /livez", "");
    CHECK_INT(kill(pid, SIGTERM), ==, 0);
    CHECK_INT(end_shell(pid), ==, 0);
    CHECK_INT(access("weir.sock", F_OK), ==, 0); /* it is systemd's */
    struct ended ended = WEIR_EXPECT(69, "run", "weir.conf");
    CHECK(strstr(ended.err, "systemd ($LISTEN_FDS)") != NULL);
    ended_free(&ended);
    (void)close(fd);
}

/* The children of a process; returns how many. */
static size_t list_children(pid_t pid, pid_t children[8])
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    size_t count = 0;
    CHECK(file != NULL);
    while (count < 8 && fscanf(file, "%d", &children[count]) == 1) {
        count++;
    }
    (void)fclose(file);
    return count;
}

TEST(process_1, "as process 1 of a container it reaps what loses its parent, and passes signals on")
{
    static const char text[] = BROKER
        "consumer a { program = {sh, \"-c\", \"(sleep 0.2; echo > orphan.out) & exit 0\"} }\n";
    pid_t children[8];
    program_init();
    write_setup(text);
    WEIR(0, "put", "-q", "a", "x");
    pid_t shell =
        start_shell("exec unshare --pid --fork --kill-child --mount-proc \"$0\" run weir.conf", -1);
    WAIT_UNTIL(access("orphan.out", F_OK) == 0);
    CHECK_INT(list_children(shell, children), ==, 1);
    pid_t first = children[0];
    /* The orphan ends and is reaped: what is left are the worker, and the guard that it has left.
     */
    WAIT_UNTIL(list_children(first, children) == 2);
    CHECK_INT(kill(first, SIGTERM), ==, 0);
    CHECK_INT(end_shell(shell), ==, 0);
    char *err = read_file("err", NULL);
    CHECK(strstr(err, "stopping; 0 running jobs") != NULL);
    free(err);
}

TEST(process_1_inherits, "as process 1 it takes what a manager left for it; SIGCHLD may be ignored")
{
    static const char words[] =
        "export LISTEN_PID=1 LISTEN_FDS=1 WATCHDOG_PID=1 WATCHDOG_USEC=100000; "
        "exec unshare --pid --fork --kill-child --mount-proc "
        "sh -c \"trap '' CHLD; exec \\\"\\$0\\\" run weir.conf\" \"$0\"";
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "weir.sock"};
    pid_t children[8];
    program_init();
    write_setup(BROKER "http { listen = \"systemd:\" }\n");
    int manager = open_manager();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    CHECK_INT(listen(fd, 16), ==, 0);
    pid_t shell = start_shell(words, fd);
    await_answer("GET /livez", "");
    CHECK(hear(manager, "READY=1"));
    CHECK(hear(manager, "WATCHDOG=1"));
    CHECK_INT(list_children(shell, children), ==, 1);
    CHECK_INT(kill(children[0], SIGTERM), ==, 0);
    CHECK_INT(end_shell(shell), ==, 0);
    (void)close(manager);
    (void)close(fd);
}
