/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/refusals.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct ended run_fn(const char *const words[]);

void make_folder(void)
{
    sqlite3 *db = NULL;
    program_init();
    WEIR(0, "put", "t", "a job");
    write_file("notes.txt", "just some notes\n", 16, 0644);
    write_file("empty.db", "", 0, 0644);
    CHECK_INT(mkdir("folder", 0755), ==, 0);
    CHECK_INT(sqlite3_open("foreign.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "CREATE TABLE a (b)", NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

void check_refusal(const struct ended *ended, const struct row *row)
{
    const char *end = strchr(ended->err, '\n');
    bool one_line = end != NULL && end[1] == '\0';
    if (ended->code != row->code || ended->out_size != 0 || !one_line ||
        strstr(ended->err, row->value) == NULL || strstr(ended->err, row->expected) == NULL) {
        test_fail(__FILE__, __LINE__,
                  "weir %s %s %.80s: exit status %d, expected %d; expected one line with `%s` and "
                  "`%s`, found:\n%s%s",
                  row->words[0], row->words[1] != NULL ? row->words[1] : "",
                  row->words[1] != NULL && row->words[2] != NULL ? row->words[2] : "", ended->code,
                  row->code, row->value, row->expected, ended->out, ended->err);
    }
}

static void check(const struct row *rows, size_t count, run_fn *run, bool folder_times)
{
    for (size_t i = 0; i < count; i++) {
        char *before = tree_describe(".", folder_times);
        struct ended ended = run(rows[i].words);
        check_refusal(&ended, &rows[i]);
        ended_free(&ended);
        char *after = tree_describe(".", folder_times);
        CHECK_STRING(after, before);
        free(before);
        free(after);
    }
}

void check_rows(const struct row *rows, size_t count)
{
    check(rows, count, program_run, true);
}

void check_rows_that_read(const struct row *rows, size_t count)
{
    check(rows, count, program_run, false);
}

void check_rows_unprivileged(const struct row *rows, size_t count)
{
    check(rows, count, program_run_unprivileged, true);
}
