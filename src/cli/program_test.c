/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/harness.h"

static void make_file(const char *path, mode_t mode)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
    CHECK(fd >= 0);
    CHECK_INT(fchmod(fd, mode), ==, 0);
    (void)close(fd);
}

static void check_found(const char *name, const char *expected)
{
    char *path = NULL;
    CHECK_INT(program_find(name, &path), ==, 0);
    CHECK_STRING(path, expected);
    free(path);
}

static void check_missing(const char *name, int why)
{
    char *path = NULL;
    CHECK_INT(program_find(name, &path), ==, why);
    CHECK(path == NULL);
}

static void make_tree(void)
{
    CHECK_INT(mkdir("one", 0755), ==, 0);
    CHECK_INT(mkdir("two", 0755), ==, 0);
    CHECK_INT(mkdir("two/folder", 0755), ==, 0);
    make_file("two/both", 0755);
    make_file("one/both", 0644);
    make_file("two/plain", 0644);
    make_file("here", 0755);
    CHECK_INT(setenv("PATH", "missing:one:two", 1), ==, 0);
}

TEST(by_path, "a name is looked for along $PATH, past what cannot be run")
{
    make_tree();
    check_found("both", "two/both");
    check_missing("plain", EACCES);
    check_missing("folder", EACCES);
    check_missing("nowhere", ENOENT);
    check_missing("", ENOENT);
    check_missing("here", ENOENT);
}

TEST(empty_folder, "an empty folder of $PATH is the current one")
{
    make_tree();
    CHECK_INT(setenv("PATH", "one:", 1), ==, 0);
    check_found("here", "./here");
}

TEST(with_slash, "a name with a slash is taken as it is")
{
    make_tree();
    check_found("./here", "./here");
    check_found("two/both", "two/both");
    check_missing("two/plain", EACCES);
    check_missing("two", ENOENT);
    check_missing("./two", EACCES);
    check_missing("./here/", ENOTDIR);
    check_missing("./nowhere", ENOENT);
}
