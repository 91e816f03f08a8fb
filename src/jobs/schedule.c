/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions for schedules: each checks its arguments once, then calls the backend. */
#include <weir/job_schedule.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/broker.h"
#include "jobs/core/firing.h"

/* Each firing is a commit. */
#define INTERVAL_MIN WEIR_MS(100)
#define TOLERANCE_DEFAULT WEIR_SECONDS(60)
#define CATCH_UP_DEFAULT 100
#define KNOWN_FLAGS ((uint32_t)WEIR_SCHEDULE_NO_OVERLAP)

static enum weir_status check_texts(const struct weir_job_schedule_options *options,
                                    struct weir_error *ret_error)
{
    if ((options->cron != NULL) == (options->interval_ns != 0)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "%s: expected an expression or an interval",
                          options->cron != NULL ? "cron and interval_ns are both set"
                                                : "neither cron nor interval_ns is set");
    }
    if (options->zone != NULL && options->cron == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "zone is set without cron");
    }
    enum weir_status status =
        weiri_text_check("cron", options->cron, WEIR_SCHEDULE_CRON_SIZE_MAX, ret_error);
    if (status == WEIR_OK && options->zone != NULL && options->zone[0] != '\0') {
        status = weiri_text_check("zone", options->zone, WEIR_SCHEDULE_ZONE_SIZE_MAX, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    return options->body.data == NULL && options->body.size > 0
               ? weiri_fail(ret_error, WEIR_EINVAL, "body is NULL and has %zu bytes",
                            options->body.size)
               : WEIR_OK;
}

static enum weir_status check_numbers(const struct weir_job_schedule_options *options,
                                      struct weir_error *ret_error)
{
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
        int64_t most;
    } rows[] = {
        {"interval_ns", options->interval_ns, INTERVAL_MIN, INT64_MAX},
        {"ttr_ns", options->ttr_ns, WEIRI_TTR_MIN_NS, INT64_MAX},
        {"first_at_ns", options->first_at_ns, 0, INT64_MAX},
        {"tolerance_ns", options->tolerance_ns, 0, INT64_MAX},
        {"catch_up_max", options->catch_up_max, 0, WEIR_SCHEDULE_CATCH_UP_LIMIT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].value != 0 && weiri_check_number(rows[i].name, rows[i].value, rows[i].least,
                                                     rows[i].most, ret_error) != WEIR_OK) {
            return WEIR_ERANGE;
        }
    }
    enum weir_status status =
        weiri_check_choice("missed", (int)options->missed, WEIR_MISSED_ALL, ret_error);
    return status == WEIR_OK ? weiri_check_flags(options->flags, KNOWN_FLAGS, ret_error) : status;
}

/* An expression may fire at every nanosecond (`@every`). */
static enum weir_status check_distance(const struct weiri_plan *plan, int64_t now_ns,
                                       struct weir_error *ret_error)
{
    if (plan->cron == NULL) {
        return WEIR_OK;
    }
    int64_t first = weiri_firing_after(plan, now_ns);
    int64_t second = weiri_firing_after(plan, first);
    return first != WEIR_FOREVER && weiri_time_sub(second, first) < INTERVAL_MIN
               ? weiri_fail(ret_error, WEIR_ERANGE, "cron fires more than once in 100 ms")
               : WEIR_OK;
}

static void fill_in(struct weir_job_schedule_options *options)
{
    options->cron = options->cron == NULL ? "" : options->cron;
    options->zone = options->zone == NULL ? "" : options->zone;
    options->ttr_ns = options->ttr_ns == 0 ? WEIRI_TTR_DEFAULT_NS : options->ttr_ns;
    options->tolerance_ns = options->tolerance_ns == 0 ? TOLERANCE_DEFAULT : options->tolerance_ns;
    options->catch_up_max = options->catch_up_max == 0 ? CATCH_UP_DEFAULT : options->catch_up_max;
}

static enum weir_status check_all(const weir_broker *broker,
                                  const struct weir_job_schedule_options *options,
                                  struct weir_error *ret_error)
{
    enum weir_status status = weiri_name_check("name", options->name, ret_error);
    if (status == WEIR_OK) {
        status = weiri_name_check("tube", options->tube, ret_error);
    }
    if (status == WEIR_OK) {
        status = check_texts(options, ret_error);
    }
    if (status == WEIR_OK) {
        status = check_numbers(options, ret_error);
    }
    if (status == WEIR_OK && options->body.options != NULL) {
        status = weiri_fail(ret_error, WEIR_EINVAL, "body.options is set: expected NULL");
    }
    return status == WEIR_OK && options->body.size > broker->config.body_size_max
               ? weiri_fail(ret_error, WEIR_ETOOBIG, "body has %zu bytes: at most %zu",
                            options->body.size, broker->config.body_size_max)
               : status;
}

enum weir_status weir_broker_schedule_put(weir_broker *broker,
                                          const struct weir_job_schedule_options *options,
                                          struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, WEIRI_WRITES | WEIRI_CAN(SCHEDULES),
                                                     "options", options != NULL, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_job_schedule_options copy = *options;
    status = check_all(broker, &copy, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    fill_in(&copy);
    struct weiri_plan plan = {.interval_ns = copy.interval_ns};
    const struct weiri_edit edit = {
        .kind = WEIRI_SCHEDULE_PUT, .name = copy.name, .schedule = &copy, .plan = &plan};
    status = weiri_schedule_plan(&broker->config.allocator, copy.cron, copy.zone, &plan, ret_error);
    if (status == WEIR_OK) {
        status = check_distance(&plan, broker->ops->now(broker->store), ret_error);
    }
    if (status == WEIR_OK) {
        status = broker->ops->edit(broker->store, &edit, ret_error);
    }
    weiri_plan_fini(&plan);
    return status;
}

enum weir_status weir_broker_schedule_change(weir_broker *broker, const char *name,
                                             enum weir_schedule_change kind,
                                             struct weir_job_id *ret_id,
                                             struct weir_error *ret_error)
{
    enum weir_status status = weiri_broker_enter_for(broker, WEIRI_WRITES | WEIRI_CAN(SCHEDULES),
                                                     "name", name != NULL, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    if ((int)kind < WEIR_SCHEDULE_REMOVE || (int)kind > WEIR_SCHEDULE_RUN) {
        return weiri_fail(ret_error, WEIR_EINVAL, "kind is %d: expected one of 1 to %d", (int)kind,
                          (int)WEIR_SCHEDULE_RUN);
    }
    const struct weiri_edit edit = {.kind = WEIRI_SCHEDULE_CHANGE,
                                    .name = name,
                                    .change = kind,
                                    .ret_id = kind == WEIR_SCHEDULE_RUN ? ret_id : NULL};
    return broker->ops->edit(broker->store, &edit, ret_error);
}

enum weir_status weir_broker_schedules(weir_broker *broker, const char *name,
                                       weir_job_schedule_fn *fn, void *arg,
                                       struct weir_error *ret_error)
{
    enum weir_status status =
        weiri_broker_enter_for(broker, WEIRI_CAN(SCHEDULES), "fn", fn != NULL, ret_error);
    return status == WEIR_OK ? broker->ops->schedules(broker->store, name, fn, arg, ret_error)
                             : status;
}
