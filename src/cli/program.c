/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks for a file that we may execute. */
static int check_program(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return errno;
    }
    if (!S_ISREG(facts.st_mode)) {
        return EACCES;
    }
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* One folder of $PATH; an empty one is the current one. */
static int find_in(const char *folder, size_t folder_size, const char *name, char **ret_path)
{
    size_t name_size = strlen(name);
    char *path = malloc(folder_size + name_size + 3);
    if (path == NULL) {
        return ENOMEM;
    }
    memcpy(path, folder_size > 0 ? folder : ".", folder_size > 0 ? folder_size : 1);
    size_t at = folder_size > 0 ? folder_size : 1;
    path[at] = '/';
    memcpy(path + at + 1, name, name_size + 1);
    int why = check_program(path);
    if (why == 0) {
        *ret_path = path;
    } else {
        free(path);
    }
    return why;
}

int program_find(const char *name, char **ret_path)
{
    if (name[0] == '\0') {
        return ENOENT;
    }
    if (strchr(name, '/') != NULL) {
        int why = check_program(name);
        char *path = why == 0 ? strdup(name) : NULL;
        if (path != NULL) {
            *ret_path = path;
        }
        return why == 0 && path == NULL ? ENOMEM : why;
    }
    const char *folder = getenv("PATH");
    folder = folder != NULL ? folder : "/bin:/usr/bin";
    int result = ENOENT;
    for (;;) {
        size_t size = strcspn(folder, ":");
        int why = find_in(folder, size, name, ret_path);
        if (why == 0 || why == ENOMEM) {
            return why;
        }
        /* A file that may not be run is a better reason than one that does not exist. */
        if (why == EACCES) {
            result = EACCES;
        }
        if (folder[size] == '\0') {
            return result;
        }
        folder += size + 1;
    }
}
