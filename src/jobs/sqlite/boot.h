/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_BOOT_H
#define WEIRI_SQLITE_BOOT_H

#include <sqlite3.h>

#include "jobs/core/backend.h"

/* Ends the leases of an earlier boot: their holders are gone, and their times are of no use. Called
 * by the open that is the only one to write, under the store's lock: two containers of a host may
 * name its boot differently. Where the boot has no name, a lease is of another one if it ends later
 * than its job's TTR from now. */
WEIR_NODISCARD enum weir_status weiri_boot_begin(sqlite3 *db, const char *path,
                                                 const struct weiri_broker_config *config,
                                                 struct weir_error *ret_error);

#endif
