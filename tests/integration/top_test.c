/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "integration/program.h"
#include "integration/terminal.h"

/* `weir top` on a terminal of 24 lines and 80 columns. A screen is written by what changes in it,
 * so that tests look at whole screens, and at what keys do to the store. */

static const char *const top[] = {"weir", "top", "--interval", "100ms", NULL};
static char text[TEXT_MAX + 1];

static pid_t start(struct terminal *terminal)
{
    CHECK_INT(setenv("TERM", "xterm", 1), ==, 0);
    memset(text, 0, sizeof(text));
    return start_on_terminal(terminal, TERMINAL_ALL, top);
}

static void type(const struct terminal *terminal, const char *keys)
{
    CHECK_INT(write(terminal->ours, keys, strlen(keys)), ==, strlen(keys));
}

/* `q` ends it, and the terminal is as it was: what it shows last is the end of the other screen. */
static void quit(const struct terminal *terminal, pid_t pid)
{
    type(terminal, "q");
    read_terminal(terminal, text, NULL);
    CHECK(strstr(text, "\033[?1049l") != NULL);
    CHECK_INT(end_on_terminal(terminal, pid), ==, 0);
}

static bool is_paused(const char *tube)
{
    struct ended ended = WEIR_EXPECT(0, "stats", "--json", tube);
    bool is = strstr(ended.out, "\"paused_until\"") != NULL;
    ended_free(&ended);
    return is;
}

TEST(shows, "tubes with their counts are shown, and follow the store, until q ends it with 0")
{
    program_init();
    WEIR(0, "put", "images", "a");
    WEIR(0, "put", "--delay", "1h", "images", "b");
    struct terminal terminal;
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "weir top: 1 of 1 tubes, by TUBE");
    read_terminal(&terminal, text, "images                    1      1        0      0");
    read_terminal(&terminal, text, "q quit");
    WEIR(0, "put", "zebra", "c");
    read_terminal(&terminal, text, "zebra");
    quit(&terminal, pid);
}

TEST(keys, "p pauses the tube that is selected and resumes it; k kicks its jobs, only after a y")
{
    program_init();
    WEIR(0, "put", "a", "x");
    WEIR(0, "put", "b", "y");
    WEIR(0, "bury", "2");
    struct terminal terminal;
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "q quit");
    type(&terminal, "p");
    WAIT_UNTIL(is_paused("a"));
    /* The tube has no buried jobs: there is nothing to ask about, and p is p. */
    type(&terminal, "kp");
    WAIT_UNTIL(!is_paused("a"));
    /* Typed ahead, it pauses and resumes. */
    type(&terminal, "pp");
    /* The arrow down; the answer is no, and each key after it does what it does. */
    type(&terminal, "\033OBknp");
    WAIT_UNTIL(is_paused("b"));
    CHECK(!is_paused("a"));
    CHECK_INT(program_count("b", "buried"), ==, 1);
    type(&terminal, "ky");
    WAIT_UNTIL(program_count("b", "buried") == 0);
    CHECK_INT(program_count("b", "ready"), ==, 1);
    quit(&terminal, pid);
}

TEST(filter, "a filter leaves the tubes with its text, and s sorts them by the next column")
{
    program_init();
    WEIR(0, "put", "alpha", "x");
    WEIR(0, "put", "beta", "x");
    WEIR(0, "put", "beta", "y");
    struct terminal terminal;
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "q quit");
    /* By READY: beta is the first one. By BURIED: alpha, as its name is. */
    type(&terminal, "ss\033OA\033OAp");
    WAIT_UNTIL(is_paused("beta"));
    type(&terminal, "/alq\177\np");
    WAIT_UNTIL(is_paused("alpha"));
    quit(&terminal, pid);
}

TEST(ends, "a signal, and the end of the terminal, end it as q does")
{
    program_init();
    WEIR(0, "put", "a", "x");
    struct terminal terminal;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        pid_t pid = start(&terminal);
        read_terminal(&terminal, text, "q quit");
        CHECK_INT(kill(pid, signals[i]), ==, 0);
        read_terminal(&terminal, text, NULL);
        CHECK(strstr(text, "\033[?1049l") != NULL);
        CHECK_INT(end_on_terminal(&terminal, pid), ==, 0);
    }
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "q quit");
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 0);
}

TEST(small, "a terminal with space for nothing is no error")
{
    program_init();
    WEIR(0, "put", "a", "x");
    struct terminal terminal;
    struct winsize size = {.ws_row = 1, .ws_col = 4};
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "q quit");
    CHECK_INT(ioctl(terminal.ours, TIOCSWINSZ, &size), ==, 0);
    CHECK_INT(kill(pid, SIGWINCH), ==, 0);
    type(&terminal, "p");
    WAIT_UNTIL(is_paused("a"));
    quit(&terminal, pid);
}

TEST(refused, "without a terminal, or with one that is unknown, it says so in a line")
{
    program_init();
    WEIR(0, "put", "a", "x");
    struct ended ended = WEIR_EXPECT(64, "top");
    CHECK_STRING(ended.err,
                 "weir top: standard input and output: no terminal; expected one, or use "
                 "`weir stats`\n");
    ended_free(&ended);
    struct terminal terminal;
    CHECK_INT(setenv("TERM", "nonesuch", 1), ==, 0);
    memset(text, 0, sizeof(text));
    pid_t pid = start_on_terminal(&terminal, TERMINAL_ALL, top);
    read_terminal(&terminal, text, NULL);
    CHECK_STRING(text, "weir top: $TERM: \"nonesuch\": no such terminal is known; expected e.g. "
                       "xterm\r\n");
    CHECK_INT(end_on_terminal(&terminal, pid), ==, 64);
    WEIR(64, "top", "--interval", "1ms");
    WEIR(64, "top", "a");
}

TEST(running, "r shows the jobs that run, with their processes and progress, and the tubes again")
{
    program_init();
    WEIR(0, "put", "-q", "a", "x");
    WEIR(0, "put", "-q", "b", "y");
    struct running worker =
        program_start("", 0,
                      WORDS("work", "-e", "-j", "2", "a", "b", "--", "sh", "-c",
                            "echo progress 42 >&3; until [ -e end ]; do sleep 0.05; done"));
    struct terminal terminal;
    pid_t pid = start(&terminal);
    read_terminal(&terminal, text, "r running");
    type(&terminal, "r");
    read_terminal(&terminal, text, "ATTEMPT");
    read_terminal(&terminal, text, "42 %");
    /* Keys for tubes do nothing here. */
    memset(text, 0, sizeof(text));
    type(&terminal, "/b\npkr");
    read_terminal(&terminal, text, "DELAYED");
    CHECK(!is_paused("b"));
    quit(&terminal, pid);
    write_file("end", "", 0, 0600);
    struct ended ended = program_wait(&worker);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
}
