/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/version.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/report.h"

/* The next file opened would get the number of a closed standard stream, and a message could then
 * be written to the database. So each closed stream is opened in the wrong mode, and its use still
 * fails. */
static bool open_standard_streams(void)
{
    bool is_open = true;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && is_open; fd++) {
        is_open = fcntl(fd, F_GETFD) >= 0 ||
                  open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd;
    }
    return is_open;
}

static int run(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_overview();
        return EX_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("weir %s\n", weir_version());
        return EX_OK;
    }
    if (argv[1][0] == '-') {
        return report(EX_USAGE, "%s: unknown option; expected --help, --version or a command",
                      quote(argv[1]).text);
    }
    const struct command *command = command_find(argv[1]);
    if (command == NULL) {
        return EX_USAGE;
    }
    report_begin(command->name);
    return command->run != NULL ? command->run(command, argc - 1, argv + 1)
                                : arguments_run(command, argc - 1, argv + 1, command->set,
                                                command->act, command->state);
}

int main(int argc, char **argv)
{
    if (!open_standard_streams()) {
        return report(EX_OSFILE, "/dev/null: %s; expected it for a standard stream that is closed",
                      strerror(errno));
    }
    /* Else folders and files that are made would be of no use to their owner. */
    (void)umask(umask(0) & 077);
    /* Only the character set: numbers and messages are the same in every locale. */
    (void)setlocale(LC_CTYPE, "");
    int code = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        int why = errno;
        code = code != EX_OK ? code : report(EX_IOERR, "standard output: %s", strerror(why));
    }
    return code;
}
