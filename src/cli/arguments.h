/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_ARGUMENTS_H
#define WEIRI_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <popt.h>

#include <weir/log.h>

#include "cli/commands.h"

/* The parsed words of a command. Options are texts, so that each kind of value is read, checked and
 * refused in the same words everywhere. */

/* `val` of the options every command has. A command's own start at OPTION_OWN, those that several
 * commands share at OPTION_SHARED. Each of the three is an enum, whose switch has no default: the
 * compiler names an option without a case. */
enum common_option {
    OPTION_HELP = 1,
    OPTION_BROKER,
    OPTION_LOCK_WAIT,
    OPTION_COLOR
};

enum {
    OPTION_OWN = 100,
    OPTION_SHARED = 200
};

/* Rows that tables of options share. A row with a value: {ROW(long, short, val), help, name of the
 * value}. */
#define OPTION_FLAG(name, letter, val, help)                                                       \
    {                                                                                              \
        name, letter, POPT_ARG_NONE, NULL, val, help, NULL                                         \
    }
#define OPTION_VALUE(name, letter, val, help, value)                                               \
    {                                                                                              \
        name, letter, POPT_ARG_STRING, NULL, val, help, value                                      \
    }

struct arguments {
    bool helped;          /* --help was given and printed: there is nothing more to do. */
    const char *broker;   /* --broker, or NULL. */
    int64_t lock_wait_ns; /* --lock-wait, or 0. */
    weir_log_fn *log;     /* Of the broker; NULL: report_log(). A command may set it. */
    void *log_arg;
    uint32_t durability; /* Set by the command; 0: what the URL says. */
    const char **operands;
    size_t count; /* Of operands. */

    const struct command *command;
    poptContext context;
    struct poptOption *table;
    const char **words; /* argv with the program's name put first, for the usage line. */
    char *title;        /* "weir COMMAND" */
    char *usage;        /* "[OPTION...] OPERANDS" */
    char **values;      /* Texts of options; operands belong to the context. */
    size_t value_count;
};

/* That of a command whose only option is a flag; arg is a bool, or begins with one. */
option_fn option_flag;

/* Parses argv, refuses operands that the command's row does not name, and acts, unless help was
 * asked for. set may be NULL for a command without options of its own. Returns 0 or an exit status.
 */
int arguments_run(const struct command *command, int argc, char **argv, option_fn *set,
                  action_fn *act, void *arg);

/* The name of an option in messages. Uses the buffer. */
const char *arguments_name(const struct arguments *arguments, int option, char buffer[64]);

/* The options that every command has. */
const struct poptOption *arguments_common(void);

/* Prints a command's help on standard output. */
int arguments_help(const struct command *command);

/* Refuses fewer operands than names (all but the last `optional` of them are needed), or more. */
int arguments_expect(const struct arguments *arguments, const char *const *names, size_t count,
                     size_t optional);

/* Readers of values. One that refuses says what it expected, and leaves its result unchanged. */
int read_duration(const char *name, const char *text, int64_t least, int64_t *ret_ns);
int read_number(const char *name, const char *text, int64_t least, int64_t most,
                int64_t *ret_number);
/* One of enum weir_durability, by its name. */
int read_durability(const char *name, const char *text, uint32_t *ret_durability);
/* A tube's name. */
int read_tube(const char *text);

#endif
