/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "base/error.h"

#define LATE_DEFAULT WEIR_SECONDS(1800)
#define ALL (WEIR_POLICY_ARCHIVE * 2 - 1)

/* What follows for the members that a change does not name. */
static void fill_in(struct weir_tube_policy *policy, uint32_t members)
{
    bool has_limit = (members & WEIR_POLICY_LATE_NS) != 0;
    if (has_limit && policy->late_ns > 0 && (members & WEIR_POLICY_LATE) == 0 &&
        policy->late == WEIR_LATE_RUN) {
        policy->late = WEIR_LATE_BURY;
    }
    if (!has_limit && policy->late == WEIR_LATE_RUN) {
        policy->late_ns = 0;
    }
}

enum weir_status weiri_policy_merge(struct weir_tube_policy *policy,
                                    const struct weir_tube_policy *change,
                                    struct weir_error *ret_error)
{
    uint32_t members = change->members == 0 ? ALL : change->members;
    struct weir_tube_policy merged = *policy;
#define TAKE(member, bit)                                                                          \
    merged.member = (members & WEIR_POLICY_##bit) != 0 ? change->member : merged.member;
    TAKE(keep_ns, KEEP_NS)
    TAKE(keep_count, KEEP_COUNT)
    TAKE(archive, ARCHIVE)
    TAKE(late_ns, LATE_NS)
    TAKE(late, LATE)
    TAKE(group_limit, GROUP_LIMIT)
#undef TAKE
    fill_in(&merged, members);
    if (merged.late == WEIR_LATE_RUN && merged.late_ns != 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "late_ns is set and late is run: expected bury or drop");
    }
    if (merged.late != WEIR_LATE_RUN && merged.late_ns == 0) {
        merged.late_ns = LATE_DEFAULT;
    }
    merged.members = 0;
    *policy = merged;
    return WEIR_OK;
}
