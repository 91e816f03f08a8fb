/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* posix_openpt, ptsname_r */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/program.h"

/* What is different where the program talks to a terminal. */

struct terminal {
    int ours;
    int theirs;
};

static struct terminal terminal_open(void)
{
    char name[64];
    struct terminal terminal = {posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), -1};
    CHECK(terminal.ours >= 0);
    CHECK_INT(grantpt(terminal.ours), ==, 0);
    CHECK_INT(unlockpt(terminal.ours), ==, 0);
    CHECK_INT(ptsname_r(terminal.ours, name, sizeof(name)), ==, 0);
    terminal.theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(terminal.theirs >= 0);
    return terminal;
}

/* Runs it with this descriptor on a terminal and returns what that got; to be freed. */
static char *run_on_terminal(int on_terminal, const char *const argv[])
{
    struct terminal terminal = terminal_open();
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (dup2(terminal.theirs, on_terminal) >= 0) {
            (void)execv(WEIR_PROGRAM, (char *const *)argv);
        }
        _exit(99);
    }
    (void)close(terminal.theirs);
    /* Reading fails with EIO once the other end is closed for good. */
    size_t size = 0;
    char *text = malloc(65537);
    CHECK(text != NULL);
    ssize_t count;
    while (size < 65536 && (count = read(terminal.ours, text + size, 65536 - size)) > 0) {
        size += (size_t)count;
    }
    text[size] = '\0';
    (void)close(terminal.ours);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    return text;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

TEST(progress, "progress is one line that is redrawn, and is gone when other lines are written")
{
    program_init();
    WEIR(0, "put", "--delay", "700ms", "t", "x");
    char *text =
        run_on_terminal(STDERR_FILENO, (const char *const[]){"weir", "work", "--until-empty", "t",
                                                             "--", "true", NULL});
    CHECK(has(text, "\r\033[Kweir work: t: 0 done (0/s), 0 running, 0 ready, 1 delayed, 0 retries, "
                    "0 buried\r\033[K"));
    char *last = strstr(text, "\r\033[Kweir work: t: 1 jobs done in ");
    CHECK(last != NULL);
    CHECK_STRING(strchr(last, '\n'), "\n");
    free(text);
}

TEST(colors, "titles are bold on a terminal, but not with NO_COLOR nor on a dumb one")
{
    static const char *const argv[] = {"weir", "stats", NULL};
    program_init();
    WEIR(0, "put", "t", "x");
    char *text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "\033[1m"));
    free(text);
    CHECK_INT(setenv("NO_COLOR", "1", 1), ==, 0);
    text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "TUBE") && !has(text, "\033"));
    free(text);
    CHECK_INT(unsetenv("NO_COLOR"), ==, 0);
    CHECK_INT(setenv("TERM", "dumb", 1), ==, 0);
    text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "TUBE") && !has(text, "\033"));
    free(text);
}

TEST(json_on_terminal, "a body as JSON cannot move the cursor; in a pipe it is as it was put")
{
    static const char *const argv[] = {"weir", "peek", "--body", "--json", "t", NULL};
    program_init();
    WEIR(0, "put", "t", "gr\xc3\xbc\xc3\x9f \xc2\x9b");
    char *text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "\"gr\\u00FC\\u00DF \\u009B\""));
    free(text);
    struct ended ended = WEIR_EXPECT(0, "peek", "--body", "--json", "t");
    CHECK(has(ended.out, "\"gr\xc3\xbc\xc3\x9f \xc2\x9b\""));
    ended_free(&ended);
}

TEST(hint, "who is to type a body is told so")
{
    program_init();
    struct terminal terminal = terminal_open();
    /* A line, and Ctrl-D at the start of the next one: the end. */
    CHECK_INT(write(terminal.ours, "typed\n\004", 7), ==, 7);
    struct running running = program_start_on(terminal.theirs, WORDS("put", "t"));
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.err, "weir put: reading the terminal; Ctrl-D ends\n");
    ended_free(&ended);
    (void)close(terminal.theirs);
    (void)close(terminal.ours);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}
