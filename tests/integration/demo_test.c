/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/client.h"

/* `weir demo`: what it shows, and what it leaves. */

/* Starts it with its folder in `tmp`, and waits until it has said all; ret_port: of its page. The
 * commands of the test look at its store from then on. */
static struct running start(int *ret_port)
{
    char folder[256];
    CHECK(getcwd(folder, sizeof(folder) - 8) != NULL);
    (void)strcat(folder, "/tmp");
    CHECK_INT(mkdir(folder, 0700), ==, 0);
    CHECK_INT(setenv("TMPDIR", folder, 1), ==, 0);
    struct running running = program_start("", 0, WORDS("demo"));
    bool is_ready = false;
    while (!is_ready) {
        char *err = program_err(&running);
        const char *page = strstr(err, "weir demo: the page: http://127.0.0.1:");
        char *broker = strstr(err, "--broker ");
        is_ready = strstr(err, "Ctrl-C ends it and removes the store\n") != NULL;
        if (is_ready) {
            CHECK(page != NULL && broker != NULL);
            *ret_port = (int)strtol(strstr(page, "127.0.0.1:") + 10, NULL, 10);
            *strchr(broker, '\n') = '\0';
            CHECK_INT(setenv("WEIR_BROKER", broker + strlen("--broker "), 1), ==, 0);
        }
        free(err);
        program_pause();
    }
    return running;
}

/* Ends it; nothing is left. */
static void end(struct running *running, int signal_number)
{
    CHECK_INT(kill(running->pid, signal_number), ==, 0);
    struct ended ended = program_wait(running);
    CHECK_INT(ended.code, ==, 0);
    CHECK_INT(ended.out_size, ==, 0);
    ended_free(&ended);
    CHECK_INT(rmdir("tmp"), ==, 0);
}

static void check_says(const char *const words[], const char *part)
{
    struct ended ended = program_run(words);
    CHECK_INT(ended.code, ==, 0);
    if (strstr(ended.out, part) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", part, ended.out);
    }
    ended_free(&ended);
}

TEST(shows, "it has jobs in every state, with attempts, a pause and a key, and works on some")
{
    int port = 0;
    program_init();
    struct running running = start(&port);
    CHECK_INT(program_count("thumbs", "done"), ==, 18);
    CHECK_INT(program_count("thumbs", "buried"), ==, 2);
    CHECK_INT(program_count("reports", "delayed"), ==, 2);
    CHECK_INT(program_count("newsletter", "ready"), ==, 2);
    check_says(WORDS("stats", "--json", "newsletter"), "\"paused_until\":\"");
    check_says(WORDS("ls", "--next", "--json", "billing"), "\"key\":\"invoice-1001\"");
    check_says(WORDS("schedule", "ls", "--json", "yearly"), "\"paused\":true");
    check_says(WORDS("schedule", "ls", "--json", "digest"), "\"every_ns\":15000000000");
    check_says(WORDS("log", "--json", "10"), "premature end of JPEG file");
    check_says(WORDS("log", "--json", "10"), "{\"id\":\"10\",\"attempt\":3");
    WAIT_UNTIL(program_count("mail", "reserved") > 0);
    WAIT_UNTIL(program_count("mail", "done") > 0);
    WAIT_UNTIL(program_count("mail", "put") > 8);
    end(&running, SIGINT);
}

TEST(page, "its page is served on loopback, and leaves nothing behind after each signal")
{
    static const int signals[] = {SIGTERM, SIGHUP};
    for (size_t i = 0; i < 2; i++) {
        struct server server = {.port = 0};
        program_init();
        struct running running = start(&server.port);
        ASK_STATUS(&server, 200, "GET /", "", NULL);
        ASK_STATUS(&server, 200, "GET /api/v1/tubes/thumbs", "", NULL);
        end(&running, signals[i]);
    }
}

TEST(refused, "a broker of the user's is refused, and so is a folder that cannot be written")
{
    program_init();
    WEIR(64, "demo", "--broker", "sqlite:jobs.db");
    WEIR(64, "demo", "t");
    CHECK_INT(setenv("TMPDIR", "/nonexistent", 1), ==, 0);
    struct ended ended = WEIR_EXPECT(73, "demo");
    CHECK_STRING(ended.err, "weir demo: \"/nonexistent\": cannot make a folder there: No such file "
                            "or directory\n");
    ended_free(&ended);
    char *tree = tree_describe(".", true);
    CHECK(strchr(tree, '\n') == strrchr(tree, '\n'));
    free(tree);
}
