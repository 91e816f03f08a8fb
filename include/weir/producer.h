/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_PRODUCER_H
#define WEIR_PRODUCER_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A producer puts jobs into one tube. Its verbs are those of go-queue's dq. Thread-safe but for
 * close. Its bodies have no options of their own. */

/** A producer. Opaque. */
typedef struct weir_producer weir_producer;

/** Makes a producer of a tube. The broker is borrowed. options (may be NULL) are the defaults of
 * its puts, and are copied with their headers and group; run_at_ns and delay_ns must be 0, key
 * and put_id NULL. Returns owned: weir_producer_close(). Does not touch the disk. Errors:
 * WEIR_EINVAL and WEIR_ETOOBIG (options), WEIR_ERANGE (a time), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_producer_open(weir_broker *broker, const char *tube,
                                                            const struct weir_put_options *options,
                                                            weir_producer **ret_producer,
                                                            struct weir_error *ret_error);

/** Puts a job to run at run_at_ns; durable on return. ret_id may be NULL. Errors: WEIR_EINVAL and
 * WEIR_ETOOBIG (body), WEIR_EPAST, WEIR_ERANGE (a negative time), WEIR_ENOTSUP (headers or a group
 * on a cluster), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_producer_at(weir_producer *producer,
                                                          struct weir_body body, int64_t run_at_ns,
                                                          struct weir_job_id *ret_id,
                                                          struct weir_error *ret_error);

/** Puts a job to run delay_ns >= 0 from now; durable on return. ret_id may be NULL. Errors:
 * WEIR_ERANGE (a negative delay, or one that ends after the year 2262), WEIR_EINVAL, WEIR_ETOOBIG,
 * WEIR_ENOTSUP, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_producer_delay(weir_producer *producer,
                                                             struct weir_body body,
                                                             int64_t delay_ns,
                                                             struct weir_job_id *ret_id,
                                                             struct weir_error *ret_error);

/** Deletes a job that has not started, of any tube. Errors: WEIR_ENOTFOUND (ended, or running),
 * WEIR_EINVAL (malformed id), those of the storage; in a cluster WEIR_EUNKNOWN and WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_producer_revoke(weir_producer *producer,
                                                              const char *id,
                                                              struct weir_error *ret_error);

/** Frees a producer. Takes NULL. */
WEIR_API void weir_producer_close(weir_producer *producer);

WEIR_END_DECLS

#endif
