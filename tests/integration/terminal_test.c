/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "integration/program.h"
#include "integration/terminal.h"

/* What is different where the program talks to a terminal. */

/* Runs it with this descriptor on a terminal and returns what that got; to be freed. */
static char *run_on_terminal(int on_terminal, const char *const argv[])
{
    struct terminal terminal;
    pid_t pid = start_on_terminal(&terminal, on_terminal, argv);
    char *text = calloc(TEXT_MAX + 1, 1);
    CHECK(text != NULL);
    read_terminal(&terminal, text, NULL);
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 0);
    return text;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool begins(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

TEST(progress, "progress is one line that is redrawn, and is gone when other lines are written")
{
    static const char *const argv[] = {"weir", "work", "--until-empty", "t", "--", "true", NULL};
    program_init();
    WEIR(0, "put", "--delay", "1h", "t", "x");
    struct terminal terminal;
    pid_t pid = start_on_terminal(&terminal, STDERR_FILENO, argv);
    char *text = calloc(TEXT_MAX + 1, 1);
    CHECK(text != NULL);
    read_terminal(&terminal, text,
                  "\r\033[Kweir work: t: 0 done (0/s), 0 running, 0 retries, 0 buried");
    CHECK_INT(kill(pid, SIGTERM), ==, 0);
    read_terminal(&terminal, text, NULL);
    CHECK_INT(end_on_terminal(&terminal, pid), ==, EX_TEMPFAIL);
    /* Of what stands before each line that stays, nothing is left on the terminal. */
    size_t lines = 0;
    for (const char *line = text; *line != '\0'; lines++) {
        const char *end = strchr(line, '\n');
        CHECK(end != NULL);
        const char *last = line;
        for (const char *at = strstr(line, "weir work: "); at != NULL && at < end;
             at = strstr(at + 1, "weir work: ")) {
            CHECK(at == line || begins(at - strlen("\r\033[K"), "\r\033[K"));
            last = at;
        }
        CHECK(begins(last, lines == 0 ? "weir work: stopping" : "weir work: t: 0 jobs done in "));
        line = end + 1;
    }
    CHECK_INT(lines, ==, 2);
    free(text);
}

TEST(colors,
     "titles are bold on a terminal, but not with NO_COLOR nor on a dumb one; --color rules")
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
    struct ended ended = WEIR_EXPECT(0, "stats", "--color", "always");
    CHECK(has(ended.out, "\033[1m"));
    ended_free(&ended);
    CHECK_INT(unsetenv("NO_COLOR"), ==, 0);
    static const char *const never[] = {"weir", "stats", "--color=never", NULL};
    text = run_on_terminal(STDOUT_FILENO, never);
    CHECK(has(text, "TUBE") && !has(text, "\033"));
    free(text);
    CHECK_INT(setenv("TERM", "dumb", 1), ==, 0);
    text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "TUBE") && !has(text, "\033"));
    free(text);
}

TEST(json_on_terminal, "a body as JSON cannot move the cursor; in a pipe it is as it was put")
{
    static const char *const argv[] = {"weir", "ls", "--next", "--body", "--json", "t", NULL};
    program_init();
    WEIR(0, "put", "t", "gr\xc3\xbc\xc3\x9f \xc2\x9b");
    char *text = run_on_terminal(STDOUT_FILENO, argv);
    CHECK(has(text, "\"gr\\u00FC\\u00DF \\u009B\""));
    free(text);
    struct ended ended = WEIR_EXPECT(0, "ls", "--next", "--body", "--json", "t");
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

TEST(asks, "more than one job is removed only after a yes, where there is somebody to ask")
{
    static const char *const argv[] = {"weir", "rm", "--tube", "t", "--state", "ready", NULL};
    static const struct {
        const char *answer;
        int code;
        int64_t left;
    } rows[] = {{"n\n", 75, 2}, {"\n", 75, 2}, {"y\n", 0, 0}};
    program_init();
    WEIR(0, "put", "t", "x");
    WEIR(0, "put", "t", "y");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct terminal terminal;
        pid_t pid = start_on_terminal(&terminal, STDIN_FILENO, argv);
        CHECK_INT(write(terminal.ours, rows[i].answer, strlen(rows[i].answer)), ==,
                  strlen(rows[i].answer));
        int status = 0;
        CHECK_INT(waitpid(pid, &status, 0), ==, pid);
        (void)close(terminal.ours);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), ==, rows[i].code);
        CHECK_INT(program_count("t", "ready"), ==, rows[i].left);
    }
}

TEST(searching, "a search that takes long shows how far it has come, and nothing of it is left")
{
    static const char *const argv[] = {"weir", "rm", "--tube", "t", "--text", "needle", NULL};
    program_init();
    char *lines = calloc(1, 8192);
    CHECK(lines != NULL);
    for (size_t i = 0; i < 300; i++) {
        strcat(lines, i % 3 == 0 ? "needle\n" : "hay\n");
    }
    struct ended ended = program_run_with(lines, strlen(lines), WORDS("put", "--lines", "-q", "t"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    free(lines);
    struct terminal terminal;
    pid_t pid = start_on_terminal(&terminal, TERMINAL_ALL, argv);
    char *text = calloc(TEXT_MAX + 1, 1);
    CHECK(text != NULL);
    read_terminal(&terminal, text, "remove 100 jobs of \"t\" for good? [y/N] ");
    /* It was due first before the question. */
    int64_t asked_ns = weir_clock_now(weir_clock_monotonic());
    WAIT_UNTIL(weir_clock_now(weir_clock_monotonic()) - asked_ns > WEIR_MS(250));
    CHECK_INT(write(terminal.ours, "y\n", 2), ==, 2);
    read_terminal(&terminal, text, NULL);
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 0);
    CHECK(
        has(text, "\r\033[Kweir rm: tube \"t\": 64 jobs found up to 190\r\033[Kremoved 100 jobs"));
    free(text);
}
