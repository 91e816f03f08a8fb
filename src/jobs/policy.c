/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/policy.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/broker.h"

#define LATE_DEFAULT WEIR_SECONDS(1800)

static enum weir_status normalize(const struct weir_tube_policy *policy,
                                  struct weir_tube_policy *ret_policy, struct weir_error *ret_error)
{
    struct weir_tube_policy copy = policy != NULL ? *policy : (struct weir_tube_policy){0};
    enum weir_status status =
        weiri_check_number("archive_ns", copy.archive_ns, 0, INT64_MAX, ret_error);
    if (status == WEIR_OK) {
        status = weiri_check_number("late_ns", copy.late_ns, 0, INT64_MAX, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_check_choice("late", copy.late, WEIR_LATE_DROP, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    if (copy.late == WEIR_LATE_RUN && copy.late_ns != 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "late_ns is set and late is run: expected bury or drop");
    }
    if (copy.archive_ns == 0 && copy.archive_count != 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "archive_count is set and archive_ns is 0: expected a time, or "
                          "WEIR_FOREVER");
    }
    if (copy.late != WEIR_LATE_RUN && copy.late_ns == 0) {
        copy.late_ns = LATE_DEFAULT;
    }
    *ret_policy = copy;
    return WEIR_OK;
}

/* The checks of both calls. */
static enum weir_status enter(const weir_broker *broker, const char *tube, bool is_writing,
                              struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_tube(broker, is_writing, tube, ret_error);
    return status == WEIR_OK ? weiri_can_check(broker->ops, WEIR_CAN_POLICIES, ret_error) : status;
}

enum weir_status weir_broker_set_policy(weir_broker *broker, const char *tube,
                                        const struct weir_tube_policy *policy,
                                        struct weir_error *ret_error)
{
    struct weir_tube_policy copy;
    enum weir_status status = enter(broker, tube, true, ret_error);
    if (status == WEIR_OK) {
        status = normalize(policy, &copy, ret_error);
    }
    return status == WEIR_OK ? broker->ops->set_policy(broker->store, tube, &copy, ret_error)
                             : status;
}

enum weir_status weir_broker_policy(weir_broker *broker, const char *tube,
                                    struct weir_tube_policy *ret_policy,
                                    struct weir_tube_policy_counts *ret_counts,
                                    struct weir_error *ret_error)
{
    struct weir_tube_policy_counts ignored;
    enum weir_status status = enter(broker, tube, false, ret_error);
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
    *ret_policy = (struct weir_tube_policy){0};
    if (broker->ops->late != NULL) {
        ret_policy->late_ns = broker->ops->late(broker->store);
        ret_policy->late = ret_policy->late_ns > 0 ? WEIR_LATE_BURY : WEIR_LATE_RUN;
        return WEIR_OK;
    }
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(broker, tube, ret_policy, NULL, &error);
    return status == WEIR_OK || status == WEIR_ENOTFOUND
               ? WEIR_OK
               : weiri_fail(ret_error, status, "%s", error.text);
}
