/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs where the disk has too little space, or the process too few descriptors. */
#define _GNU_SOURCE /* unshare */

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/small_disk.h"

static struct jobs_wall wall = {JOBS_WALL_START};

#define PAGE ((size_t)4096)

static int is_no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The number of files in a folder. */
static int count_files(const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_no_dot, NULL);
    CHECK_INT(count, >=, 0);
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    return count;
}

TEST(making_fails_full,
     "a store that a full disk cannot hold leaves nothing, and can be made later")
{
    small_disk_mount(PAGE);
    int failures = 0;
    enum weir_status status = WEIR_ENOSPACE;
    for (size_t pages = 1; status != WEIR_OK; pages++) {
        CHECK_INT(pages, <, 1000);
        small_disk_resize(pages * PAGE);
        weir_broker *broker = NULL;
        struct weir_error error = {""};
        status = jobs_store_try_open("disk/jobs.db", &wall, 0, &broker, &error);
        if (status == WEIR_OK) {
            weir_broker_close(broker);
        } else {
            CHECK_STATUS(status, WEIR_ENOSPACE);
            CHECK_INT(count_files("disk"), ==, 0);
            failures++;
        }
    }
    CHECK_INT(failures, >, 10);
}

TEST(making_fails_descriptors,
     "a store that the descriptors do not suffice for leaves nothing, and can be made later")
{
    CHECK_INT(mkdir("disk", 0700), ==, 0);
    struct rlimit before;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    int first = dup(STDERR_FILENO);
    CHECK(first >= 0);
    (void)close(first);
    int failures = 0;
    enum weir_status status = WEIR_EIO;
    for (rlim_t more = 0; status != WEIR_OK; more++) {
        CHECK_INT(more, <, 50);
        const struct rlimit limit = {(rlim_t)first + more, before.rlim_max};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        weir_broker *broker = NULL;
        struct weir_error error = {""};
        status = jobs_store_try_open("disk/jobs.db", &wall, 0, &broker, &error);
        weir_broker_close(broker);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        if (status != WEIR_OK) {
            CHECK(strstr(error.text, "Too many open files") != NULL);
            CHECK_INT(count_files("disk"), ==, 0);
            failures++;
        }
    }
    CHECK_INT(failures, >, 3);
}
