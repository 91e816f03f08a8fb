/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_TRANSACTION_H
#define WEIRI_SQLITE_TRANSACTION_H

#include "jobs/core/backend.h"

/* Transactions of the program on its own connection: the functions of weiri_broker_ops. */

enum weir_status weiri_transaction_open(void *store, void *connection, void **ret_transaction,
                                        struct weir_error *ret_error);
enum weir_status weiri_transaction_step(void *transaction, enum weiri_transaction_step step,
                                        const struct weiri_put *put, struct weir_job_id *ret_ids,
                                        struct weir_error *ret_error);
void weiri_transaction_close(void *transaction);

#endif
