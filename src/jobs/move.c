/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/move.h"

#include "base/error.h"
#include "jobs/broker.h"

enum weir_status weir_broker_move(weir_broker *from, weir_broker *to, const char *tube,
                                  weir_move_fn *fn, void *arg, struct weir_move_counts *ret_counts,
                                  struct weir_error *ret_error)
{
    if (weiri_check_given("from", from, ret_error) != WEIR_OK ||
        weiri_check_given("to", to, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weiri_broker_enter(from, WEIRI_WRITES, ret_error);
    if (status == WEIR_OK) {
        status = weiri_broker_enter_tube(to, WEIRI_WRITES, tube, ret_error);
    }
    if (status == WEIR_OK && from == to) {
        status = weiri_fail(ret_error, WEIR_EINVAL, "from and to are one broker: expected two");
    }
    struct weir_tube_policy policy;
    if (status == WEIR_OK) {
        status = weiri_broker_late(to, tube, &policy, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    struct weiri_move move = {.tube = tube,
                              .from = {from->ops, from->store, &from->config},
                              .to = {to->ops, to->store, &to->config},
                              .fn = fn,
                              .arg = arg};
    move.late_ns = policy.late != WEIR_LATE_RUN ? policy.late_ns : 0;
    status = from->ops->move(from->store, &move, ret_error);
    if (ret_counts != NULL) {
        *ret_counts = move.counts;
    }
    return status;
}
