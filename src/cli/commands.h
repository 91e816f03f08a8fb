/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_COMMANDS_H
#define WEIRI_CLI_COMMANDS_H

#include <stddef.h>

#include <popt.h>

struct arguments;

/* Handles one option with its text (NULL for a flag; else valid until the command ends). name is
 * its name in messages, valid during the call. Returns 0 or an exit status, after saying why. */
typedef int option_fn(int option, const char *name, const char *text, void *arg);

/* A command's work, once its words are parsed. Returns 0 or an exit status. */
typedef int action_fn(struct arguments *arguments, void *arg);

/* One row for each command. All else about it is in its file. */
struct command {
    const char *name;     /* The word after `weir`. */
    const char *operands; /* For the usage line, e.g. "TUBE [BODY]"; "": it takes none. */
    const char *names[2]; /* Of operands in messages; none: the command checks its operands. */
    size_t optional;      /* So many operands, the last ones, may be left out. */
    const char *summary;  /* One line, lower case, without a full stop. */
    const char *examples; /* Whole lines, each with its newline. */
    const struct poptOption *options; /* Its own; --help and the like come from options.h. */
    option_fn *set;                   /* Of its options; NULL: it has none. */
    action_fn *act;
    void *state; /* What both get, as it is at the start. A command runs once. */
    /* Instead of these, where its start is not known before, or it has more to end. argv[0] is the
     * command's name. Returns the exit status, as action_fn. */
    int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_put;
extern const struct command command_work;
extern const struct command command_stats;
extern const struct command command_ls;
extern const struct command command_why;
extern const struct command command_log;
extern const struct command command_kick;
extern const struct command command_bury;
extern const struct command command_rm;
extern const struct command command_cancel;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_policy;
extern const struct command command_move;
extern const struct command command_backup;
extern const struct command command_repair;
extern const struct command command_shrink;
extern const struct command command_wait;
extern const struct command command_schedule;
extern const struct command command_top;
extern const struct command command_cron;
extern const struct command command_doctor;
extern const struct command command_bench;
extern const struct command command_demo;
extern const struct command command_run;
extern const struct command command_config;
extern const struct command command_serve;
extern const struct command command_completion;
extern const struct command command_help;

/* Every command in the order of the help; NULL at the end. */
extern const struct command *const commands[];

/* The command of that name, or NULL after saying so, with the nearest name if there is one. */
const struct command *command_find(const char *name);

#endif
