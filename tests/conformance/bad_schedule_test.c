/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_envelopes.h"

/* Bad input to the making of envelopes: schedules, and isolation. */

static struct weir_schedule good_schedule(void)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.interval_ns = WEIR_SECONDS(1);
    return schedule;
}

static enum weir_status refuse_schedule(struct world *w, const struct weir_schedule *schedule)
{
    struct weir_envelope_options options = to_spoil(w);
    options.schedule = schedule;
    return refuse(&options);
}

static void accept_schedule(struct world *w, const struct weir_schedule *schedule)
{
    struct weir_envelope_options options = to_spoil(w);
    options.schedule = schedule;
    weir_envelope_unref(accept(&options));
}

/* The row of a time, of which none is too late and each before 0 is none. */
#define TIME_ROWS(fault, field)                                                                    \
    ROW(weir_envelope_new, options, fault, WEIR_ERANGE)                                            \
    {                                                                                              \
        struct weir_schedule schedule = good_schedule();                                           \
        schedule.field = INT64_MAX;                                                                \
        accept_schedule(w, &schedule);                                                             \
        schedule.field = -1;                                                                       \
        CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_ERANGE);                                  \
        schedule.field = INT64_MIN;                                                                \
        return refuse_schedule(w, &schedule);                                                      \
    }

/* The row of an enumeration. */
#define NUMBER_ROWS(fault, field, last)                                                            \
    ROW(weir_envelope_new, options, fault, WEIR_EINVAL)                                            \
    {                                                                                              \
        struct weir_schedule schedule = good_schedule();                                           \
        schedule.field = (last) + 1;                                                               \
        CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_EINVAL);                                  \
        schedule.field = UINT32_MAX;                                                               \
        return refuse_schedule(w, &schedule);                                                      \
    }

TIME_ROWS(schedule_interval_ns, interval_ns)
TIME_ROWS(schedule_first_at_ns, first_at_ns)
TIME_ROWS(schedule_tolerance_ns, tolerance_ns)
NUMBER_ROWS(schedule_kind, kind, WEIR_SCHEDULE_CRON)
NUMBER_ROWS(schedule_first, first, WEIR_FIRST_AT)
NUMBER_ROWS(schedule_missed, missed, WEIR_FIRING_ALL)
NUMBER_ROWS(schedule_overlap, overlap, WEIR_FIRING_ALL)

ROW(weir_envelope_new, options, schedule_slack_ns, WEIR_ERANGE)
{
    struct weir_schedule schedule = good_schedule();
    schedule.slack_ns = schedule.interval_ns;
    accept_schedule(w, &schedule);
    schedule.slack_ns = schedule.interval_ns + 1;
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_ERANGE);
    schedule.slack_ns = INT64_MAX;
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_ERANGE);
    schedule.slack_ns = -1;
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_ERANGE);
    schedule.slack_ns = INT64_MIN;
    return refuse_schedule(w, &schedule);
}

ROW(weir_envelope_new, options, schedule_catch_up_max, WEIR_ERANGE)
{
    struct weir_schedule schedule = good_schedule();
    schedule.catch_up_max = WEIR_CATCH_UP_LIMIT;
    accept_schedule(w, &schedule);
    schedule.catch_up_max = WEIR_CATCH_UP_LIMIT + 1;
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_ERANGE);
    schedule.catch_up_max = SIZE_MAX;
    return refuse_schedule(w, &schedule);
}

ROW(weir_envelope_new, options, schedule_cron, WEIR_EINVAL)
{
    struct weir_cron_options of_cron = {0};
    of_cron.allocator = *test_allocator();
    weir_cron *cron;
    CHECK_STATUS(weir_cron_new("@daily", &of_cron, &cron, NULL), WEIR_OK);
    struct weir_schedule schedule = good_schedule();
    schedule.cron = cron; /* not of this kind */
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_EINVAL);
    schedule.kind = WEIR_SCHEDULE_CRON; /* with an interval besides */
    CHECK_STATUS(refuse_schedule(w, &schedule), WEIR_EINVAL);
    schedule.interval_ns = 0;
    accept_schedule(w, &schedule);
    weir_cron_unref(cron);
    schedule.cron = NULL;
    return refuse_schedule(w, &schedule);
}

