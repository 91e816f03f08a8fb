/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <stdio.h>
#include <sysexits.h>

#include "cli/arguments.h"
#include "cli/commands.h"

void help_overview(void)
{
    (void)fputs("weir keeps jobs until they are done: now or later, again when they fail, at most "
                "so many at once.\n"
                "\n"
                "Examples:\n"
                "  weir put thumbs photo.jpg                  a job for the tube `thumbs`\n"
                "  weir put --delay 10m thumbs other.jpg      not before ten minutes have passed\n"
                "  weir work -j 4 thumbs -- ./make-thumbnail  four at once; the body on stdin\n"
                "  weir stats                                 how many wait, run, failed\n"
                "\n"
                "Usage: weir COMMAND [OPTION...] [OPERAND...]\n"
                "\n"
                "Commands:\n",
                stdout);
    for (size_t i = 0; commands[i] != NULL; i++) {
        (void)printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fputs("\n"
                "`weir help COMMAND` or `weir COMMAND --help` tells more; so does weir(1).\n",
                stdout);
}

static int explain(struct arguments *arguments, void *arg)
{
    (void)arg;
    if (arguments->count == 0) {
        help_overview();
        return EX_OK;
    }
    const struct command *about = command_find(arguments->operands[0]);
    return about != NULL ? arguments_help(about) : EX_USAGE;
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .names = {"command"},
    .optional = 1,
    .summary = "explain weir, or one of its commands",
    .examples = "  weir help work\n",
    .options = NULL,
    .act = explain,
};
