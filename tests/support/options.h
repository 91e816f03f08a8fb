/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_OPTIONS_H
#define WEIR_TEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The command line of a test executable. */
struct harness_options {
    const char *filter; /* NULL: every test */
    uint64_t seed;
    uint64_t repeat;
    uint64_t fail_nth; /* 0: no allocation is made to fail */
    bool fail_sticky;
    bool fail_all;
    bool list;
    bool shuffle;
    bool no_fork;
    bool verbose;
};

/* False, with a line on standard error, when there is something wrong with it. */
bool harness_options_read(int argc, char **argv, struct harness_options *ret_options);

#endif
