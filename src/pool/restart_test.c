/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The four cells of (drain, stop) x (wait, no wait), limits, and what a later start finds. */

#include <stdio.h>

#include <weir/lifecycle.h>

#include "pool/crew.h"

/* A running pool whose first task is in a run that ignores its context, behind which the second is
 * queued; the third waits for a time. */
static void busy_crew_init(struct crew *crew)
{
    crew_init(crew, 1);
    crew->tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew->pool), WEIR_OK);
    crew_send(crew, 0);
    counter_wait(&crew->tasks[0].entered, 1);
    crew_send(crew, 1);
    CHECK_STATUS(weir_pool_send_after(crew->pool, crew->envelopes[2], 5), WEIR_OK);
}

static void wait_for_state(struct crew *crew)
{
    counter_add(&crew->tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(crew->pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_INT(counts_of(crew->pool).in_flight, ==, 0);
}

TEST(drain_wait, "drain, wait: everything queued has run and no worker is left when it returns")
{
    struct crew crew;
    busy_crew_init(&crew);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(drainer.status, WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    CHECK_INT(task_runs(&crew.tasks[2]), ==, 0);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
}

TEST(drain_no_wait, "drain, no wait: it returns at once, the workers finish what is queued (R14)")
{
    struct crew crew;
    busy_crew_init(&crew);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, 0), WEIR_OK);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_INT(counts_of(crew.pool).waiting, ==, 0); /* dropped at once */
    counter_wait(&crew.tasks[2].released, 0);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
    crew_fini(&crew);
}

TEST(stop_no_wait,
     "stop, no wait: it returns at once, and what is queued is dropped, not run (R12)")
{
    struct crew crew;
    busy_crew_init(&crew);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 1); /* the run that goes on */
    CHECK_INT(counts_of(crew.pool).dropped, ==, 2);
    wait_for_state(&crew);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
    crew_fini(&crew);
}

TEST(one_generation,
     "a start after a stop that did not wait begins when the last old worker has ended (R12)")
{
    struct crew crew;
    busy_crew_init(&crew);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    struct starter starter = {crew.pool, WEIR_EINVAL};
    struct test_thread *thread = test_start(starter_run, &starter);
    test_wait_asleep(thread);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[3]), WEIR_ESHUTDOWN);
    CHECK_INT(counter_value(&crew.tasks[0].outcomes), ==, 0);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(starter.status, WEIR_OK);
    CHECK_INT(counter_value(&crew.tasks[0].outcomes), ==, 1);
    crew_send(&crew, 3);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[3]), ==, 1);
    crew_fini(&crew);
}

TEST(start_stop_start, "a pool is started and ended any number of times, and counts on (R19)")
{
    struct crew crew;
    crew_init(&crew, 3);
    for (int round = 1; round <= 5; round++) {
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        for (int i = 0; i < TASKS_MAX; i++) {
            crew_send(&crew, i);
        }
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        struct weir_pool_counts counts = counts_of(crew.pool);
        CHECK_INT(counts.runs, ==, round * TASKS_MAX);
        CHECK_INT(counts.queued + counts.in_flight + counts.dropped, ==, 0);
        CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
    }
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_sleep(context, WEIR_FOREVER);
}

TEST(context_after_restart, "a task after a restart is not cancelled by the stop before it")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = until_cancelled;
    for (int round = 1; round <= 2; round++) {
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        crew_send(&crew, 1);
        counter_wait(&crew.tasks[1].outcomes, round);
        CHECK_INT(atomic_load(&crew.tasks[1].last_status), ==, WEIR_OK);
        crew_send(&crew, 0);
        counter_wait(&crew.tasks[0].entered, round);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_ECANCELED);
    }
    crew_fini(&crew);
}

TEST(drain_keeps,
     "delayed envelopes survive a drain that is to keep them, with their slots, and no "
     "time passes for them until the next start (R13)")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[1], 5), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(crew.clock, 10), WEIR_OK);
    struct weir_pool_counts counts = counts_of(crew.pool);
    CHECK_INT(counts.runs, ==, 1);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.in_flight, ==, 1);
    CHECK_INT(counts.dropped, ==, 0);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    counter_wait(&crew.tasks[1].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(stop_keeps, "what is queued, dirty or waits survives a stop that is to keep it, and is run "
                 "after the next start; in flight all the while (R13)")
{
    struct crew crew;
    busy_crew_init(&crew);
    crew_send(&crew, 0); /* dirty */
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, WEIR_END_KEEP, 0), WEIR_OK);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(crew.pool);
    CHECK_INT(counts.runs, ==, 1);
    CHECK_INT(counts.queued, ==, 2);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.in_flight, ==, 3);
    CHECK_INT(counts.dropped, ==, 0);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(crew.clock, 5), WEIR_OK);
    counter_wait(&crew.tasks[2].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 2);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    crew_fini(&crew);
}

TEST(kept_then_dropped,
     "what a stop has kept is dropped by the next end that does not keep it, and by a free")
{
    for (int by_free = 0; by_free < 2; by_free++) {
        struct crew crew;
        crew_init(&crew, 1);
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], 5), WEIR_OK);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
        weir_envelope_unref(crew.envelopes[0]);
        crew.envelopes[0] = NULL;
        if (by_free == 0) {
            CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
            CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
            CHECK_INT(counter_value(&crew.tasks[0].released), ==, 1);
            CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        }
        crew_fini(&crew);
    }
}

