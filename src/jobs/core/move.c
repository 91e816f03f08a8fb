/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/move.h"

#include "base/error.h"
#include "base/time.h"

void weiri_move_tell(const struct weiri_move *move, const char *id, const char *why)
{
    weiri_broker_log(&move->from->config, WEIR_LOG_WARNING, "job %.200s: %s", id, why);
}

bool weiri_move_step(struct weiri_move *move, enum weir_move_step step)
{
    return move->fn == NULL || move->fn(step, &move->counts, move->arg) == 0;
}

static int64_t target_now(const struct weiri_move *move)
{
    return move->to->config.now(move->to->config.now_arg);
}

int64_t weiri_move_oldest(const struct weiri_move *move)
{
    return move->late_ns > 0 ? weiri_time_sub(target_now(move), move->late_ns / 2) : INT64_MIN;
}

enum weiri_given weiri_move_give(struct weiri_move *move, const struct weir_job *job,
                                 const char *origin, struct weir_job_id *ret_id,
                                 enum weir_status *ret_status, struct weir_error *ret_error)
{
    const struct weir_body body = {job->body, job->body_size};
    bool was_there = false;
    bool is_overdue =
        (move->to->ops->can & WEIRI_CAN(KEYS)) != 0 && job->run_at_ns < weiri_move_oldest(move);
#define COPY(name, kind, limit, feature) .name = job->name,
    struct weiri_put put = {.tube = move->tube,
                            .bodies = &body,
                            .count = 1,
                            .origin = origin,
                            .ret_was_there = &was_there,
                            WEIRI_KEPT_FIELDS(COPY) WEIRI_NUMBER_FIELDS(COPY)};
    put.run_at_ns = is_overdue ? target_now(move) : put.run_at_ns;
    struct weir_error error = {0};
    enum weir_status status = WEIR_OK;
    if (body.size > move->to->config.body_size_max) {
        status = weiri_fail(&error, WEIR_ETOOBIG, "its body has %zu bytes: at most %zu", body.size,
                            move->to->config.body_size_max);
    }
    if (status == WEIR_OK) {
        status = weiri_put_check_can(move->to->ops, &put, &error);
    }
    if (status == WEIR_OK) {
        status = move->to->ops->put(move->to->store, &put, ret_id, &error);
    }
    switch (status) {
    case WEIR_OK:
        return was_there ? WEIRI_GIVEN_AGAIN : WEIRI_GIVEN;
    case WEIR_ETOOBIG:
    case WEIR_ERANGE:
    case WEIR_ENOTSUP:
        weiri_move_tell(move, job->id, error.text);
        return WEIRI_NOT_GIVEN;
    case WEIR_EUNKNOWN:
        weiri_move_tell(move, job->id, error.text);
        return WEIRI_MAYBE_GIVEN;
    default:
        *ret_status = weiri_fail(ret_error, status, "%s", error.text);
        return WEIRI_TARGET_FAILED;
    }
}

bool weiri_move_take_back(struct weiri_move *move, const struct weir_job_id *id)
{
    const char *text = id->text;
    enum weir_status result = WEIR_EUNKNOWN;
    const struct weiri_change change = {
        .event = WEIRI_JOB_REMOVE, .ids = &text, .count = 1, .statuses = &result};
    return move->to->ops->change(move->to->store, &change, NULL) == WEIR_OK && result == WEIR_OK;
}
