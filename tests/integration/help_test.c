/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdlib.h>

/* What `weir` says about itself. */

static void check_help(const char *const words[], const char *expected)
{
    struct ended ended = program_run(words);
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.err, "");
    if (strstr(ended.out, expected) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", expected, ended.out);
    }
    ended_free(&ended);
}

TEST(version, "--version names the program and its version")
{
    program_init();
    check_help(WORDS("--version"), "weir 0.");
}

TEST(overview, "alone, with --help and by `weir help` it lists the commands, examples first")
{
    program_init();
    check_help(WORDS(NULL), "Commands:\n  put ");
    check_help(WORDS("--help"), "Commands:\n  put ");
    check_help(WORDS("-h"), "Commands:\n  put ");
    check_help(WORDS("help"), "Examples:\n  weir put ");
}

TEST(every_command, "each command explains itself, in the same words by --help, -h and `weir help`")
{
    static const char *const commands[] = {
        "put",    "work",       "stats",  "kick", "cancel", "move",   "ls",       "rm",
        "doctor", "demo",       "top",    "bury", "why",    "pause",  "resume",   "serve",
        "help",   "completion", "cron",   "wait", "log",    "backup", "schedule", "bench",
        "policy", "repair",     "shrink", "run",  "config"};
    program_init();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct ended help = WEIR_EXPECT(0, "help", commands[i]);
        struct ended option = WEIR_EXPECT(0, commands[i], "--help");
        struct ended letter = WEIR_EXPECT(0, commands[i], "-h");
        CHECK_STRING(option.out, help.out);
        CHECK_STRING(letter.out, help.out);
        const char *examples = strstr(help.out, "\nExamples:\n  weir ");
        const char *usage = strstr(help.out, "\nUsage: weir ");
        CHECK(examples != NULL && usage != NULL && examples < usage);
        CHECK(strstr(help.out, "--broker=URL") != NULL);
        CHECK(strstr(help.out, "--lock-wait=DURATION") != NULL);
        ended_free(&help);
        ended_free(&option);
        ended_free(&letter);
    }
}

TEST(help_beside_others, "--help answers before anything else is asked for or touched")
{
    program_init();
    check_help(WORDS("work", "--help", "--"), "Usage: weir work ");
    check_help(WORDS("put", "--delay", "5s", "--help"), "Usage: weir put ");
    char *tree = tree_describe(".", true);
    CHECK(strchr(tree, '\n') == strrchr(tree, '\n'));
    free(tree);
}
