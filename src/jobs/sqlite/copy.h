/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_COPY_H
#define WEIRI_SQLITE_COPY_H

#include "jobs/sqlite/read.h"

/* Copies a job as it is, inside a transaction. *ret_copy is NULL where there is none, or it is not
 * in the state (0: any). It is not reserved; one whose body is damaged has a backend. Returns
 * SQLite's codes. */
int weiri_copy_job(struct weiri_reading *reading, int64_t number, enum weir_job_state state,
                   struct weiri_reservation **ret_copy);

#endif
