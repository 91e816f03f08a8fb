/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * What a store does with the jobs of a tube: how long it keeps those that have ended, what becomes
 * of those that are found late, and how many of a group run at once. A policy is kept in the store
 * and holds for all processes. A cluster has none (WEIR_ENOTSUP): its `late` is in the URL. */

#define WEIR_KEEP_NONE (-1) /**< keep_ns: a job that has ended is deleted. */
/** What becomes of a job that is found late: its first run would begin so much after its run time.
 * A job that was kicked, or that was reserved before, is never late: also one that comes back
 * without an attempt, or that runs again for a put during its run. */
enum weir_late {
    WEIR_LATE_RUN = 0, /**< It runs. */
    WEIR_LATE_BURY,    /**< It is buried with a reason; consumers count it as buried. */
    WEIR_LATE_DROP     /**< It is deleted and counted. */
};

/** "run", "bury", "drop"; "?" for anything else. */
WEIR_API const char *weir_late_name(enum weir_late late);

/** The policy of a tube. Zero means the default of every field. A job that has ended is kept with
 * its attempts, but without body and headers, till it is removed (WEIR_CHANGE_REMOVE). */
struct weir_tube_policy {
    int64_t keep_ns;     /**< It is kept so long; 0: 7 days. */
    uint64_t keep_count; /**< At most so many are, the last; 0: 1,000, or 100,000 / all tubes. */
    int64_t late_ns;     /**< Later than this is late, whatever held the job back, its group's limit
                            too; 0: 30 minutes. Not with WEIR_LATE_RUN. */
    uint32_t late;       /**< Of enum weir_late. */
    uint32_t group_limit; /**< No job is reserved whose group has so many reserved ones, over all
                               processes; 0: any number. Lowering it lets what runs go on. */
    uint32_t archive;     /**< 1: those that are done keep body and headers; 0: they do not. */
    uint32_t members;     /**< Of enum weir_policy_member, for weir_broker_set_policy(); 0: all. */
};

/** Members of struct weir_tube_policy. */
enum weir_policy_member {
    WEIR_POLICY_KEEP_NS = 1,
    WEIR_POLICY_KEEP_COUNT = 2,
    WEIR_POLICY_LATE_NS = 4,
    WEIR_POLICY_LATE = 8,
    WEIR_POLICY_GROUP_LIMIT = 16,
    WEIR_POLICY_ARCHIVE = 32
};

/** What a policy has done so far. */
struct weir_tube_policy_counts {
    uint64_t ended;   /**< Jobs that are kept now. */
    uint64_t buried;  /**< Jobs that were buried for they were late, ever. */
    uint64_t dropped; /**< Jobs that were deleted for they were late, ever. */
};

/** Sets the policy of a tube, which need not have had a job; counts stay. late_ns goes with
 * WEIR_LATE_RUN where it is not named; where it is, it makes that WEIR_LATE_BURY. A change by
 * another process meanwhile is not lost. What is to be kept no longer is deleted before it returns,
 * some hundred in each transaction; later as jobs end, of the tube for the number (some hundred
 * more till then), of any for the age. One done with a put_id, and those behind it, stay for 10
 * minutes. policy NULL: the defaults. Errors: WEIR_EINVAL (an unknown late; late_ns with
 * WEIR_LATE_RUN), WEIR_ERANGE (negative time, members), WEIR_ENOTSUP (a cluster), the storage's. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_set_policy(
    weir_broker *broker, const char *tube, const struct weir_tube_policy *policy,
    struct weir_error *ret_error);

/** Reads the policy of a tube, with its defaults filled in, and its counts (ret_counts may be
 * NULL). Errors: WEIR_ENOTFOUND (no such tube), WEIR_ENOTSUP (a cluster), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_policy(
    weir_broker *broker, const char *tube, struct weir_tube_policy *ret_policy,
    struct weir_tube_policy_counts *ret_counts, struct weir_error *ret_error);

WEIR_END_DECLS

#endif
