/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/job_schedule.h>

#include "conformance/store/bad_store.h"

/* Bad input to the functions of weir/job_schedule.h. */

static struct weir_job_schedule_options every_second(void)
{
    return (struct weir_job_schedule_options){.name = "s",
                                              .tube = TUBE,
                                              .interval_ns = WEIR_SECONDS(1),
                                              .body = {.data = "x", .size = 1}};
}

/* Of cron. */
static struct weir_job_schedule_options at_times(const char *cron, const char *zone)
{
    struct weir_job_schedule_options options = every_second();
    options.interval_ns = 0;
    options.cron = cron;
    options.zone = zone;
    return options;
}

static int ignore_schedule(const struct weir_job_schedule *schedule, void *arg)
{
    (void)schedule;
    (void)arg;
    return 0;
}

static enum weir_status put(struct world *w, weir_broker *broker,
                            const struct weir_job_schedule_options *options)
{
    enum weir_status status = tell(weir_broker_schedule_put(broker, options, told));
    if (status != WEIR_OK && status != WEIR_EFORKED) {
        CHECK_STATUS(weir_broker_schedules(w->broker, "s", ignore_schedule, NULL, NULL),
                     WEIR_ENOTFOUND);
    }
    return status;
}

static enum weir_status put_on(struct world *w, weir_broker *broker)
{
    const struct weir_job_schedule_options options = every_second();
    return put(w, broker, &options);
}

WRITER_ROWS(weir_broker_schedule_put, put_on)
CLUSTER_ROWS(weir_broker_schedule_put, put_on)

ROW(weir_broker_schedule_put, options, null, WEIR_EINVAL)
{
    return put(w, w->broker, NULL);
}

static enum weir_status keep(struct world *w, struct weir_job_schedule_options options)
{
    return put(w, w->broker, &options);
}

ROW(weir_broker_schedule_put, options, name, WEIR_EINVAL)
{
    struct weir_job_schedule_options options = every_second();
    for (size_t i = 0; i < sizeof(bad_tubes) / sizeof(bad_tubes[0]); i++) {
        options.name = bad_tubes[i].name;
        CHECK_STATUS(keep(w, options), WEIR_EINVAL);
        check_says("name");
        check_says(bad_tubes[i].says);
    }
    options.name = NULL;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, large_name, WEIR_ETOOBIG)
{
    char name[WEIR_TUBE_SIZE_MAX + 2];
    struct weir_job_schedule_options options = every_second();
    options.name = fill(name, sizeof(name));
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, tube, WEIR_EINVAL)
{
    struct weir_job_schedule_options options = every_second();
    options.tube = "a b";
    CHECK_STATUS(keep(w, options), WEIR_EINVAL);
    options.tube = NULL;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, large_tube, WEIR_ETOOBIG)
{
    char tube[WEIR_TUBE_SIZE_MAX + 2];
    struct weir_job_schedule_options options = every_second();
    options.tube = fill(tube, sizeof(tube));
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, cron, WEIR_EINVAL)
{
    CHECK_STATUS(keep(w, at_times("", NULL)), WEIR_EINVAL);
    CHECK_STATUS(keep(w, at_times("61 * * * *", NULL)), WEIR_EINVAL);
    check_says("61");
    CHECK_STATUS(keep(w, at_times(NULL, NULL)), WEIR_EINVAL);
    struct weir_job_schedule_options options = every_second();
    options.cron = "* * * * *";
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, large_cron, WEIR_ETOOBIG)
{
    char cron[WEIR_SCHEDULE_CRON_SIZE_MAX + 2];
    return keep(w, at_times(fill(cron, sizeof(cron)), NULL));
}

ROW(weir_broker_schedule_put, options, frequent_cron, WEIR_ERANGE)
{
    return keep(w, at_times("@every 99ms", NULL));
}

ROW(weir_broker_schedule_put, options, zone, WEIR_ENOTFOUND)
{
    struct weir_job_schedule_options options = every_second();
    options.zone = "UTC";
    CHECK_STATUS(keep(w, options), WEIR_EINVAL);
    check_says("zone is set without cron");
    return keep(w, at_times("* * * * *", "Europe/Nowhere"));
}

