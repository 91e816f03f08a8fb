/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/report.h"

static const char *const whens[] = {"auto", "always", "never"};
enum {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER
};
static int when = COLOR_AUTO; /* Set while the options are read, by the only thread. */

int table_read_color(const char *name, const char *text)
{
    for (int i = COLOR_AUTO; i <= COLOR_NEVER; i++) {
        if (strcmp(text, whens[i]) == 0) {
            when = i;
            return EX_OK;
        }
    }
    return report(EX_USAGE, "%s: %s: expected auto, always or never", name, quote(text).text);
}

/* Whether titles are bold; auto: on a terminal that can, unless NO_COLOR is set (no-color.org). */
static bool wants_colors(void)
{
    if (when != COLOR_AUTO) {
        return when == COLOR_ALWAYS;
    }
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (refused == NULL || refused[0] == '\0') &&
           terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static bool add_column(struct libscols_table *table, const struct table_column *column)
{
    struct libscols_column *made =
        scols_table_new_column(table, column->title, 0, column->number ? SCOLS_FL_RIGHT : 0);
    if (made == NULL) {
        return false;
    }
    if (scols_table_colors_wanted(table) &&
        scols_cell_set_color(scols_column_get_header(made), "\033[1m") != 0) {
        return false;
    }
    /* Without this a backslash that we wrote would be escaped once more. */
    return !column->text || scols_column_set_safechars(made, "\\") == 0;
}

struct libscols_table *table_new(const struct table_column *columns, size_t count)
{
    struct libscols_table *table = scols_new_table();
    bool made = table != NULL && scols_table_enable_colors(table, wants_colors() ? 1 : 0) == 0;
    for (size_t i = 0; made && i < count; i++) {
        made = add_column(table, &columns[i]);
    }
    if (!made) {
        scols_unref_table(table);
        return NULL;
    }
    return table;
}

bool table_add(struct libscols_table *table, const char *const *cells, size_t count)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    bool added = line != NULL;
    for (size_t i = 0; added && i < count; i++) {
        added = scols_line_set_data(line, i, cells[i]) == 0;
    }
    return added;
}

void table_hide_last(struct libscols_table *table)
{
    struct libscols_column *last = scols_table_get_column(table, scols_table_get_ncols(table) - 1);
    (void)scols_column_set_flags(last, scols_column_get_flags(last) | SCOLS_FL_HIDDEN);
}

int table_print(struct libscols_table *table)
{
    return scols_print_table(table) == 0 ? EX_OK : table_refuse();
}

bool table_print_json(json_t *object)
{
    /* JSON leaves the control characters of C1 as they are; on a terminal nothing but ASCII is
     * safe.
     */
    size_t flags = JSON_COMPACT | (isatty(STDOUT_FILENO) == 1 ? JSON_ENSURE_ASCII : 0);
    bool printed = object != NULL && json_dumpf(object, stdout, flags) == 0 && putchar('\n') != EOF;
    json_decref(object);
    return printed;
}

int table_refuse(void)
{
    return errno == ENOMEM ? report_status(WEIR_ENOMEM, "standard output", NULL)
                           : report(EX_IOERR, "standard output: %s", strerror(errno));
}
