/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a of a file's bytes; 0 where we may not read it. */
static uint64_t hash_file(const char *path)
{
    size_t size = 0;
    if (access(path, R_OK) != 0) {
        CHECK_INT(errno, ==, EACCES);
        return 0;
    }
    char *data = read_file(path, &size);
    CHECK(data != NULL);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    }
    free(data);
    return hash;
}

static void describe(FILE *out, const char *path, bool folder_times)
{
    struct stat facts;
    CHECK_INT(lstat(path, &facts), ==, 0);
    bool folder = S_ISDIR(facts.st_mode);
    const char *suffix = strrchr(path, '-');
    bool is_index = suffix != NULL && strcmp(suffix, "-shm") == 0; /* of a log: made at any time */
    (void)fprintf(out, "%s mode %o owner %u", path, (unsigned)facts.st_mode,
                  (unsigned)facts.st_uid);
    if ((!folder || folder_times) && !is_index) {
        (void)fprintf(out, " size %lld changed %lld.%09ld", (long long)facts.st_size,
                      (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    }
    if (S_ISREG(facts.st_mode) && !is_index) {
        (void)fprintf(out, " hash %016" PRIx64, hash_file(path));
    }
    (void)fputc('\n', out);
    if (!folder) {
        return;
    }
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    CHECK_INT(count, >=, 0);
    for (int i = 0; i < count; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0) {
            char below[1024];
            CHECK_INT(snprintf(below, sizeof(below), "%s/%s", path, entries[i]->d_name), <,
                      sizeof(below));
            describe(out, below, folder_times);
        }
        free(entries[i]);
    }
    free(entries);
}

char *tree_describe(const char *folder, bool folder_times)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CHECK(out != NULL);
    describe(out, folder, folder_times);
    CHECK_INT(fclose(out), ==, 0);
    return text;
}
