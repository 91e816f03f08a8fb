/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Schedules, on every broker that has them. */
#include <weir/job_schedule.h>

#include "conformance/jobs/brokers.h"

#define HOUR WEIR_SECONDS(3600)

static struct weir_job_schedule_options options_of(const struct place *place)
{
    const struct weir_job_schedule_options options = {.name = place->more[0],
                                                      .tube = place->tube,
                                                      .interval_ns = HOUR,
                                                      .body = {.data = "x", .size = 1}};
    return options;
}

static void put_schedule(const struct place *place, const struct weir_job_schedule_options *options)
{
    struct weir_error error;
    CHECK_STATUS(weir_broker_schedule_put(place->broker, options, &error), WEIR_OK);
}

struct seen {
    int count;
    struct weir_job_schedule schedule; /* its texts are gone */
    char last_id[WEIR_JOB_ID_SIZE];
};

static int keep_schedule(const struct weir_job_schedule *schedule, void *arg)
{
    struct seen *seen = arg;
    seen->count++;
    seen->schedule = *schedule;
    (void)snprintf(seen->last_id, sizeof(seen->last_id), "%s", schedule->last_id);
    return 0;
}

static struct seen see(const struct place *place)
{
    struct seen seen = {.count = 0};
    CHECK_STATUS(weir_broker_schedules(place->broker, place->more[0], keep_schedule, &seen, NULL),
                 WEIR_OK);
    CHECK_INT(seen.count, ==, 1);
    return seen;
}

static void refused(struct place *place)
{
    struct weir_job_schedule_options options = options_of(place);
    struct seen seen = {.count = 0};
    const char *name = place->more[0];
    CHECK_STATUS(weir_broker_schedule_put(place->broker, &options, NULL), WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_schedule_change(place->broker, name, WEIR_SCHEDULE_REMOVE, NULL, NULL),
                 WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_schedule_change(place->broker, name, WEIR_SCHEDULE_PAUSE, NULL, NULL),
                 WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_schedule_change(place->broker, name, WEIR_SCHEDULE_RESUME, NULL, NULL),
                 WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_schedule_change(place->broker, name, WEIR_SCHEDULE_RUN, NULL, NULL),
                 WEIR_ENOTSUP);
    CHECK_STATUS(weir_broker_schedules(place->broker, NULL, keep_schedule, &seen, NULL),
                 WEIR_ENOTSUP);
}

static bool open_schedules(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_SCHEDULES, refused);
}

static void forget(const struct place *place)
{
    CHECK_STATUS(weir_broker_schedule_change(place->broker, place->more[0], WEIR_SCHEDULE_REMOVE,
                                             NULL, NULL),
                 WEIR_OK);
}

/* Runs one job of the tube, however many come. */
static void consume_one(const struct place *place, struct runs *runs)
{
    weir_consumer *consumer = place_consumer(place, runs, 1, 1, 0, 0);
    while (runs->ends[WEIR_RUN_DONE] == 0) {
        (void)sched_yield();
    }
    place_end(consumer);
}

TEST_BROKERS(keeps,
             "a schedule is kept as it was given; one that says nothing new keeps its firing")
{
    struct place place;
    if (!open_schedules(&place, kind)) {
        return;
    }
    struct weir_job_schedule_options options = options_of(&place);
    options.priority = 7;
    options.missed = WEIR_MISSED_ALL;
    options.flags = WEIR_SCHEDULE_NO_OVERLAP;
    int64_t before = place_now();
    put_schedule(&place, &options);
    struct seen first = see(&place);
    CHECK_INT(first.schedule.next_ns, >=, before + HOUR);
    CHECK_INT(first.schedule.interval_ns, ==, HOUR);
    CHECK_INT(first.schedule.ttr_ns, ==, WEIR_SECONDS(60));
    CHECK_INT(first.schedule.priority, ==, 7);
    CHECK_INT(first.schedule.missed, ==, WEIR_MISSED_ALL);
    CHECK_INT(first.schedule.catch_up_max, ==, 100);
    CHECK_INT(first.schedule.flags, ==, WEIR_SCHEDULE_NO_OVERLAP);
    CHECK_INT(first.schedule.is_paused, ==, 0);
    CHECK_STRING(first.last_id, "");
    options.priority = 8;
    put_schedule(&place, &options);
    CHECK_INT(see(&place).schedule.priority, ==, 8);
    CHECK_INT(see(&place).schedule.next_ns, ==, first.schedule.next_ns);
    options.interval_ns = 2 * HOUR;
    put_schedule(&place, &options);
    CHECK_INT(see(&place).schedule.next_ns, >=, before + 2 * HOUR);
    forget(&place);
    CHECK_STATUS(weir_broker_schedules(place.broker, place.more[0], keep_schedule, &first, NULL),
                 WEIR_ENOTFOUND);
    CHECK_STATUS(
        weir_broker_schedule_change(place.broker, place.more[0], WEIR_SCHEDULE_REMOVE, NULL, NULL),
        WEIR_ENOTFOUND);
    place_close(&place);
}

