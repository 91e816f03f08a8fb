/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/watchdog.h"

#include <stdio.h>

#include "pool/fixture.h"

/* What a watchdog said. */
struct told {
    struct counter times;
    weir_pool *pool;
    weir_envelope *envelope;
    int64_t late_ns;
    char line[256];
    struct task *held; /* optional: is let go, and must not end before this has returned */
};

static void note(enum weir_log_level level, const char *message, void *arg)
{
    struct told *told = arg;
    if (strncmp(message, "overdue", 7) == 0) {
        CHECK_INT(level, ==, WEIR_LOG_WARNING);
        (void)snprintf(told->line, sizeof(told->line), "%s", message);
        CHECK_STATUS(weir_pool_wait_idle(told->pool, WEIR_FOREVER), WEIR_ESTATE);
    }
}

static void overdue(weir_envelope *envelope, int64_t late_ns, void *arg)
{
    struct told *told = arg;
    told->envelope = envelope;
    told->late_ns = late_ns;
    if (told->held != NULL) {
        counter_add(&told->held->allowed, 1);
        counter_wait(&told->held->outcomes, 1);
        CHECK_INT(counter_value(&told->held->released), ==, 0);
    }
    counter_add(&told->times, 1);
}

static weir_pool *watched_pool(struct told *told, weir_clock *clock, int64_t overdue_ns)
{
    *told = (struct told){.late_ns = -1};
    counter_init(&told->times);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.clock = clock;
    options.log = note;
    options.log_arg = told;
    options.overdue_ns = overdue_ns;
    options.overdue = overdue;
    options.overdue_arg = told;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    told->pool = pool;
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    return pool;
}

TEST(each_once, "of each run that goes on so long past its deadline it tells once")
{
    struct told told;
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = watched_pool(&told, clock, WEIR_MS(5));
    weir_envelope *envelope = envelope_for(&task, WEIR_MS(10));
    for (int run = 1; run <= 2; run++) {
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        counter_wait(&task.entered, run);
        CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(14)), WEIR_OK);
        CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(1)), WEIR_OK);
        counter_wait(&told.times, run);
        CHECK_INT(told.late_ns, ==, WEIR_MS(5)); /* not at the step before */
        CHECK(told.envelope == envelope);
        CHECK_INT(counts_of(pool).overdue, ==, run);
        CHECK_STRING(told.line, "overdue: envelope 0 \"\" runs on, 5 ms past its time limit");
        CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(100)), WEIR_OK);
        counter_add(&task.allowed, 1);
        counter_wait(&task.outcomes, run);
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&told.times), ==, 2);
    weir_envelope_unref(envelope);
    weir_clock_free(clock);
    counter_fini(&told.times);
    task_fini(&task);
}

static struct counter in_hook;
static struct counter leave_hook;

static void slow_success(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    counter_add(&in_hook, 1);
    counter_wait(&leave_hook, 1);
}

TEST(hooks, "it tells of a hook too, past the hook's own limit")
{
    struct told told;
    struct task task;
    task_init(&task);
    counter_init(&in_hook);
    counter_init(&leave_hook);
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = watched_pool(&told, clock, WEIR_MS(5));
    struct weir_envelope_options options = {0};
    options.payload = &task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.success = slow_success;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&in_hook, 1);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(804)), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(2)), WEIR_OK);
    counter_wait(&told.times, 1);
    CHECK_INT(told.late_ns, ==, WEIR_MS(6));
    counter_add(&leave_hook, 1);
    counter_wait(&task.outcomes, 1);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_clock_free(clock);
    counter_fini(&told.times);
    counter_fini(&in_hook);
    counter_fini(&leave_hook);
    task_fini(&task);
}

TEST(holds, "the run does not end while it is told about, so the envelope is there")
{
    struct told told;
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = watched_pool(&told, clock, 5);
    told.held = &task;
    weir_envelope *envelope = envelope_for(&task, 10);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_clock_advance(clock, 15), WEIR_OK);
    counter_wait(&task.released, 1);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&told.times), ==, 1);
    weir_clock_free(clock);
    counter_fini(&told.times);
    task_fini(&task);
}

TEST(real, "on the real clock it comes by itself")
{
    struct told told;
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_pool *pool = watched_pool(&told, NULL, WEIR_MS(1));
    weir_envelope *envelope = envelope_for(&task, WEIR_MS(1));
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&told.times, 1);
    CHECK_INT(told.late_ns, >=, WEIR_MS(1));
    counter_add(&task.allowed, 1);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    counter_fini(&told.times);
    task_fini(&task);
}

struct stepper {
    weir_clock *clock;
    struct counter steps;
    atomic_bool is_ended;
};

static void step(void *arg)
{
    struct stepper *stepper = arg;
    while (!atomic_load(&stepper->is_ended)) {
        CHECK_STATUS(weir_clock_advance(stepper->clock, 1), WEIR_OK);
        counter_add(&stepper->steps, 1);
    }
}

/* ThreadSanitizer sees a pool that is stepped before it is whole. */
TEST(stepped, "the clock may be stepped while a pool is made and freed")
{
    struct told told;
    struct stepper stepper = {.clock = NULL};
    counter_init(&stepper.steps);
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &stepper.clock), WEIR_OK);
    struct test_thread *thread = test_start(step, &stepper);
    for (int i = 0; i < 20; i++) {
        weir_pool *pool = watched_pool(&told, stepper.clock, 1);
        counter_wait(&stepper.steps, counter_value(&stepper.steps) + 1);
        weir_pool_free(pool);
        counter_fini(&told.times);
    }
    atomic_store(&stepper.is_ended, true);
    test_join(thread);
    weir_clock_free(stepper.clock);
    counter_fini(&stepper.steps);
}

TEST(bad_options, "a negative time is refused, and somebody to tell without a time")
{
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.overdue_ns = -1;
    weir_pool *pool = NULL;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_ERANGE);
    options.overdue_ns = 0;
    options.overdue = overdue;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EINVAL);
    CHECK(pool == NULL);
}

TEST_OOM(no_memory, "without memory for its watchdog there is no pool")
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 2;
    options.overdue_ns = 1;
    weir_pool *pool = NULL;
    if (!CHECK_OR_OOM(weir_pool_new(&options, &pool, NULL))) {
        weir_pool_free(pool);
    }
}
