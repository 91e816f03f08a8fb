/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_UPGRADE_H
#define WEIRI_SQLITE_UPGRADE_H

#include <sqlite3.h>

#include "jobs/broker.h"

/* What an open changes in an existing store, before its first use. Under the store's lock. */

/* Converts a store of this earlier version, in one transaction. WEIR_ETIMEDOUT: other processes use
 * it, which may be of the earlier version. */
WEIR_NODISCARD enum weir_status weiri_upgrade_schema(sqlite3 *db, const char *path, int version,
                                                     const struct weiri_broker_config *config,
                                                     struct weir_error *ret_error);

/* Ends the leases of an earlier boot: their holders are gone, and their times are of no use. */
WEIR_NODISCARD enum weir_status weiri_upgrade_boot(sqlite3 *db, const char *path,
                                                   const struct weiri_broker_config *config,
                                                   struct weir_error *ret_error);

#endif
