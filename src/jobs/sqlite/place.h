/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_PLACE_H
#define WEIRI_SQLITE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "jobs/sqlite/connection.h"

/* The place of a store: its URL and its path are checked before anything is opened or made there.
 */

/* SQLite's own limit on a path, less its longest suffix and ours. */
#define WEIRI_PLACE_SIZE 500

/* The path of a file beside a store, with an ending, as "-wal". */
struct weiri_beside {
    char path[WEIRI_PLACE_SIZE + 24];
};
struct weiri_beside weiri_place_beside(const char *path, const char *ending);
/* Its size: weiri_file_size(). */
int64_t weiri_place_size(const char *path, const char *ending);

/* Reads what is behind `sqlite:`. What is in front of a `?` is the path, byte for byte; what other
 * URLs would mean by `//` and `#` is refused rather than taken for a part of a name. The options
 * behind it change the config, whose own durability comes first; the default is full. WEIR_EINVAL:
 * ret_error names the piece and its offset in the URL. */
WEIR_NODISCARD enum weir_status weiri_url_parse(const char *location, char ret_path[PATH_MAX],
                                                struct weiri_broker_config *config,
                                                struct weir_error *ret_error);

/* The ending by which a path would be that of a file beside a store; NULL: it has none. */
const char *weiri_url_reserved_ending(const char *path, size_t length);

/* Resolves the symbolic links of the path's folder: SQLite follows none, and a process may leave
 * its folder. */
WEIR_NODISCARD enum weir_status weiri_place_resolve(const char *location, char *path, size_t size,
                                                    struct weir_error *ret_error);

/* Checks that the path may be opened, and whether the file exists. */
WEIR_NODISCARD enum weir_status weiri_place_inspect(const char *path, bool must_exist,
                                                    bool *ret_exists, struct weir_error *ret_error);

/* Fills a new database, which has nothing yet. A failure sticks to its connection. */
typedef void weiri_fill_fn(struct weiri_connection *own, void *arg);

/* Makes a database where no log may be without its store. The file is whole and on stable storage,
 * or is not there. WEIR_EBUSY: there is a file. */
WEIR_NODISCARD enum weir_status weiri_place_make(const char *path, weiri_fill_fn *fill, void *arg,
                                                 struct weir_error *ret_error);

/* Removes a store that this call of open made, and what SQLite made beside it. Under the store's
 * lock. */
void weiri_place_remove(const char *path);

#endif
