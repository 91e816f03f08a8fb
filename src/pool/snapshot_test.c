/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/pool_snapshot.h>

#include <weir/lifecycle.h>

#include "pool/crew.h"

static void check_item(const struct weir_pool_item *item, const weir_envelope *envelope,
                       uint32_t place, int64_t due_ns)
{
    CHECK(item->envelope == envelope);
    CHECK_INT(item->place, ==, place);
    CHECK_INT(item->due_ns, ==, due_ns);
    CHECK_INT(item->firing_ns, ==, -1);
}

TEST(all, "a snapshot shows what runs, what is queued and what waits, and keeps them alive")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 7), WEIR_OK);
    crew_send(&crew, 1);
    crew_send(&crew, 3);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[3], 9), WEIR_OK);
    struct weir_pool_snapshot *snapshot;
    CHECK_STATUS(weir_pool_snapshot_new(crew.pool, &snapshot), WEIR_OK);
    CHECK_INT(snapshot->count, ==, 4);
    check_item(&snapshot->items[0], crew.envelopes[0], WEIR_PLACE_PROCESSING, -1);
    check_item(&snapshot->items[1], crew.envelopes[1], WEIR_PLACE_QUEUED, -1);
    check_item(&snapshot->items[2], crew.envelopes[3], WEIR_PLACE_QUEUED, 9);
    check_item(&snapshot->items[3], crew.envelopes[2], WEIR_PLACE_IDLE, 7);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weir_pool_free(crew.pool);
    crew.pool = NULL;
    for (int i = 0; i < TASKS_MAX; i++) {
        weir_envelope_unref(crew.envelopes[i]);
        crew.envelopes[i] = NULL;
        CHECK_INT(counter_value(&crew.tasks[i].released), ==, 0);
    }
    weir_pool_snapshot_free(snapshot);
    crew_fini(&crew);
}

TEST(one, "an envelope in flight is found by its id, with a reference")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    struct weir_envelope_options options = task_envelope(&task);
    options.id = 42;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    struct weir_pool_item item = {.due_ns = 77};
    CHECK_STATUS(weir_pool_lookup(pool, 42, &item), WEIR_ENOTFOUND);
    CHECK_INT(item.due_ns, ==, 77);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_lookup(pool, 41, &item), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_pool_lookup(pool, 42, &item), WEIR_OK);
    check_item(&item, envelope, WEIR_PLACE_QUEUED, -1);
    CHECK_INT(item.runs, ==, 0);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weir_envelope_unref(item.envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

/* One envelope, looked up by its id. */
static struct weir_pool_item look_up(weir_pool *pool, uint64_t id)
{
    struct weir_pool_item item;
    CHECK_STATUS(weir_pool_lookup(pool, id, &item), WEIR_OK);
    weir_envelope_unref(item.envelope);
    return item;
}

/* A periodic envelope with id 42 in a pool that runs on a manual clock. It was sent, and has been
 * taken up. */
struct periodic {
    weir_clock *clock;
    weir_pool *pool;
    struct task task;
    weir_envelope *envelope;
};

static void periodic_init(struct periodic *periodic, const struct weir_schedule *schedule,
                          int64_t interval_ns)
{
    *periodic = (struct periodic){.clock = manual_clock(WEIR_SECONDS(1000))};
    task_init(&periodic->task);
    periodic->pool = pool_with(1, 0, periodic->clock);
    struct weir_envelope_options options = task_envelope(&periodic->task);
    options.id = 42;
    options.interval_ns = interval_ns;
    options.schedule = schedule;
    CHECK_STATUS(weir_envelope_new(&options, &periodic->envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(periodic->pool, periodic->envelope), WEIR_OK);
    CHECK_INT(look_up(periodic->pool, 42).firing_ns, ==, -1); /* it has not begun */
    CHECK_STATUS(weir_pool_start(periodic->pool), WEIR_OK);
    pass_by(periodic->pool);
}

static void periodic_fini(struct periodic *periodic)
{
    weir_pool_free(periodic->pool);
    weir_envelope_unref(periodic->envelope);
    weir_clock_free(periodic->clock);
    task_fini(&periodic->task);
}

TEST(firing,
     "the next firing of a schedule is told, where its wake-up is put off and while it runs")
{
    struct periodic periodic;
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = WEIR_SECONDS(1003);
    schedule.slack_ns = WEIR_SECONDS(10);
    periodic_init(&periodic, &schedule, WEIR_SECONDS(10));
    struct weir_pool_item item = look_up(periodic.pool, 42);
    CHECK_INT(item.firing_ns, ==, WEIR_SECONDS(1003));
    CHECK_INT(item.due_ns, ==, WEIR_SECONDS(1010));
    CHECK_STATUS(weir_pool_send_after(periodic.pool, periodic.envelope, 5), WEIR_OK);
    item = look_up(periodic.pool, 42);
    CHECK_INT(item.firing_ns, ==, WEIR_SECONDS(1003));
    CHECK_INT(item.due_ns, ==, WEIR_SECONDS(1000) + 5);
    periodic.task.is_held = true;
    CHECK_STATUS(weir_clock_advance(periodic.clock, WEIR_SECONDS(10)), WEIR_OK);
    counter_wait(&periodic.task.entered, 1);
    item = look_up(periodic.pool, 42);
    CHECK_INT(item.place, ==, WEIR_PLACE_PROCESSING);
    CHECK_INT(item.firing_ns, ==, WEIR_SECONDS(1013));
    CHECK_INT(item.due_ns, ==, -1);
    counter_add(&periodic.task.allowed, 1);
    struct weir_pool_snapshot *snapshot;
    CHECK_STATUS(weir_pool_wait_idle(periodic.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_snapshot_new(periodic.pool, &snapshot), WEIR_OK);
    CHECK_INT(snapshot->items[0].firing_ns, ==, WEIR_SECONDS(1013));
    weir_pool_snapshot_free(snapshot);
    periodic_fini(&periodic);
}

TEST(firing_delay, "with a fixed delay the end of a run makes it; one that never comes is told too")
{
    struct periodic periodic;
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_INTERVAL;
    periodic_init(&periodic, &schedule, WEIR_SECONDS(10));
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, WEIR_SECONDS(1010));
    periodic.task.is_held = true;
    CHECK_STATUS(weir_pool_send(periodic.pool, periodic.envelope), WEIR_OK);
    counter_wait(&periodic.task.entered, 1);
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, WEIR_SECONDS(1010)); /* for a send */
    counter_add(&periodic.task.allowed, 1);
    CHECK_STATUS(weir_clock_advance(periodic.clock, WEIR_SECONDS(10)), WEIR_OK);
    counter_wait(&periodic.task.entered, 2);
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, -1);
    counter_add(&periodic.task.allowed, 1);
    CHECK_STATUS(weir_pool_wait_idle(periodic.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, WEIR_SECONDS(1020));
    periodic_fini(&periodic);

    periodic_init(&periodic, &schedule, WEIR_FOREVER);
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, WEIR_FOREVER);
    CHECK_INT(look_up(periodic.pool, 42).due_ns, ==, WEIR_FOREVER);
    periodic_fini(&periodic);
}

