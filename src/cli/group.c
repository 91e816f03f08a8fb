/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/group.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads "pid (name) state parent group ..." of proc(5). The name may contain any characters,
 * brackets too, so the fields after it are found from the last bracket. */
static bool read_stat(int proc, const char *pid, char *ret_state, int *ret_group)
{
    char path[32];
    char text[512];
    int length = snprintf(path, sizeof(path), "%.16s/stat", pid);
    int fd = length > 0 ? openat(proc, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    const char *bracket = strrchr(text, ')');
    int parent = 0;
    return bracket != NULL && sscanf(bracket + 1, " %c %d %d", ret_state, &parent, ret_group) == 3;
}

bool group_alive(pid_t group)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        return true;
    }
    bool seen = false;
    bool alive = false;
    for (struct dirent *entry = readdir(proc); entry != NULL && !alive; entry = readdir(proc)) {
        char state = '\0';
        int found = 0;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !read_stat(dirfd(proc), entry->d_name, &state, &found)) {
            continue;
        }
        seen = seen || found == (int)group;
        alive = found == (int)group && state != 'Z' && state != 'X';
    }
    (void)closedir(proc);
    /* The leader exists as a zombie. If /proc does not show even that one, nothing is known. */
    return alive || !seen;
}