ROW(weir_broker_schedule_put, options, large_zone, WEIR_ETOOBIG)
{
    char zone[WEIR_SCHEDULE_ZONE_SIZE_MAX + 2];
    return keep(w, at_times("* * * * *", fill(zone, sizeof(zone))));
}

ROW(weir_broker_schedule_put, options, interval_ns, WEIR_ERANGE)
{
    static const int64_t times[] = {INT64_MIN, -1, 1, WEIR_MS(100) - 1};
    struct weir_job_schedule_options options = every_second();
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        options.interval_ns = times[i];
        CHECK_STATUS(keep(w, options), WEIR_ERANGE);
    }
    check_says("interval_ns is 99999999: expected 100000000 or more");
    return WEIR_ERANGE;
}

ROW(weir_broker_schedule_put, options, first_at_ns, WEIR_ERANGE)
{
    struct weir_job_schedule_options options = every_second();
    options.first_at_ns = INT64_MIN;
    CHECK_STATUS(keep(w, options), WEIR_ERANGE);
    options.first_at_ns = -1;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, body, WEIR_EINVAL)
{
    struct weir_job_schedule_options options = every_second();
    options.body = (struct weir_body){NULL, 4, NULL};
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, options_of_body, WEIR_EINVAL)
{
    const struct weir_put_options none = {0};
    struct weir_job_schedule_options options = every_second();
    options.body.options = &none;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, large_body, WEIR_ETOOBIG)
{
    struct weir_job_schedule_options options = every_second();
    options.body = (struct weir_body){"x", SIZE_MAX, NULL};
    CHECK_STATUS(keep(w, options), WEIR_ETOOBIG);
    options.body.size = ((size_t)16 << 20) + 1;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, ttr_ns, WEIR_ERANGE)
{
    struct weir_job_schedule_options options = every_second();
    options.ttr_ns = -1;
    CHECK_STATUS(keep(w, options), WEIR_ERANGE);
    options.ttr_ns = WEIR_MS(100) - 1;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, priority, WEIR_OK)
{
    struct weir_job_schedule_options options = every_second();
    options.priority = INT32_MIN;
    CHECK_STATUS(keep(w, options), WEIR_OK);
    options.priority = INT32_MAX;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, missed, WEIR_EINVAL)
{
    struct weir_job_schedule_options options = every_second();
    options.missed = (enum weir_missed) - 1;
    CHECK_STATUS(keep(w, options), WEIR_EINVAL);
    options.missed = (enum weir_missed)(WEIR_MISSED_ALL + 1);
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, tolerance_ns, WEIR_ERANGE)
{
    struct weir_job_schedule_options options = every_second();
    options.tolerance_ns = INT64_MIN;
    CHECK_STATUS(keep(w, options), WEIR_ERANGE);
    options.tolerance_ns = -1;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, catch_up_max, WEIR_ERANGE)
{
    struct weir_job_schedule_options options = every_second();
    options.catch_up_max = UINT32_MAX;
    CHECK_STATUS(keep(w, options), WEIR_ERANGE);
    options.catch_up_max = WEIR_SCHEDULE_CATCH_UP_LIMIT + 1;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, options, flags, WEIR_EINVAL)
{
    struct weir_job_schedule_options options = every_second();
    options.flags = UINT32_MAX;
    CHECK_STATUS(keep(w, options), WEIR_EINVAL);
    options.flags = 2;
    return keep(w, options);
}

ROW(weir_broker_schedule_put, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    enum weir_status status = tell(weir_broker_schedule_put(
        w->broker, &(struct weir_job_schedule_options){.name = "s", .tube = TUBE, .cron = "@daily"},
        told));
    test_fail_allocation(0, false);
    return status;
}