TEST(firing_cron, "of a cron expression it is the firing, not the next look at the wall clock")
{
    struct periodic periodic;
    struct weir_schedule schedule = {0};
    struct weir_cron_options options = {0};
    options.zone = "UTC";
    schedule.kind = WEIR_SCHEDULE_CRON;
    CHECK_STATUS(weir_cron_new("0 1 * * *", &options, &schedule.cron, NULL), WEIR_OK);
    periodic_init(&periodic, &schedule, 0);
    CHECK_INT(look_up(periodic.pool, 42).firing_ns, ==, WEIR_SECONDS(3600));
    CHECK_INT(look_up(periodic.pool, 42).due_ns, ==, WEIR_SECONDS(1060));
    periodic_fini(&periodic);

    /* On the real clock it is of the system's date. */
    weir_pool *pool = pool_with(1, 0, NULL);
    struct task task;
    task_init(&task);
    struct weir_envelope_options of_envelope = task_envelope(&task);
    of_envelope.id = 42;
    of_envelope.schedule = &schedule;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&of_envelope, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    pass_by(pool);
    int64_t firing_ns = look_up(pool, 42).firing_ns;
    CHECK_INT(firing_ns, >, WEIR_SECONDS(50 * 365 * 86400)); /* past 2019 */
    CHECK_INT(firing_ns % WEIR_SECONDS(86400), ==, WEIR_SECONDS(3600));
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_cron_unref(schedule.cron);
    task_fini(&task);
}

TEST(bad_input, "NULL is refused, or nothing is in it")
{
    weir_pool *pool = pool_with(1, 0, NULL);
    struct weir_pool_snapshot *snapshot = NULL;
    struct weir_pool_item item;
    CHECK_STATUS(weir_pool_snapshot_new(NULL, &snapshot), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_snapshot_new(pool, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_lookup(NULL, 1, &item), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_lookup(pool, 1, NULL), WEIR_EINVAL);
    weir_pool_snapshot_free(NULL);
    weir_pool_free(pool);
}

TEST_OOM(no_memory, "without memory there is no snapshot, and nothing is kept")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    if (pool != NULL && envelope != NULL && !CHECK_OR_OOM(weir_pool_send(pool, envelope))) {
        struct weir_pool_snapshot *snapshot = NULL;
        if (!CHECK_OR_OOM(weir_pool_snapshot_new(pool, &snapshot))) {
            CHECK_INT(snapshot->count, ==, 1);
        }
        weir_pool_snapshot_free(snapshot);
    }
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}
