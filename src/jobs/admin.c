/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions for operators: each checks its arguments once, then calls the backend. */
#include <weir/admin.h>
#include <weir/duration.h>
#include <weir/policy.h>

#include "base/error.h"
#include "jobs/broker.h"

static enum weir_status check_ids(const char *const *ids, size_t count,
                                  struct weir_error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        if (ids == NULL || ids[i] == NULL) {
            return weiri_fail(ret_error, WEIR_EINVAL, "ids[%zu] is NULL", i);
        }
    }
    return WEIR_OK;
}

/* Whether there is such a change, and the broker can make it. */
static enum weir_status check_change(const weir_broker *broker, const struct weir_change *change,
                                     struct weir_error *ret_error)
{
    const uint32_t buried = 1U << WEIR_JOB_BURIED;
    bool is_kick = change != NULL && change->kind == WEIR_CHANGE_KICK;
    bool is_cancel = change != NULL && change->kind == WEIR_CHANGE_CANCEL;
    bool is_control = is_cancel || (is_kick && ((change->states & ~buried) != 0 ||
                                                change->start_ns != 0 || change->interval_ns != 0));
    enum weir_status status =
        weiri_broker_enter_for(broker, WEIRI_WRITES | (is_control ? WEIRI_CAN(CONTROL) : 0),
                               "change", change != NULL, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    switch (change->kind) {
    case WEIR_CHANGE_REMOVE:
    case WEIR_CHANGE_BURY:
        return WEIR_OK;
    case WEIR_CHANGE_KICK:
        return weiri_check_number("change->interval_ns", change->interval_ns, 0, INT64_MAX,
                                  ret_error);
    case WEIR_CHANGE_MOVE:
        return weiri_broker_enter_tube(broker, WEIRI_CAN(MOVE_IDS), change->tube, ret_error);
    case WEIR_CHANGE_CANCEL:
        return weiri_check_choice("change->verdict", change->verdict, WEIR_VERDICT_RETRY,
                                  ret_error);
    }
    return weiri_fail(ret_error, WEIR_EINVAL, "change->kind is %d: expected one of 1 to %d",
                      (int)change->kind, (int)WEIR_CHANGE_CANCEL);
}

enum weir_status weir_broker_change(weir_broker *broker, const struct weir_change *change,
                                    const char *const *ids, size_t count,
                                    enum weir_status *ret_statuses, struct weir_error *ret_error)
{
    static const enum weiri_job_event events[] = {[WEIR_CHANGE_REMOVE] = WEIRI_JOB_REMOVE,
                                                  [WEIR_CHANGE_KICK] = WEIRI_JOB_KICK,
                                                  [WEIR_CHANGE_BURY] = WEIRI_JOB_SET_ASIDE,
                                                  [WEIR_CHANGE_MOVE] = (enum weiri_job_event)0,
                                                  [WEIR_CHANGE_CANCEL] = WEIRI_JOB_CANCEL};
    enum weir_status status = check_change(broker, change, ret_error);
    if (status == WEIR_OK) {
        status = check_ids(ids, count, ret_error);
    }
    if (status == WEIR_OK && count > 0) {
        status = weiri_check_given("ret_statuses", ret_statuses, ret_error);
    }
    if (status != WEIR_OK || count == 0) {
        return status;
    }
    const struct weiri_change asked = {
        .event = events[change->kind],
        .verdict = change->verdict == 0 ? WEIR_VERDICT_BURY : change->verdict,
        .ids = ids,
        .count = count,
        .reason = change->kind == WEIR_CHANGE_BURY || change->kind == WEIR_CHANGE_CANCEL
                      ? change->reason
                      : NULL,
        .run_at_ns = change->start_ns,
        .interval_ns = change->interval_ns,
        .states = change->states,
        .is_forced = change->is_forced != 0,
        .tube = change->kind == WEIR_CHANGE_MOVE ? change->tube : NULL,
        .statuses = ret_statuses};
    return broker->ops->change(broker->store, &asked, ret_error);
}

enum weir_status weir_broker_backup(weir_broker *broker, const char *path,
                                    struct weir_error *ret_error)
{
    struct weiri_care care = {.kind = WEIRI_CARE_BACKUP, .path = path};
    enum weir_status status =
        weiri_broker_enter_for(broker, WEIRI_CAN(BACKUP), "path", path != NULL, ret_error);
    return status == WEIR_OK ? broker->ops->care(broker->store, &care, ret_error) : status;
}

enum weir_status weir_broker_nodes(weir_broker *broker, weir_node_fn *fn, void *arg,
                                   struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, 0, "fn", fn != NULL, ret_error);
    return status == WEIR_OK && weir_broker_can(broker, WEIR_CAN_NODES)
               ? broker->ops->nodes(broker->store, fn, arg, ret_error)
               : status;
}