/* The rows of what is done with a schedule by its name. */
#define NAME_ROWS(function, call)                                                                  \
    static enum weir_status call##_on(struct world *w, weir_broker *broker)                        \
    {                                                                                              \
        (void)w;                                                                                   \
        return call(broker, "s");                                                                  \
    }                                                                                              \
    WRITER_ROWS(function, call##_on)                                                               \
    CLUSTER_ROWS(function, call##_on)                                                              \
    ROW(function, name, null, WEIR_EINVAL)                                                         \
    {                                                                                              \
        return call(w->broker, NULL);                                                              \
    }                                                                                              \
    ROW(function, name, no_schedule, WEIR_ENOTFOUND)                                               \
    {                                                                                              \
        CHECK_STATUS(call(w->broker, "a b"), WEIR_ENOTFOUND);                                      \
        enum weir_status status = call(w->broker, "s");                                            \
        check_says("schedule s");                                                                  \
        return status;                                                                             \
    }

static enum weir_status remove_schedule(weir_broker *broker, const char *name)
{
    return tell(weir_broker_schedule_change(broker, name, WEIR_SCHEDULE_REMOVE, NULL, told));
}

static enum weir_status pause_schedule(weir_broker *broker, const char *name)
{
    return tell(weir_broker_schedule_change(broker, name, WEIR_SCHEDULE_PAUSE, NULL, told));
}

static enum weir_status resume_schedule(weir_broker *broker, const char *name)
{
    return tell(weir_broker_schedule_change(broker, name, WEIR_SCHEDULE_RESUME, NULL, told));
}

static enum weir_status run_schedule(weir_broker *broker, const char *name)
{
    struct weir_job_id id = {"untouched"};
    enum weir_status status =
        tell(weir_broker_schedule_change(broker, name, WEIR_SCHEDULE_RUN, &id, told));
    CHECK_STRING(id.text, "untouched");
    return status;
}

/* All of them; each says what the first one says. */
static enum weir_status change_schedule(weir_broker *broker, const char *name)
{
    enum weir_status status = remove_schedule(broker, name);
    CHECK_STATUS(pause_schedule(broker, name), status);
    CHECK_STATUS(resume_schedule(broker, name), status);
    CHECK_STATUS(run_schedule(broker, name), status);
    return status;
}

NAME_ROWS(weir_broker_schedule_change, change_schedule)

ROW(weir_broker_schedule_change, kind, unknown, WEIR_EINVAL)
{
    static const int changes[] = {-1, 0, WEIR_SCHEDULE_RUN + 1};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        enum weir_schedule_change change = (enum weir_schedule_change)changes[i];
        CHECK_STATUS(tell(weir_broker_schedule_change(w->broker, "s", change, NULL, told)),
                     WEIR_EINVAL);
        check_says("expected one of 1 to 4");
    }
    return WEIR_EINVAL;
}

ROW(weir_broker_schedule_change, ret_id, null, WEIR_OK)
{
    const struct weir_job_schedule_options options = every_second();
    CHECK_STATUS(weir_broker_schedule_put(w->broker, &options, NULL), WEIR_OK);
    return tell(weir_broker_schedule_change(w->broker, "s", WEIR_SCHEDULE_RUN, NULL, told));
}

static enum weir_status list_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return tell(weir_broker_schedules(broker, NULL, ignore_schedule, NULL, told));
}

OBJECT_ROWS(weir_broker_schedules, broker, list_on)
CLUSTER_ROWS(weir_broker_schedules, list_on)

ROW(weir_broker_schedules, name, null, WEIR_OK)
{
    return list_on(w, w->broker);
}

ROW(weir_broker_schedules, name, no_schedule, WEIR_ENOTFOUND)
{
    return tell(weir_broker_schedules(w->broker, "s", ignore_schedule, NULL, told));
}

ROW(weir_broker_schedules, fn, null, WEIR_EINVAL)
{
    return tell(weir_broker_schedules(w->broker, NULL, NULL, NULL, told));
}

ROW(weir_broker_schedules, memory, none, WEIR_ENOMEM)
{
    const struct weir_job_schedule_options options = every_second();
    CHECK_STATUS(weir_broker_schedule_put(w->broker, &options, NULL), WEIR_OK);
    test_fail_allocation(1, true);
    enum weir_status status = list_on(w, w->broker);
    test_fail_allocation(0, false);
    CHECK_STATUS(weir_broker_schedule_change(w->broker, "s", WEIR_SCHEDULE_REMOVE, NULL, NULL),
                 WEIR_OK);
    return status;
}
