/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_REFUSALS_H
#define WEIR_TEST_REFUSALS_H

#include "integration/program.h"

/* Bad input: each row is refused with its exit status and one line that names the value and what
 * was expected; nothing is said on standard output, and nothing is created or changed. */

struct row {
    int code;
    const char *value;    /* Must be named. */
    const char *expected; /* What was expected instead. */
    const char *words[16];
};

/* The folder where the rows are tried: a store with a job in it, a file of notes, another program's
 * SQLite file, an empty file, a folder. */
void make_folder(void);

/* Runs the rows, each with the folder described before and after. */
void check_rows(const struct row *rows, size_t count);
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* As check_rows(); files may come and go while a row is tried. */
void check_rows_that_read(const struct row *rows, size_t count);

/* As check_rows(), with permissions binding the program. */
void check_rows_unprivileged(const struct row *rows, size_t count);

/* The exit status and the line alone. */
void check_refusal(const struct ended *ended, const struct row *row);

#endif