enum weir_status weir_broker_check(weir_broker *broker, weir_finding_fn *fn, void *arg,
                                   struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, 0, "fn", fn != NULL, ret_error);
    struct weiri_check check = {.fn = fn, .arg = arg};
    return status == WEIR_OK ? broker->ops->check(broker->store, &check, ret_error) : status;
}

enum weir_status weir_broker_attempts(weir_broker *broker, const char *id, weir_attempt_fn *fn,
                                      void *arg, struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(
        broker, WEIRI_CAN(ATTEMPTS), id == NULL ? "id" : "fn", id != NULL && fn != NULL, ret_error);
    return status == WEIR_OK ? broker->ops->attempts(broker->store, id, fn, arg, ret_error)
                             : status;
}

enum weir_status weir_broker_was_put(weir_broker *broker, const char *id, bool *ret_was_put,
                                     struct weir_error *ret_error)
{
    enum weir_status status =
        weiri_broker_enter_for(broker, WEIRI_CAN(WAS_PUT), id == NULL ? "id" : "ret_was_put",
                               id != NULL && ret_was_put != NULL, ret_error);
    return status == WEIR_OK ? broker->ops->was_put(broker->store, id, ret_was_put, ret_error)
                             : status;
}

/* Jobs that fall due during a pause may be late when it ends. */
static void warn_of_late(weir_broker *broker, const char *tube, int64_t duration_ns)
{
    struct weir_tube_policy policy;
    if (weiri_broker_late(broker, tube, &policy, NULL) == WEIR_OK && policy.late != WEIR_LATE_RUN &&
        duration_ns > policy.late_ns) {
        char late[32];
        (void)weir_duration_format(policy.late_ns, late, sizeof(late));
        weiri_broker_log(&broker->config, WEIR_LOG_WARNING,
                         "tube %s: the pause is longer than %s, after which a job is late: those "
                         "that it holds back for longer are %s then",
                         tube, late, policy.late == WEIR_LATE_DROP ? "dropped" : "buried");
    }
}

enum weir_status weir_broker_pause(weir_broker *broker, const char *tube, int64_t duration_ns,
                                   struct weir_error *ret_error)
{
    const struct weiri_edit edit = {
        .kind = WEIRI_TUBE_PAUSE, .name = tube, .pause_ns = duration_ns};
    enum weir_status status = weiri_broker_enter_tube(broker, WEIRI_WRITES, tube, ret_error);
    if (status == WEIR_OK) {
        status = weiri_check_number("duration_ns", duration_ns, 0, WEIR_FOREVER, ret_error);
    }
    if (status == WEIR_OK) {
        status = broker->ops->edit(broker->store, &edit, ret_error);
    }
    if (status == WEIR_OK && duration_ns > 0) {
        warn_of_late(broker, tube, duration_ns);
    }
    return status;
}

enum weir_status weir_broker_repair(weir_broker *broker, struct weir_repair_counts *ret_counts,
                                    struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, WEIRI_WRITES | WEIRI_CAN(REPAIR),
                                                     "ret_counts", ret_counts != NULL, ret_error);
    struct weiri_care care = {.kind = WEIRI_CARE_REPAIR};
    status = status == WEIR_OK ? broker->ops->care(broker->store, &care, ret_error) : status;
    if (status == WEIR_OK) {
        *ret_counts = care.counts;
    }
    return status;
}

enum weir_status weir_broker_shrink(weir_broker *broker, uint64_t *ret_before, uint64_t *ret_after,
                                    struct weir_error *ret_error)
{
    struct weiri_care care = {.kind = WEIRI_CARE_SHRINK};
    enum weir_status status =
        weiri_broker_enter(broker, WEIRI_WRITES | WEIRI_CAN(REPAIR), ret_error);
    status = status == WEIR_OK ? broker->ops->care(broker->store, &care, ret_error) : status;
    if (status == WEIR_OK && ret_before != NULL) {
        *ret_before = care.before;
    }
    if (status == WEIR_OK && ret_after != NULL) {
        *ret_after = care.after;
    }
    return status;
}
