/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <stddef.h>
#include <string.h>
#include <sysexits.h>

#include "cli/nearest.h"
#include "cli/report.h"

const struct command *const commands[29 + 1] = {
    &command_put,      &command_work,   &command_stats,      &command_ls,     &command_why,
    &command_wait,     &command_log,    &command_kick,       &command_bury,   &command_rm,
    &command_cancel,   &command_pause,  &command_resume,     &command_policy, &command_move,
    &command_schedule, &command_cron,   &command_run,        &command_config, &command_serve,
    &command_top,      &command_doctor, &command_backup,     &command_repair, &command_shrink,
    &command_bench,    &command_demo,   &command_completion, &command_help,
};

const struct command *command_find(const char *name)
{
    const char *nearest = NULL;
    size_t distance = NEAREST_LIMIT;
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
        nearest_offer(name, commands[i]->name, &nearest, &distance);
    }
    if (nearest != NULL) {
        (void)report(EX_USAGE, "%s: unknown command; did you mean %s?", quote(name).text, nearest);
    } else {
        (void)report(EX_USAGE, "%s: unknown command; expected one that `weir help` lists",
                     quote(name).text);
    }
    return NULL;
}