/* Whatever is wrong beside a good schedule, it takes no reference to its expression. */
ROW(weir_envelope_new, options, group_of_cron, WEIR_EINVAL)
{
    struct weir_cron_options of_cron = {0};
    of_cron.allocator = *test_allocator();
    weir_cron *cron;
    CHECK_STATUS(weir_cron_new("@daily", &of_cron, &cron, NULL), WEIR_OK);
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_CRON;
    schedule.cron = cron;
    struct weir_envelope_options options = to_spoil(w);
    options.schedule = &schedule;
    options.group = weir_key_bytes(NULL, 1);
    enum weir_status status = refuse(&options);
    weir_cron_unref(cron);
    return status;
}

ROW(weir_envelope_new, options, schedule_no_interval, WEIR_EINVAL)
{
    struct weir_schedule schedule = good_schedule();
    struct weir_envelope_options options = to_spoil(w);
    options.schedule = &schedule;
    options.interval_ns = 2; /* another one */
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    schedule.interval_ns = 0;
    return refuse_schedule(w, &schedule);
}

ROW(weir_envelope_new, options, schedule_deadline, WEIR_EINTERVAL)
{
    struct weir_schedule schedule = good_schedule();
    struct weir_envelope_options options = to_spoil(w);
    options.schedule = &schedule;
    options.deadline_ns = schedule.interval_ns + 1;
    return refuse(&options);
}

/* ---- Isolation ---- */

static enum weir_status refuse_isolation(struct world *w, const struct weir_isolation *isolation)
{
    struct weir_envelope_options options = to_spoil(w);
    options.isolation = isolation;
    return refuse(&options);
}

ROW(weir_envelope_new, options, isolation_cpu_limit_ns, WEIR_ERANGE)
{
    struct weir_isolation isolation = {0};
    isolation.cpu_limit_ns = -1;
    CHECK_STATUS(refuse_isolation(w, &isolation), WEIR_ERANGE);
    isolation.cpu_limit_ns = INT64_MIN;
    return refuse_isolation(w, &isolation);
}

ROW(weir_envelope_new, options, isolation_flags, WEIR_EINVAL)
{
    struct weir_isolation isolation = {0};
    isolation.flags = 2;
    CHECK_STATUS(refuse_isolation(w, &isolation), WEIR_EINVAL);
    isolation.flags = UINT32_MAX;
    return refuse_isolation(w, &isolation);
}

static int end_isolated(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_EUSER;
}

/* The largest limits are none: the task is run, and its status comes back. */
static enum weir_status run_with_limits(struct world *w, const struct weir_isolation *isolation)
{
    struct weir_envelope_options options = good_envelope(&w->tasks[IS_IDLE]);
    options.isolation = isolation;
    options.invoke = end_isolated;
    weir_envelope *envelope = accept(&options);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(atomic_load(&w->tasks[IS_IDLE].last_status), ==, WEIR_EUSER);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    return WEIR_OK;
}

ROW(weir_envelope_new, options, isolation_memory_limit, WEIR_OK)
{
    struct weir_isolation isolation = {0};
    isolation.memory_limit = UINT64_MAX - 1;
    CHECK_STATUS(run_with_limits(w, &isolation), WEIR_OK);
    isolation.memory_limit = UINT64_MAX;
    return run_with_limits(w, &isolation);
}

ROW(weir_envelope_new, options, isolation_file_limit, WEIR_OK)
{
    struct weir_isolation isolation = {0};
    isolation.cpu_limit_ns = INT64_MAX;
    isolation.file_limit = UINT64_MAX;
    return run_with_limits(w, &isolation);
}
