/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CHANGES_H
#define WEIR_TEST_CHANGES_H

#include <weir/admin.h>

/* Short forms of weir_broker_change(), by public functions alone. */

static inline enum weir_status change_remove(weir_broker *broker, const char *const *ids,
                                             size_t count, enum weir_status *ret_statuses,
                                             struct weir_error *ret_error)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_REMOVE};
    return weir_broker_change(broker, &change, ids, count, ret_statuses, ret_error);
}

static inline enum weir_status change_kick(weir_broker *broker, const char *const *ids,
                                           size_t count, enum weir_status *ret_statuses,
                                           struct weir_error *ret_error)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_KICK};
    return weir_broker_change(broker, &change, ids, count, ret_statuses, ret_error);
}

static inline enum weir_status change_bury(weir_broker *broker, const char *const *ids,
                                           size_t count, const char *reason,
                                           enum weir_status *ret_statuses,
                                           struct weir_error *ret_error)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_BURY, .reason = reason};
    return weir_broker_change(broker, &change, ids, count, ret_statuses, ret_error);
}

static inline enum weir_status change_move(weir_broker *broker, const char *const *ids,
                                           size_t count, const char *tube,
                                           enum weir_status *ret_statuses,
                                           struct weir_error *ret_error)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_MOVE, .tube = tube};
    return weir_broker_change(broker, &change, ids, count, ret_statuses, ret_error);
}

static inline enum weir_status change_cancel(weir_broker *broker, const char *const *ids,
                                             size_t count, enum weir_verdict verdict,
                                             const char *reason, enum weir_status *ret_statuses,
                                             struct weir_error *ret_error)
{
    const struct weir_change change = {
        .kind = WEIR_CHANGE_CANCEL, .verdict = verdict, .reason = reason};
    return weir_broker_change(broker, &change, ids, count, ret_statuses, ret_error);
}

#endif
