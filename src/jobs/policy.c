/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/policy.h>

#include "base/error.h"
#include "jobs/broker.h"

/* Whether each member that a change names is one by itself. */
static enum weir_status check_members(const struct weir_tube_policy *change,
                                      struct weir_error *ret_error)
{
    enum weir_status status =
        weiri_check_number("members", change->members, 0, WEIR_POLICY_ARCHIVE * 2 - 1, ret_error);
    if (status == WEIR_OK) {
        status =
            weiri_check_number("keep_ns", change->keep_ns, WEIR_KEEP_NONE, INT64_MAX, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_check_number("late_ns", change->late_ns, 0, INT64_MAX, ret_error);
    }
    return status == WEIR_OK ? weiri_check_choice("late", change->late, WEIR_LATE_DROP, ret_error)
                             : status;
}

enum weir_status weir_broker_set_policy(weir_broker *broker, const char *tube,
                                        const struct weir_tube_policy *policy,
                                        struct weir_error *ret_error)
{
    static const struct weir_tube_policy defaults = {0};
    const struct weiri_edit edit = {
        .kind = WEIRI_TUBE_POLICY, .name = tube, .policy = policy != NULL ? policy : &defaults};
    enum weir_status status =
        weiri_broker_enter_tube(broker, WEIRI_WRITES | WEIRI_CAN(POLICIES), tube, ret_error);
    if (status == WEIR_OK) {
        status = check_members(edit.policy, ret_error);
    }
    return status == WEIR_OK ? broker->ops->edit(broker->store, &edit, ret_error) : status;
}

enum weir_status weir_broker_policy(weir_broker *broker, const char *tube,
                                    struct weir_tube_policy *ret_policy,
                                    struct weir_tube_policy_counts *ret_counts,
                                    struct weir_error *ret_error)
{
    struct weir_tube_policy_counts ignored;
    enum weir_status status = weiri_broker_enter_tube(broker, WEIRI_CAN(POLICIES), tube, ret_error);
    if (status == WEIR_OK) {
        status = weiri_check_given("ret_policy", ret_policy, ret_error);
    }
    return status == WEIR_OK
               ? broker->ops->policy(broker->store, tube, ret_policy,
                                     ret_counts == NULL ? &ignored : ret_counts, ret_error)
               : status;
}

enum weir_status weiri_broker_late(weir_broker *broker, const char *tube,
                                   struct weir_tube_policy *ret_policy,
                                   struct weir_error *ret_error)
{
    int64_t late_ns = broker->config.late_ns;
    *ret_policy = (struct weir_tube_policy){.late_ns = late_ns,
                                            .late = late_ns > 0 ? WEIR_LATE_BURY : WEIR_LATE_RUN};
    if (!weir_broker_can(broker, WEIR_CAN_POLICIES)) {
        return WEIR_OK;
    }
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(broker, tube, ret_policy, NULL, &error);
    return status == WEIR_OK || status == WEIR_ENOTFOUND
               ? WEIR_OK
               : weiri_fail(ret_error, status, "%s", error.text);
}
