/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: %s [--list] [--filter=TEXT] [--seed=N] [--repeat=N] [--shuffle] [--no-fork]\n"
    "       [--fail-alloc=N[,sticky]|all] [--verbose]\n"
    "TEXT is a test's whole name, or else part of its name or sentence.\n"
    "--no-fork runs the tests in this process, for a debugger: no time limit, and the first test\n"
    "that fails or is skipped ends it.\n";

/* The number a text begins with; *ret_rest is the rest behind it. */
static bool read_number(const char *text, uint64_t *ret_number, const char **ret_rest)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *text == '-') {
        return false;
    }
    *ret_number = number;
    *ret_rest = end;
    return true;
}

static bool read_whole(const char *text, uint64_t *ret_number)
{
    const char *rest;
    return read_number(text, ret_number, &rest) && *rest == '\0';
}

static bool read_fail_alloc(const char *text, struct harness_options *options)
{
    if (strcmp(text, "all") == 0) {
        options->fail_all = true;
        return true;
    }
    const char *rest;
    if (!read_number(text, &options->fail_nth, &rest) || options->fail_nth == 0) {
        return false;
    }
    options->fail_sticky = strcmp(rest, ",sticky") == 0;
    return options->fail_sticky || *rest == '\0';
}

static bool read_flag(const char *text, struct harness_options *options)
{
    bool *flags[] = {&options->list, &options->shuffle, &options->no_fork, &options->verbose};
    static const char *const names[] = {"--list", "--shuffle", "--no-fork", "--verbose"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *flags[i] = true;
            return true;
        }
    }
    return false;
}

/* The value of an option --name=value; NULL where text is another option. */
static const char *value_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

static bool read_option(const char *text, struct harness_options *options)
{
    const char *value;
    if ((value = value_of(text, "--filter")) != NULL) {
        options->filter = value;
        return true;
    }
    if ((value = value_of(text, "--seed")) != NULL) {
        return read_whole(value, &options->seed);
    }
    if ((value = value_of(text, "--repeat")) != NULL) {
        return read_whole(value, &options->repeat) && options->repeat > 0;
    }
    if ((value = value_of(text, "--fail-alloc")) != NULL) {
        return read_fail_alloc(value, options);
    }
    return read_flag(text, options);
}

/* Another one in each run; short enough to type. */
static uint64_t fresh_seed(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_sec * UINT64_C(1000000007) + (uint64_t)now.tv_nsec;
    seed = (seed ^ ((uint64_t)getpid() << 20)) * UINT64_C(0x9e3779b97f4a7c15);
    return seed >> 24;
}

bool harness_options_read(int argc, char **argv, struct harness_options *ret_options)
{
    struct harness_options options = {.seed = fresh_seed(), .repeat = 1};
    for (int i = 1; i < argc; i++) {
        if (!read_option(argv[i], &options)) {
            (void)fprintf(stderr, "%s: %s: not an option, or not a value for it\n", argv[0],
                          argv[i]);
            (void)fprintf(stderr, usage, argv[0]);
            return false;
        }
    }
    *ret_options = options;
    return true;
}
