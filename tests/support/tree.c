/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Empties the folder open as fd, and closes it. Symbolic links are removed, not followed. */
static void empty_folder(int fd)
{
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        (void)close(fd);
        return;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0) {
            continue;
        }
        /* A test may have taken the folder's permissions away. */
        if (fchmodat(dirfd(dir), entry->d_name, S_IRWXU, 0) != 0) {
            continue;
        }
        int inner =
            openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            empty_folder(inner);
        }
        (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(dir);
}

void harness_remove_tree(const char *path)
{
    (void)chmod(path, S_IRWXU);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        empty_folder(fd);
    }
    if (rmdir(path) != 0) {
        (void)fprintf(stderr, "# the folder %s could not be removed\n", path);
    }
}
