/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_H
#define WEIRI_SQLITE_H

#include "jobs/core/backend.h"

/* Jobs in an SQLite file; design notes: docs/internals/sqlite.md. */
extern const struct weiri_broker_ops weiri_sqlite_ops;

#endif
