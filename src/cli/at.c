/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "cli/put.h"

static const struct poptOption at_options[] = {
    OPTION_FLAG("past-ok", '\0', PUT_PAST_OK, "Run it at once where the time has passed"),
    PUT_OPTIONS,
    POPT_TABLEEND,
};

static int run_at(const struct command *command, int argc, char **argv)
{
    return put_run(command, argc, argv, true);
}

const struct command command_at = {
    .name = "at",
    .operands = "TIME TUBE [BODY]",
    .summary = "put jobs that run at a time",
    .examples = "  weir at 2030-01-31T08:00:00Z mail 'good morning'\n"
                "  weir at 2030-01-31T10:00:00+02:00 mail < letter.txt\n"
                "  weir at @1896076800 mail later\n"
                "  weir at 'tomorrow 9:00' mail 'good morning'\n"
                "  weir at 'now + 10 minutes' mail soon\n"
                "  weir at --past-ok \"@$(stat -c %Y stamp)\" mail 'at once, if that has passed'\n",
    .options = at_options,
    .run = run_at,
};