TEST_BROKERS(fires, "a schedule puts a job at its time for a consumer, and what was missed once")
{
    struct place place;
    struct runs runs = {.count = 0};
    if (!open_schedules(&place, kind)) {
        return;
    }
    struct weir_job_schedule_options options = options_of(&place);
    options.first_at_ns = place_now() - 2 * HOUR - WEIR_SECONDS(1);
    put_schedule(&place, &options);
    /* Its first firing from now on: what was before the schedule is not missed. */
    CHECK_INT(see(&place).schedule.next_ns, >, place_now());
    options.interval_ns = WEIR_MS(100);
    options.first_at_ns = 0;
    int64_t before = place_now();
    put_schedule(&place, &options);
    place_let_pass(WEIR_MS(350));
    consume_one(&place, &runs);
    struct seen seen = see(&place);
    CHECK_INT(seen.schedule.fired, >=, 1);
    CHECK_INT(seen.schedule.skipped, >=, 1);
    CHECK_INT(seen.schedule.last_ns, >=, before + WEIR_MS(200));
    CHECK_INT(runs.run[0].began_ns, >=, before + WEIR_MS(350));
    CHECK(seen.last_id[0] != '\0');
    forget(&place);
    place_close(&place);
}

TEST_BROKERS(pauses,
             "a schedule that is paused puts no job until it is resumed, but when it is run")
{
    struct place place;
    struct weir_job_id id;
    struct runs runs = {.count = 0};
    if (!open_schedules(&place, kind)) {
        return;
    }
    struct weir_job_schedule_options options = options_of(&place);
    options.interval_ns = WEIR_MS(100);
    put_schedule(&place, &options);
    CHECK_STATUS(
        weir_broker_schedule_change(place.broker, place.more[0], WEIR_SCHEDULE_PAUSE, NULL, NULL),
        WEIR_OK);
    CHECK_INT(see(&place).schedule.is_paused, ==, 1);
    uint64_t fired = see(&place).schedule.fired;
    place_let_pass(WEIR_MS(250));
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 0);
    CHECK_STATUS(
        weir_broker_schedule_change(place.broker, place.more[0], WEIR_SCHEDULE_RUN, &id, NULL),
        WEIR_OK);
    CHECK_STRING(see(&place).last_id, fired == 0 ? see(&place).last_id : id.text);
    place_consume(&place, &runs, 1, 1, 0);
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(see(&place).schedule.last_outcome, ==, WEIR_RUN_DONE);
    CHECK_INT(see(&place).schedule.last_ended_ns, >=, runs.run[0].began_ns);
    CHECK_STATUS(
        weir_broker_schedule_change(place.broker, place.more[0], WEIR_SCHEDULE_RESUME, NULL, NULL),
        WEIR_OK);
    struct seen seen = see(&place);
    CHECK_INT(seen.schedule.is_paused, ==, 0);
    CHECK_INT(seen.schedule.skipped, >=, 1);
    runs.ends[WEIR_RUN_DONE] = 0;
    consume_one(&place, &runs);
    CHECK_INT(runs.count, >=, 2);
    forget(&place);
    place_close(&place);
}

TEST_BROKERS(alone, "without overlap no firing puts a job while the last one has not ended")
{
    struct place place;
    struct weir_job_id id;
    if (!open_schedules(&place, kind)) {
        return;
    }
    struct weir_job_schedule_options options = options_of(&place);
    options.interval_ns = WEIR_MS(100);
    options.missed = WEIR_MISSED_ALL;
    options.flags = WEIR_SCHEDULE_NO_OVERLAP;
    put_schedule(&place, &options);
    CHECK_STATUS(
        weir_broker_schedule_change(place.broker, place.more[0], WEIR_SCHEDULE_RUN, &id, NULL),
        WEIR_OK);
    place_let_pass(WEIR_MS(450));
    /* The tube is paused: a consumer fires, and leaves the job. */
    CHECK_STATUS(weir_broker_pause(place.broker, place.tube, WEIR_FOREVER, NULL), WEIR_OK);
    struct runs runs = {.count = 0};
    weir_consumer *consumer = place_consumer(&place, &runs, 1, 1, 0, 0);
    while (see(&place).schedule.skipped < 3) {
        (void)sched_yield();
    }
    place_end(consumer);
    CHECK_PLACE(&place, 0, 1, 0, 0);
    CHECK_INT(runs.count, ==, 0);
    CHECK_INT(see(&place).schedule.fired, ==, 1);
    CHECK_STRING(see(&place).last_id, id.text);
    forget(&place);
    CHECK_INT(place_remove(&place, &id), ==, 1);
    place_close(&place);
}
