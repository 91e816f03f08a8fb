/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ADMIN_H
#define WEIR_ADMIN_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * What operators do with a broker's jobs. All functions are thread-safe. */

/** Deletes jobs that are delayed, ready or buried. ret_statuses receives one status for each id:
 * WEIR_OK; WEIR_ENOTFOUND (done, removed, or never there); WEIR_EBUSY (reserved); in a cluster also
 * WEIR_EUNKNOWN (a node with a copy did not answer, so nobody knows; ret_error says which) and
 * WEIR_ENOMEM. An SQLite store does all in one transaction, a cluster one after the other.
 *
 * Errors, which leave ret_statuses as it was: WEIR_EINVAL (NULL, or a malformed id: nothing is
 * changed), WEIR_EACCESS, WEIR_EFORKED, WEIR_ENOSPACE, WEIR_EIO, WEIR_ETIMEDOUT (other processes'
 * locks), WEIR_ECORRUPT, WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_remove_ids(weir_broker *broker,
                                                                const char *const *ids,
                                                                size_t count,
                                                                enum weir_status *ret_statuses,
                                                                struct weir_error *ret_error);

/** Makes buried jobs ready. Their attempts stay: one that had its last has one more. ret_statuses
 * and errors are those of weir_broker_remove_ids(), and WEIR_ESTATE for a job that is delayed or
 * ready. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_kick_ids(weir_broker *broker,
                                                              const char *const *ids, size_t count,
                                                              enum weir_status *ret_statuses,
                                                              struct weir_error *ret_error);

/** Buries jobs that are delayed or ready. reason (may be NULL: none) is kept, cut to
 * WEIR_REASON_SIZE; a cluster keeps none. ret_statuses and errors are those of
 * weir_broker_remove_ids(), and WEIR_ESTATE for a job that is buried already. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_bury_ids(weir_broker *broker,
                                                              const char *const *ids, size_t count,
                                                              const char *reason,
                                                              enum weir_status *ret_statuses,
                                                              struct weir_error *ret_error);

WEIR_END_DECLS

#endif
