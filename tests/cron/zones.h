/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_ZONES_H
#define WEIR_TEST_ZONES_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support/harness.h"

/* The names of the zones of this system's tz database. */

#define ZONES_FOLDER "/usr/share/zoneinfo"
#define ZONES_MAX 2000

struct zones {
    size_t count;
    char names[ZONES_MAX][64];
};

static inline bool zones_is_file(const char *path)
{
    unsigned char magic[4] = "";
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = fread(magic, 1, 4, file);
    CHECK(fclose(file) == 0);
    return size == 4 && memcmp(magic, "TZif", 4) == 0;
}

/* Adds every TZif file below a folder but those that count leap seconds. */
static inline void zones_walk(struct zones *zones, const char *folder)
{
    DIR *entries = opendir(folder);
    CHECK(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[512];
        struct stat about;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || strcmp(path, ZONES_FOLDER "/right") == 0) {
            continue;
        }
        CHECK(stat(path, &about) == 0);
        if (S_ISDIR(about.st_mode)) {
            zones_walk(zones, path);
        } else if (zones_is_file(path)) {
            const char *name = path + sizeof(ZONES_FOLDER);
            CHECK(zones->count < ZONES_MAX && strlen(name) < sizeof(zones->names[0]));
            memcpy(zones->names[zones->count++], name, strlen(name) + 1);
        }
    }
    CHECK(closedir(entries) == 0);
}

/* All of them; a system without a tz database fails. */
static inline const struct zones *zones_of_system(void)
{
    static struct zones zones;
    if (zones.count == 0) {
        zones_walk(&zones, ZONES_FOLDER);
        CHECK(zones.count > 300);
    }
    return &zones;
}

#endif