TEST(keep_meets_stop, "of ends that meet one that does not keep decides, whichever comes first")
{
    for (int first_keeps = 0; first_keeps < 2; first_keeps++) {
        struct crew crew;
        busy_crew_init(&crew);
        uint32_t keep = WEIR_END_KEEP;
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, (first_keeps != 0 ? keep : 0), 0),
                     WEIR_OK);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, (first_keeps != 0 ? 0 : keep), 0),
                     WEIR_OK);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
        CHECK_INT(counts_of(crew.pool).dropped, ==, 2);
        wait_for_state(&crew);
        crew_fini(&crew);
    }
}

/* A pool of two workers whose log is kept: the last line. */
static struct weiri_mutex log_mutex;
static char last_line[200];

static void keep_line(enum weir_log_level level, const char *message, void *arg)
{
    (void)level;
    (void)arg;
    weiri_mutex_lock(&log_mutex);
    (void)snprintf(last_line, sizeof(last_line), "%s", message);
    weiri_mutex_unlock(&log_mutex);
}

/* An end on a thread of its own, whose clock passes its timeout of 10; its log. */
struct timed {
    weir_pool *pool;
    enum weir_end_mode mode;
    enum weir_status status;
};

static void timed_run(void *arg)
{
    struct timed *timed = arg;
    timed->status = weir_pool_end(timed->pool, timed->mode, 0, 10);
}

static void check_times_out(struct crew *crew, enum weir_end_mode mode, const char *line)
{
    struct timed timed = {crew->pool, mode, WEIR_EINVAL};
    struct test_thread *thread = test_start(timed_run, &timed);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_clock_advance(crew->clock, 9), WEIR_OK);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_clock_advance(crew->clock, 1), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(timed.status, WEIR_ETIMEDOUT);
    CHECK_STRING(last_line, line);
    CHECK_INT(weir_pool_state(crew->pool), ==, WEIR_POOL_STATE_STOPPING);
}

TEST(limit, "an end with a timeout returns when that has passed, names what still runs in order, "
            "and can be made again, also with another mode (V10, R14)")
{
    struct crew crew;
    crew_init(&crew, 2);
    weir_pool_free(crew.pool);
    weiri_mutex_init(&log_mutex);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 2;
    options.clock = crew.clock;
    options.log = keep_line;
    CHECK_STATUS(weir_pool_new(&options, &crew.pool, NULL), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        struct weir_envelope_options envelope = task_envelope(&crew.tasks[i]);
        envelope.id = (uint64_t)i;
        envelope.type = "mail";
        weir_envelope_unref(crew.envelopes[i]);
        counter_fini(&crew.tasks[i].released);
        counter_init(&crew.tasks[i].released);
        crew.tasks[i].is_held = i < 2;
        CHECK_STATUS(weir_envelope_new(&envelope, &crew.envelopes[i], NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        crew_send(&crew, i);
        if (i < 2) {
            counter_wait(&crew.tasks[i].entered, 1);
        }
    }
    check_times_out(&crew, WEIR_END_DRAIN, "pool not stopped yet: 2 still running: 0 mail, 1 mail");
    counter_add(&crew.tasks[0].allowed, 1);
    counter_wait(&crew.tasks[2].outcomes, 1); /* the drain goes on */
    check_times_out(&crew, WEIR_END_STOP, "pool not stopped yet: 1 still running: 1 mail");
    counter_add(&crew.tasks[1].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_SECONDS(1)), WEIR_OK);
    crew_fini(&crew);
    weiri_mutex_fini(&log_mutex);
}

TEST(limit_not_reached, "an end with a limit that the workers keep returns as one without")
{
    struct crew crew;
    crew_init(&crew, 2);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, 1), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, 1), WEIR_OK);
    crew_fini(&crew);
}

TEST(real_limit, "on the real clock a limit passes by itself")
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_MS(1)), WEIR_ETIMEDOUT);
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

/* A periodic envelope on a manual clock, which a stop meets in its run. */
static void stop_periodic(uint32_t flags, int expected_runs)
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 1, clock);
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = &task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.release = task_release;
    options.interval_ns = 10;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, flags, 0), WEIR_OK);
    counter_add(&task.allowed, expected_runs);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, flags, WEIR_FOREVER), WEIR_OK);
    bool is_kept = flags == WEIR_END_KEEP;
    CHECK_INT(counts_of(pool).waiting, ==, is_kept);
    CHECK_INT(counts_of(pool).in_flight, ==, is_kept);
    CHECK_INT(counts_of(pool).dropped, ==, !is_kept);
    CHECK_INT(counter_value(&task.released), ==, !is_kept);
    CHECK_STATUS(weir_clock_advance(clock, 100), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.outcomes, expected_runs);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    CHECK_INT(task_runs(&task), ==, expected_runs);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

TEST(periodic,
     "a periodic envelope that a stop meets in its run recurs after the next start where it "
     "is to be kept, else it is dropped (R13)")
{
    stop_periodic(0, 1);
    stop_periodic(WEIR_END_KEEP, 2);
}
