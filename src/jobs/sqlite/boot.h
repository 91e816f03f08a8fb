/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_BOOT_H
#define WEIRI_SQLITE_BOOT_H

#include <sqlite3.h>

#include "jobs/broker.h"

/* Ends the leases of an earlier boot: their holders are gone, and their times are of no use. Called
 * by each open that may write, under the store's lock. */
WEIR_NODISCARD enum weir_status weiri_boot_begin(sqlite3 *db, const char *path,
                                                 const struct weiri_broker_config *config,
                                                 struct weir_error *ret_error);

#endif
