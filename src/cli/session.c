/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/session.h"

#include <dirent.h>
#include <errno.h>
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
    int threads = 0;
    return bracket != NULL &&
           sscanf(bracket + 1,
                  " %c %*d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
                  &state, &ret_process->group, &ret_process->session, &threads,
                  &ret_process->started) == 5 &&
           ((state != 'Z' && state != 'X') || threads > 1); /* its main thread may end first */
}

enum session_left session_signal(pid_t session, int number)
{
    /* A whole group at once, so that none of it escapes by a fork. */
    bool has_leader = kill(-session, number) == 0;
    bool is_known = false;
    enum session_left left = SESSION_GONE;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        struct process process;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && process_read(pid, &process)) {
            is_known = true; /* at least our own process is there */
            if (process.session != session) {
                continue;
            }
            if (kill(pid, process.group == session ? 0 : number) == 0) {
                left = SESSION_LEFT;
            } else if (errno != ESRCH && left == SESSION_GONE) {
                left = SESSION_FOREIGN;
            }
        }
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return is_known ? left : has_leader ? SESSION_UNKNOWN : SESSION_GONE;
}
