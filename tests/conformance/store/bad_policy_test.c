/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/store/bad_store.h"

/* Bad input to the functions of weir/policy.h. */

static enum weir_status set(weir_broker *broker, const char *tube,
                            const struct weir_tube_policy *policy)
{
    return tell(weir_broker_set_policy(broker, tube, policy, told));
}

static enum weir_status set_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return set(broker, TUBE, NULL);
}

static enum weir_status set_of(struct world *w, const char *tube)
{
    return set(w->broker, tube, NULL);
}

WRITER_ROWS(weir_broker_set_policy, set_on)
CLUSTER_ROWS(weir_broker_set_policy, set_on)
TUBE_ROWS(weir_broker_set_policy, set_of)

ROW(weir_broker_set_policy, policy, null, WEIR_OK)
{
    return set_on(w, w->broker);
}

static enum weir_status set_to(struct world *w, struct weir_tube_policy policy)
{
    return set(w->broker, TUBE, &policy);
}

ROW(weir_broker_set_policy, policy, keep_ns, WEIR_ERANGE)
{
    CHECK_STATUS(set_to(w, (struct weir_tube_policy){.keep_ns = INT64_MIN}), WEIR_ERANGE);
    return set_to(w, (struct weir_tube_policy){.keep_ns = WEIR_KEEP_NONE - 1});
}

ROW(weir_broker_set_policy, policy, keep_count, WEIR_OK)
{
    return set_to(w, (struct weir_tube_policy){.keep_ns = WEIR_KEEP_NONE, .keep_count = 1});
}

ROW(weir_broker_set_policy, policy, archive, WEIR_OK)
{
    return set_to(w, (struct weir_tube_policy){.archive = UINT32_MAX});
}

ROW(weir_broker_set_policy, policy, members, WEIR_ERANGE)
{
    CHECK_STATUS(set_to(w, (struct weir_tube_policy){.members = UINT32_MAX}), WEIR_ERANGE);
    return set_to(w, (struct weir_tube_policy){.members = WEIR_POLICY_ARCHIVE * 2});
}

ROW(weir_broker_set_policy, policy, late_ns, WEIR_ERANGE)
{
    CHECK_STATUS(set_to(w, (struct weir_tube_policy){.late_ns = 1}), WEIR_EINVAL); /* they run */
    struct weir_tube_policy policy = {.late = WEIR_LATE_BURY, .late_ns = INT64_MIN};
    CHECK_STATUS(set_to(w, policy), WEIR_ERANGE);
    policy.late_ns = -1;
    return set_to(w, policy);
}

ROW(weir_broker_set_policy, policy, late, WEIR_EINVAL)
{
    CHECK_STATUS(set_to(w, (struct weir_tube_policy){.late = UINT32_MAX}), WEIR_EINVAL);
    return set_to(w, (struct weir_tube_policy){.late = WEIR_LATE_DROP + 1});
}

ROW(weir_broker_set_policy, policy, group_limit, WEIR_OK)
{
    return set_to(w, (struct weir_tube_policy){.group_limit = UINT32_MAX});
}

static enum weir_status get(weir_broker *broker, const char *tube)
{
    struct weir_tube_policy policy = {.late = UNTOUCHED};
    struct weir_tube_policy_counts counts = {.ended = UNTOUCHED};
    enum weir_status status = tell(weir_broker_policy(broker, tube, &policy, &counts, told));
    CHECK((policy.late == UNTOUCHED && counts.ended == UNTOUCHED) == (status != WEIR_OK));
    return status;
}

static enum weir_status get_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return get(broker, TUBE);
}

static enum weir_status get_of(struct world *w, const char *tube)
{
    return get(w->broker, tube);
}

OBJECT_ROWS(weir_broker_policy, broker, get_on)
CLUSTER_ROWS(weir_broker_policy, get_on)
TUBE_ROWS(weir_broker_policy, get_of)

ROW(weir_broker_policy, tube, unknown, WEIR_ENOTFOUND)
{
    return get_of(w, "unknown");
}

ROW(weir_broker_policy, ret_policy, null, WEIR_EINVAL)
{
    struct weir_tube_policy_counts counts;
    return tell(weir_broker_policy(w->broker, TUBE, NULL, &counts, told));
}

ROW(weir_broker_policy, ret_counts, null, WEIR_OK)
{
    struct weir_tube_policy policy;
    return tell(weir_broker_policy(w->broker, TUBE, &policy, NULL, told));
}
