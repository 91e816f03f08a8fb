/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/refusals.h"

/* Places that are refused: stores, programs and lists that are not there, not ours, or closed to
 * us. */

TEST(brokers, "broker URLs that are malformed, and places where no store is or can be")
{
    static const struct row rows[] = {
        {64, "nonsense", "expected sqlite:PATH", {"put", "--broker", "nonsense", "t", "x"}},
        {64, "--broker", "expected sqlite:PATH", {"put", "--broker", "", "t", "x"}},
        {64, "sqlite:", "expected", {"put", "--broker", "sqlite:", "t", "x"}},
        {64, "mysql", "expected", {"put", "--broker", "mysql:x", "t", "x"}},
        {64, ":memory:", "file", {"put", "--broker", "sqlite::memory:", "t", "x"}},
        {64, "--broker", "path", {"put", "--broker", "sqlite:a\nb", "t", "x"}},
        {64, "notes.txt", "expected sqlite:PATH", {"stats", "--broker", "notes.txt"}},
        {73, "missing", "expected", {"put", "--broker", "sqlite:missing/jobs.db", "t", "x"}},
        {73,
         "missing",
         "expected",
         {"work", "--broker", "sqlite:missing/jobs.db", "t", "--", "true"}},
        {66, "missing", "expected", {"stats", "--broker", "sqlite:missing/jobs.db"}},
        {66, "other.db", "expected", {"stats", "--broker", "sqlite:other.db"}},
        {66, "other.db", "expected", {"ls", "--next", "--broker", "sqlite:other.db", "t"}},
        {65, "notes.txt", "expected a weir store", {"put", "--broker", "sqlite:notes.txt", "t"}},
        {65, "notes.txt", "expected", {"work", "--broker", "sqlite:notes.txt", "t", "--", "true"}},
        {65, "notes.txt", "expected a weir store", {"stats", "--broker", "sqlite:notes.txt"}},
        {65, "foreign.db", "expected a weir store", {"put", "--broker", "sqlite:foreign.db", "t"}},
        {65,
         "foreign.db",
         "expected a weir store",
         {"ls", "--next", "--broker", "sqlite:foreign.db", "t"}},
        {65, "empty.db", "expected a weir store", {"put", "--broker", "sqlite:empty.db", "t", "x"}},
        {65, "folder", "expected a regular file", {"put", "--broker", "sqlite:folder", "t", "x"}},
        {65, "/dev/null", "expected a regular file", {"put", "-b", "sqlite:/dev/null", "t", "x"}},
    };
    static const struct row environment = {78, "$WEIR_BROKER", "expected sqlite:PATH", {"stats"}};
    static const struct row nowhere = {
        78, "no broker", "expected e.g. --broker", {"put", "t", "x"}};
    make_folder();
    CHECK_ROWS(rows);
    CHECK_INT(setenv("WEIR_BROKER", "nonsense", 1), ==, 0);
    check_rows(&environment, 1);
    CHECK_INT(unsetenv("WEIR_BROKER"), ==, 0);
    CHECK_INT(unsetenv("XDG_STATE_HOME"), ==, 0);
    CHECK_INT(unsetenv("HOME"), ==, 0);
    check_rows(&nowhere, 1);
}

