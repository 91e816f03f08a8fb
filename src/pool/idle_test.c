/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Waiting until a pool is idle. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <sched.h>

#include <weir/lifecycle.h>

#include "pool/crew.h"
#include "support/touched.h"

struct waiter {
    weir_pool *pool;
    int64_t timeout_ns;
    enum weir_status status;
};

static void wait_run(void *arg)
{
    struct waiter *waiter = arg;
    waiter->status = weir_pool_wait_idle(waiter->pool, waiter->timeout_ns);
}

static int send_next(weir_context *context, struct task *task)
{
    (void)context;
    return (int)weir_pool_send(task->pool, task->envelope);
}

TEST(chain, "what a task sends is waited for too")
{
    struct crew crew;
    crew_init(&crew, 2);
    for (int i = 0; i + 1 < TASKS_MAX; i++) {
        crew.tasks[i].envelope = crew.envelopes[i + 1];
        crew.tasks[i].body = send_next;
    }
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, WEIR_FOREVER), WEIR_OK);
    crew_send(&crew, 0);
    struct waiter waiter = {crew.pool, WEIR_FOREVER, WEIR_EINVAL};
    struct test_thread *thread = test_start(wait_run, &waiter);
    test_wait_asleep(thread);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(waiter.status, WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        CHECK_INT(task_runs(&crew.tasks[i]), ==, 1);
    }
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(pending, "what was sent for later is waited for, up to the limit; a periodic envelope is not")
{
    struct crew crew;
    struct task ticks;
    crew_init(&crew, 1);
    task_init(&ticks);
    weir_envelope *periodic = periodic_for(&ticks, 100);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(crew.pool, periodic), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&ticks.outcomes), ==, 1);
    CHECK_INT(counts_of(crew.pool).waiting, ==, 1);

    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], 10), WEIR_OK);
    struct waiter waiter = {crew.pool, 5, WEIR_EINVAL};
    for (int is_due = 0; is_due < 2; is_due++) {
        struct test_thread *thread = test_start(wait_run, &waiter);
        test_wait_asleep(thread);
        CHECK_STATUS(weir_clock_advance(crew.clock, 5), WEIR_OK);
        test_join(thread);
        CHECK_STATUS(waiter.status, is_due == 0 ? WEIR_ETIMEDOUT : WEIR_OK);
        waiter.timeout_ns = WEIR_FOREVER;
    }
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);

    CHECK_STATUS(weir_pool_send_after(crew.pool, periodic, 10), WEIR_OK); /* is a send */
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, 0), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weir_envelope_unref(periodic);
    crew_fini(&crew);
    task_fini(&ticks);
}

enum {
    MANY = 1000
};

static void *alloc_touched(size_t size, void *arg)
{
    (void)arg;
    return touched_new(size);
}

static void *refuse_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    (void)block;
    (void)old_size;
    (void)new_size;
    (void)arg;
    return NULL;
}

static void leave_touched(void *block, size_t size, void *arg)
{
    (void)block;
    (void)size;
    (void)arg;
}

/* An envelope on a page of its own, whose first firing is far away. */
static weir_envelope *distant_for(struct task *task)
{
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_INTERVAL;
    struct weir_envelope_options options = task_envelope(task);
    options.allocator = (struct weir_allocator){alloc_touched, refuse_resize, leave_touched, NULL};
    options.interval_ns = WEIR_SECONDS(3600);
    options.schedule = &schedule;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    return envelope;
}

TEST(constant, "while a thread waits until the pool is idle, no call looks at what waits")
{
    struct crew crew;
    struct task ticks;
    weir_envelope *distant[MANY];
    crew_init(&crew, 1);
    task_init(&ticks);
    touched_init(MANY);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (int i = 0; i < MANY; i++) {
        distant[i] = distant_for(&ticks);
        CHECK_STATUS(weir_pool_send(crew.pool, distant[i]), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).waiting, ==, MANY);
    /* Comes last, and keeps the pool from being idle. */
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], WEIR_SECONDS(7200)), WEIR_OK);
    struct waiter waiter = {crew.pool, WEIR_FOREVER, WEIR_EINVAL};
    struct test_thread *thread = test_start(wait_run, &waiter);
    test_wait_asleep(thread);
    touched_watch();
    crew_send(&crew, 1);
    counter_wait(&crew.tasks[1].outcomes, 1);
    while (counts_of(crew.pool).running > 0) {
        (void)sched_yield();
    }
    CHECK_INT(touched_count(), ==, 0);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(waiter.status, WEIR_OK);
    for (int i = 0; i < MANY; i++) {
        weir_envelope_unref(distant[i]);
    }
    CHECK_INT(counter_value(&ticks.released), ==, MANY);
    crew_fini(&crew);
    task_fini(&ticks);
}

TEST(ended, "a pool that has ended is idle, unless it keeps something")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], 10), WEIR_OK);
    struct waiter waiter = {crew.pool, WEIR_FOREVER, WEIR_EINVAL};
    struct test_thread *thread = test_start(wait_run, &waiter);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(waiter.status, WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(crew.pool, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

static int wait_inside(weir_context *context, struct task *task)
{
    (void)context;
    return (int)weir_pool_wait_idle(task->pool, WEIR_FOREVER);
}

TEST(from_own_task, "a task does not wait until its own pool is idle")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = wait_inside;
    CHECK_STATUS(weir_pool_wait_idle(NULL, 0), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(atomic_load(&crew.tasks[0].last_status), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}
