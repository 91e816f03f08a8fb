/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/harness.h"

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    (void)close(fd);
}

static void expect_text(const char *path, const char *text)
{
    char buffer[64] = "";
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_INT(read(fd, buffer, sizeof(buffer) - 1), ==, (ssize_t)strlen(text));
    CHECK_STRING(buffer, text);
    (void)close(fd);
}

TEST(kinds, "only regular files of one name are opened")
{
    write_file("one", "1");
    write_file("two", "2");
    CHECK_INT(link("two", "too"), ==, 0);
    CHECK_INT(symlink("one", "symbolic"), ==, 0);
    CHECK_INT(mkfifo("pipe", 0600), ==, 0);
    CHECK_INT(mkdir("folder", 0700), ==, 0);
    static const struct {
        const char *path;
        int open_error;
    } rows[] = {
        {"one", 0}, {"too", EMLINK}, {"symbolic", ELOOP}, {"pipe", ENOTSUP}, {"folder", ENOTSUP}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fd = -1;
        bool is_new = true;
        CHECK_INT(weiri_file_open_private(rows[i].path, &fd, &is_new), ==, rows[i].open_error);
        if (rows[i].open_error == 0) {
            CHECK(!is_new);
            (void)close(fd);
        }
    }
    CHECK_INT(weiri_file_size("one"), ==, 1);
    CHECK_INT(weiri_file_size("symbolic"), ==, 3); /* it is not followed */
    CHECK_INT(weiri_file_size("nothing"), ==, -1);
    CHECK_INT(weiri_file_size("one/inside"), ==, INT64_MAX);
    int fd;
    bool is_new;
    CHECK_INT(weiri_file_open_private("missing/file", &fd, &is_new), ==, ENOENT);
}

/* Writes a text under another name, and puts it in place. */
static int publish(const char *path, const char *text)
{
    int fd = -1;
    int error = weiri_file_make_private("draft", &fd);
    if (error == 0) {
        CHECK_INT(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
        error = weiri_file_put_in_place(fd, "draft", path);
        CHECK_INT(close(fd), ==, 0);
    }
    return error;
}

TEST(publish, "a file that is put in place is whole, private, and never replaces another")
{
    (void)umask(0);
    CHECK_INT(publish("store", "content"), ==, 0);
    CHECK_INT(access("draft", F_OK), ==, -1);
    expect_text("store", "content");
    struct stat facts;
    CHECK_INT(stat("store", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 0777, ==, 0600);
    CHECK_INT(facts.st_nlink, ==, 1);
    CHECK_INT(publish("store", "other"), ==, EEXIST);
    expect_text("store", "content");
    CHECK_INT(publish("next", "no draft of another is taken"), ==, EEXIST);
    CHECK_INT(unlink("draft"), ==, 0);
    CHECK_INT(publish("missing/store", "x"), ==, ENOENT);
}

TEST(folders, "the folder of a path is what is in front of its name")
{
    static const struct {
        const char *path;
        const char *folder;
    } rows[] = {{"file", "."}, {"/file", "/"}, {"one/two/file", "one/two"}, {"../file", ".."}};
    char folder[PATH_MAX];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_INT(weiri_file_folder(rows[i].path, folder), ==, 0);
        CHECK_STRING(folder, rows[i].folder);
    }
    char name[PATH_MAX + 3];
    memset(name, 'x', sizeof(name));
    (void)snprintf(name + PATH_MAX, 3, "/x");
    CHECK_INT(weiri_file_folder(name, folder), ==, ENAMETOOLONG);
}

TEST(above_streams, "no file gets the number of a standard stream that the program has closed")
{
    int fd[2];
    bool is_new;
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    CHECK(kept >= 0);
    CHECK_INT(close(STDOUT_FILENO), ==, 0);
    int made = weiri_file_open_private("lock", &fd[0], &is_new);
    int opened = weiri_file_open_private("lock", &fd[1], &is_new);
    CHECK_INT(dup2(kept, STDOUT_FILENO), ==, STDOUT_FILENO);
    CHECK(made == 0 && opened == 0);
    CHECK(fd[0] > STDERR_FILENO && fd[1] > STDERR_FILENO);
    (void)close(fd[0]);
    (void)close(fd[1]);
    (void)close(kept);
}

TEST(is_at, "a file that was replaced is no longer at its path")
{
    int fd;
    struct stat facts;
    bool is_new;
    CHECK_INT(weiri_file_open_private("lock", &fd, &is_new), ==, 0);
    CHECK(is_new);
    CHECK(weiri_file_is_at(fd, "lock", &facts));
    CHECK_INT(unlink("lock"), ==, 0);
    CHECK(!weiri_file_is_at(fd, "lock", &facts));
    write_file("lock", "");
    CHECK(!weiri_file_is_at(fd, "lock", &facts));
    (void)close(fd);
    CHECK(!weiri_file_is_remote("."));
}

TEST(text, "an error has a text")
{
    char buffer[64];
    CHECK_STRING(weiri_errno_text(ENOSPC, buffer, sizeof(buffer)), "No space left on device");
}
