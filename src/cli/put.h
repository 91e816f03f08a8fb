/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_PUT_H
#define WEIRI_CLI_PUT_H

#include "cli/arguments.h"

/* What `put` and `at` share: their options, and reading bodies. */

enum put_option {
    PUT_AT = OPTION_OWN,
    PUT_DELAY,
    PUT_DURABILITY,
    PUT_GROUP,
    PUT_HEADER,
    PUT_INPUT,
    PUT_JSON,
    PUT_LINES,
    PUT_NULL,
    PUT_ON_DUPLICATE,
    PUT_PAST_OK,
    PUT_PRIORITY,
    PUT_PUT_ID,
    PUT_QUIET,
    PUT_TTR,
    PUT_UNIQUE,
    PUT_UNIQUE_FOR
};

/* Rows of both tables. */
#define PUT_OPTIONS                                                                                \
    OPTION_VALUE("priority", 'p', PUT_PRIORITY,                                                    \
                 "Smaller runs first; negative ones too (default: 0)", "N"),                       \
        OPTION_VALUE("ttr", '\0', PUT_TTR,                                                         \
                     "A worker that gives no sign of life for so long has lost the job (default: " \
                     "60s)",                                                                       \
                     "DURATION"),                                                                  \
        OPTION_VALUE("unique", '\0', PUT_UNIQUE,                                                   \
                     "Put it only where no job of the tube has this key", "KEY"),                  \
        OPTION_VALUE("on-duplicate", '\0', PUT_ON_DUPLICATE,                                       \
                     "Else refuse (default), replace, keep, debounce, throttle or again", "MODE"), \
        OPTION_VALUE("unique-for", '\0', PUT_UNIQUE_FOR, "With throttle: the key stays so long",   \
                     "DURATION"),                                                                  \
        OPTION_VALUE("put-id", '\0', PUT_PUT_ID, "If repeated with this, it is put once", "ID"),   \
        OPTION_VALUE("durability", '\0', PUT_DURABILITY,                                           \
                     "Flush before it is acknowledged (full), later (normal) or never (memory)",   \
                     "LEVEL"),                                                                     \
        OPTION_VALUE("group", '\0', PUT_GROUP,                                                     \
                     "Its group, of which `policy --per-group` limits how many run at once",       \
                     "NAME"),                                                                      \
        OPTION_VALUE("header", '\0', PUT_HEADER,                                                   \
                     "Tell the program this as well; may be given again", "NAME=VALUE"),           \
        OPTION_FLAG("lines", 'l', PUT_LINES, "Each line of the input is a job"),                   \
        OPTION_FLAG("null", '0', PUT_NULL, "As --lines, but each ends in a NUL byte"),             \
        OPTION_VALUE("input", 'i', PUT_INPUT, "Read this file instead of standard input", "FILE"), \
        OPTION_FLAG("quiet", 'q', PUT_QUIET, "Do not print the jobs' ids"),                        \
        OPTION_FLAG("json", '\0', PUT_JSON, "Print an object a job instead of its bare id")

/* Runs either command. is_at: the operands are TUBE TIME [BODY]. */
int put_run(const struct command *command, int argc, char **argv, bool is_at);

#endif
