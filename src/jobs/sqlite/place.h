/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_PLACE_H
#define WEIRI_SQLITE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/broker.h>

/* The place of a store: its path is checked before anything is opened or made there. */

/* SQLite's own limit on a path, less its longest suffix and ours. */
#define WEIRI_PLACE_SIZE 500

/* Resolves the symbolic links of the path's folder: SQLite follows none, and a process may leave
 * its folder. */
WEIR_NODISCARD enum weir_status weiri_place_resolve(const char *location, char *path, size_t size,
                                                    struct weir_error *ret_error);

/* Checks that the path may be opened, and whether the file exists. */
WEIR_NODISCARD enum weir_status weiri_place_inspect(const char *path, bool must_exist,
                                                    bool *ret_exists, struct weir_error *ret_error);

/* Checks that no log is there without its store. */
WEIR_NODISCARD enum weir_status weiri_place_check_alone(const char *path,
                                                        struct weir_error *ret_error);

/* Makes an empty store, which must be alone. The file is whole and on stable storage, or is not
 * there. */
WEIR_NODISCARD enum weir_status weiri_place_make_file(const char *path,
                                                      struct weir_error *ret_error);

/* Removes a store that this call of open made, and what SQLite made beside it. Under the store's
 * lock. */
void weiri_place_remove(const char *path);

#endif
