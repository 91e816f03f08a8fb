/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <sysexits.h>

#include "cli/arguments.h"
#include "cli/parts.h"
#include "cli/report.h"
#include "cli/setup.h"

enum {
    OPTION_ORIGIN = OPTION_OWN
};

static const struct poptOption config_options[] = {
    OPTION_FLAG("origin", 'o', OPTION_ORIGIN, "show: with file and line of each setting"),
    POPT_TABLEEND,
};

static int act(struct arguments *arguments, void *arg)
{
    bool origin = *(const bool *)arg;
    struct setup setup;
    bool is_show = strcmp(arguments->operands[0], "show") == 0;
    if (!is_show && strcmp(arguments->operands[0], "check") != 0) {
        return report(EX_USAGE, "%s: expected check or show", quote(arguments->operands[0]).text);
    }
    if (origin && !is_show) {
        return report(EX_USAGE, "--origin: expected it beside show");
    }
    int code = setup_read(arguments->operands[1], &setup);
    if (code == EX_OK) {
        code = parts_check(&setup);
    }
    if (code == EX_OK && is_show && !setup_print(&setup, origin, stdout)) {
        code = EX_IOERR; /* main() says why */
    }
    setup_free(&setup);
    return code;
}

const struct command command_config = {
    .name = "config",
    .operands = "check|show FILE",
    .names = {"action", "file"},
    .summary = "check or show a set-up for `weir run`",
    .examples = "  weir config check /etc/weir/weir.conf\n"
                "  weir config show --origin weir.conf    every setting, and where it comes from\n",
    .options = config_options,
    .set = option_flag,
    .act = act,
    .state = &(bool){false},
};
