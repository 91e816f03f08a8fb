/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_TABLE_H
#define WEIRI_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <libsmartcols.h>

/* The output of the commands that show data: a table, or with --json an object a line. */

struct table_column {
    const char *title;
    bool number; /* To the right. */
    bool text;   /* May be long, and is escaped by us: printed as it is. */
};

/* Reads `auto`, `always` or `never`, for all tables from now on. Returns 0 or an exit status, after
 * saying why. */
int table_read_color(const char *name, const char *text);

/* An empty table with these columns; to be freed with scols_unref_table(); NULL: out of memory. */
struct libscols_table *table_new(const struct table_column *columns, size_t count);

/* Adds a line of cells, copied. */
bool table_add(struct libscols_table *table, const char *const *cells, size_t count);

/* Leaves the last column out. */
void table_hide_last(struct libscols_table *table);

/* Prints a table on standard output. Returns 0 or an exit status, after saying why. */
int table_print(struct libscols_table *table);

/* Takes an object (NULL: it could not be made) and prints it in a line of its own. */
bool table_print_json(json_t *object);

/* Says why printing failed; returns the exit status. */
int table_refuse(void);

#endif