TEST(not_there, "ids and tubes that are none: reading a store leaves it as it was")
{
    static const struct row rows[] = {
        {64, "\"nonsense\"", "expected an id that", {"ls", "--id", "nonsense"}},
        {64, "\"\"", "expected an id that", {"ls", "--id", ""}},
        {64, "\"-1\"", "expected an id that", {"ls", "--id", "-1"}},
        {64, "\"1,2\"", "expected an id that", {"ls", "--id", "1,2"}},
        {66, "\"4711\"", "no such job", {"ls", "--id", "4711"}},
        {66, "\"unheard-of\"", "expected one that a job was put into", {"stats", "unheard-of"}},
    };
    make_folder();
    check_rows_that_read(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(handlers, "programs that are not there or cannot be run: no job is taken")
{
    static const struct row rows[] = {
        {69, "\"./missing\"", "expected a program", {"work", "t", "--", "./missing"}},
        {69, "\"no-such-program\"", "expected a program", {"work", "t", "--", "no-such-program"}},
        {69, "\"./notes.txt\"", "expected a program", {"work", "t", "--", "./notes.txt"}},
        {69, "\"./folder\"", "expected a program", {"work", "t", "--", "./folder"}},
        {69, "\"\"", "expected a program", {"work", "t", "--", ""}},
        {69, "\"a\\nb\"", "expected a program", {"work", "t", "--", "a\nb"}},
        {73,
         "\"missing/summary\"",
         "expected a file that can be written",
         {"work", "--summary", "missing/summary", "t", "--", "true"}},
        {73, "\"\"", "expected a file", {"work", "--summary", "", "t", "--", "true"}},
        {73,
         "\"folder\": Is a directory",
         "expected a file",
         {"work", "--summary", "folder", "t", "--", "true"}},
        {73,
         "\"notes.txt/x\": Not a directory",
         "expected a file",
         {"work", "--summary", "notes.txt/x", "t", "--", "true"}},
    };
    make_folder();
    CHECK_ROWS(rows);
    CHECK_INT(program_count("t", "ready"), ==, 1);
}

TEST(lists, "lists that cannot be read: nothing is put")
{
    static const struct row rows[] = {
        {66, "\"missing\"", "expected a file to read", {"put", "--input", "missing", "t"}},
        {66, "\"missing\"", "expected a file", {"put", "--lines", "--input", "missing", "t"}},
        {66, "\"\"", "expected a file to read", {"put", "--lines", "--input", "", "t"}},
        {66, "\"folder\"", "nothing was put", {"put", "--lines", "--input", "folder", "t"}},
        {66, "\"folder\"", "nothing was put", {"put", "--input", "folder", "t"}},
    };
    make_folder();
    CHECK_ROWS(rows);
    /* Nor is a store made for one. */
    CHECK_INT(unsetenv("WEIR_BROKER"), ==, 0);
    CHECK_ROWS(rows);
    CHECK(access("state", F_OK) != 0);
}

TEST(no_permission, "a store, a folder or a list that permissions keep from us")
{
    static const struct row rows[] = {
        {77,
         "locked/read-only.db",
         "expected a writable store",
         {"put", "--broker", "sqlite:locked/read-only.db", "t", "x"}},
        {77,
         "locked/read-only.db",
         "expected a writable store",
         {"work", "--broker", "sqlite:locked/read-only.db", "t", "--", "true"}},
        {77, "locked/secret.db", "denied", {"stats", "--broker", "sqlite:locked/secret.db"}},
        {77, "locked/secret.db", "denied", {"put", "--broker", "sqlite:locked/secret.db", "t"}},
        {77, "locked/new.db", "denied", {"put", "--broker", "sqlite:locked/new.db", "t", "x"}},
        {66,
         "\"locked/secret.db\"",
         "expected a file to read",
         {"put", "--input", "locked/secret.db", "t"}},
        {73,
         "\"locked/summary\"",
         "expected a file that can be written",
         {"work", "--summary", "locked/summary", "t", "--", "true"}},
        {73,
         "\"locked/secret.db\"",
         "expected a file that can be written",
         {"work", "--summary", "locked/secret.db", "t", "--", "true"}},
        {69, "\"locked/handler\"", "expected a program", {"work", "t", "--", "locked/handler"}},
    };
    make_folder();
    CHECK_INT(mkdir("locked", 0755), ==, 0);
    WEIR(0, "put", "--broker", "sqlite:locked/read-only.db", "t", "x");
    WEIR(0, "put", "--broker", "sqlite:locked/secret.db", "t", "x");
    write_file("locked/handler", "#!/bin/sh\n", 10, 0700);
    CHECK_INT(chmod("locked/read-only.db", 0444), ==, 0);
    CHECK_INT(chmod("locked/secret.db", 0000), ==, 0);
    CHECK_INT(chmod("locked/handler", 0000), ==, 0);
    CHECK_INT(chmod("locked", 0555), ==, 0);
    check_rows_unprivileged(rows, sizeof(rows) / sizeof(rows[0]));
    CHECK_INT(chmod("locked", 0755), ==, 0);
    CHECK_INT(chmod("locked/secret.db", 0600), ==, 0);
}
