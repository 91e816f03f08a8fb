/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Schedules by cron in a time zone, on the two days of the year on which its clocks are set, and
 * one at a fixed rate beside them. A manual clock takes the place of the real one, so that both
 * days pass at once; a pool without one takes the system's wall clock for expressions.
 *
 * - "30 2 * * *" names a time of the day, and comes once a day: in spring, when clocks skip it, at
 *   the moment of the change, and in autumn at its first occurrence.
 * - An expression that begins with a star follows real time: all that clocks show, as often as they
 *   show it.
 * - A fixed rate knows of no clocks: its time of the day moves. */
#include <stdio.h>

#include <weir/weir.h>

#define HOURS(count) WEIR_SECONDS((count)*INT64_C(3600))
#define TASKS 3

struct task {
    const char *name;
    const char *expression; /* NULL: every eight hours, three times */
    weir_cron *cron;
    int runs;
};

static weir_cron *zone; /* any expression of it: for the texts of times */

static int run_task(weir_context *context, void *payload)
{
    struct task *task = payload;
    char when[40];
    /* The time for which the run was planned, however late it is. */
    (void)weir_cron_format(zone, weir_context_due(context), when, sizeof(when));
    printf("  %s  %s\n", when, task->name);
    task->runs++;
    return task->expression == NULL && task->runs == 3 ? WEIR_ESTOP : WEIR_OK; /* no more */
}

static enum weir_status send_task(weir_pool *pool, struct task *task)
{
    struct weir_schedule schedule = {0};
    const struct weir_envelope_options options = {
        .type = task->name, .payload = task, .invoke = run_task, .schedule = &schedule};
    if (task->expression != NULL) {
        schedule.kind = WEIR_SCHEDULE_CRON;
        schedule.cron = task->cron;
    } else {
        schedule.kind = WEIR_SCHEDULE_RATE;
        schedule.interval_ns = HOURS(8);
    }
    weir_envelope *envelope = NULL;
    enum weir_status status = weir_envelope_new(&options, &envelope, NULL);
    if (status == WEIR_OK) {
        status = weir_pool_send(pool, envelope);
    }
    weir_envelope_unref(envelope); /* the pool has a reference of its own */
    return status;
}

/* Steps the clock through a day, and waits after each step until what was due has run. */
static enum weir_status pass_day(weir_pool *pool, weir_clock *clock)
{
    enum weir_status status = weir_pool_wait_idle(pool, WEIR_FOREVER);
    for (int step = 0; step < 4 * 24 && status == WEIR_OK; step++) {
        status = weir_clock_advance(clock, HOURS(1) / 4);
        if (status == WEIR_OK) {
            status = weir_pool_wait_idle(pool, WEIR_FOREVER);
        }
    }
    return status;
}

static enum weir_status show_day(const char *title, int64_t start_ns, struct task *tasks)
{
    printf("%s\n", title);
    struct weir_pool_options options = {.workers = 1};
    weir_pool *pool = NULL;
    enum weir_status status = weir_clock_manual_new(start_ns, NULL, &options.clock);
    if (status == WEIR_OK) {
        status = weir_pool_new(&options, &pool, NULL);
    }
    if (status == WEIR_OK) {
        status = weir_pool_start(pool);
    }
    for (int i = 0; i < TASKS && status == WEIR_OK; i++) {
        tasks[i].runs = 0;
        status = send_task(pool, &tasks[i]);
    }
    if (status == WEIR_OK) {
        status = pass_day(pool, options.clock);
    }
    struct weir_pool_counts counts;
    if (status == WEIR_OK && (status = weir_pool_count(pool, &counts)) == WEIR_OK) {
        printf("  %d runs; %d schedules go on, %d has ended\n", (int)counts.runs,
               (int)counts.in_flight, (int)counts.stopped);
    }
    weir_pool_free(pool);
    weir_clock_free(options.clock);
    return status;
}

int main(void)
{
    struct task tasks[TASKS] = {{"backup", "30 2 * * *", NULL, 0},
                                {"look at the mail", "*/30 1-3 * * *", NULL, 0},
                                {"every eight hours", NULL, NULL, 0}};
    const struct weir_cron_options options = {.zone = "Europe/Berlin"};
    struct weir_error error = {0};
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < TASKS && status == WEIR_OK; i++) {
        if (tasks[i].expression != NULL) {
            status = weir_cron_new(tasks[i].expression, &options, &tasks[i].cron, &error);
        }
    }
    zone = tasks[0].cron;
    if (status == WEIR_OK) {
        status = show_day("clocks are set forward", WEIR_SECONDS(1774735200), tasks);
    }
    if (status == WEIR_OK) {
        status = show_day("clocks are set back", WEIR_SECONDS(1792875600), tasks);
    }
    for (int i = 0; i < TASKS; i++) {
        weir_cron_unref(tasks[i].cron);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "scheduler: %s: %s\n", weir_status_text((int)status), error.text);
    }
    return status != WEIR_OK;
}
