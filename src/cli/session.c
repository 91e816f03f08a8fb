/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads "pid (name) state parent group session ..." of proc(5). The name may contain any
 * characters, brackets too, so the fields after it are found from the last bracket. */
bool process_read(pid_t pid, struct process *ret_process)
{
    char path[32];
    char text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *bracket = strrchr(text, ')');
    char state = 'X';
    return bracket != NULL &&
           sscanf(bracket + 1,
                  " %c %*d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &state, &ret_process->group, &ret_process->session, &ret_process->started) == 4 &&
           state != 'Z' && state != 'X';
}

bool session_signal(pid_t session, int number)
{
    /* A whole group at once, so that none of it escapes by a fork. */
    bool has_leader = kill(-session, number) == 0;
    bool is_known = false;
    bool is_alive = false;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        struct process process;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && process_read(pid, &process)) {
            is_known = true; /* at least our own process is there */
            is_alive = is_alive || process.session == session;
            if (process.session == session && process.group != session) {
                (void)kill(pid, number);
            }
        }
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return is_known ? is_alive : has_leader;
}
