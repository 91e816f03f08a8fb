/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"
#include "context/contexts.h"

#include "base/sync.h"
#include "support/explorer/explorer.h"
#include "support/harness.h"

/* Runs in a context without a pool, under a watchdog; a run has 10 ns, and is overdue 5 ns later.
 */
static struct {
    weir_clock *clock;
    struct scope scope;
    struct weiri_watchdog dog;
    weir_context context;
    struct weiri_mutex mutex;
    struct weiri_cond has_told;
    int told;
    int run; /* 0: none */
} world;

static void tell(weir_context *context, int64_t late_ns, void *arg)
{
    (void)arg;
    CHECK(context == &world.context);
    CHECK_INT(late_ns, >=, 5);
    int run = world.run;
    CHECK_INT(run, ==, world.told + 1); /* the run under way, and each once */
    weiri_mutex_lock(&world.mutex);
    CHECK_INT(world.run, ==, run);
    world.told++;
    weiri_cond_signal(&world.has_told);
    weiri_mutex_unlock(&world.mutex);
    CHECK_INT(world.run, ==, run);
}

static void world_init(void)
{
    memset(&world, 0, sizeof(world));
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &world.clock), WEIR_OK);
    weiri_mutex_init(&world.mutex);
    weiri_cond_init(&world.has_told, &world.mutex);
    scope_init(&world.scope, world.clock);
    CHECK_STATUS(weiri_watchdog_init(&world.dog, &world.scope.contexts, 5, tell, NULL), WEIR_OK);
    weiri_context_init(&world.context, &world.scope.contexts);
}

static void world_fini(void)
{
    weiri_context_fini(&world.context);
    weiri_watchdog_fini(&world.dog);
    scope_fini(&world.scope);
    weiri_cond_fini(&world.has_told);
    weiri_mutex_fini(&world.mutex);
    weir_clock_free(world.clock);
}

static void begin(int run, int64_t limit_ns)
{
    weiri_mutex_lock(&world.mutex);
    world.run = run;
    weiri_mutex_unlock(&world.mutex);
    context_begin(&world.context, limit_ns);
}

/* The run may not be told about any more once this has returned. */
static void end(void)
{
    weiri_context_end(&world.context);
    weiri_mutex_lock(&world.mutex);
    world.run = 0;
    weiri_mutex_unlock(&world.mutex);
}

/* Each run goes on until it has been told about. */
static void tell_each(void *arg)
{
    (void)arg;
    world_init();
    for (int run = 1; run <= 2; run++) {
        begin(run, 10);
        CHECK_STATUS(weir_clock_advance(world.clock, 15), WEIR_OK);
        weiri_mutex_lock(&world.mutex);
        while (world.told < run) {
            weiri_cond_wait(&world.has_told);
        }
        weiri_mutex_unlock(&world.mutex);
        end();
    }
    world_fini();
    CHECK_INT(world.told, ==, 2);
}

TEST(tells_each, "a run that goes on past its time is told about, however the watchdog slept")
{
    explorer_must_pass(tell_each, NULL, NULL);
}

/* A run ends while it is found overdue, and another one begins that is not. */
static void tell_or_end(void *arg)
{
    (void)arg;
    world_init();
    begin(1, 10);
    CHECK_STATUS(weir_clock_advance(world.clock, 15), WEIR_OK);
    end();
    begin(2, 1000);
    CHECK_STATUS(weir_clock_advance(world.clock, 1), WEIR_OK);
    end();
    world_fini();
    CHECK_INT(world.told, <=, 1);
}

TEST(tells_or_ends, "a run that has ended is not told about any more, nor the next one for it")
{
    explorer_must_pass(tell_or_end, NULL, NULL);
}

static void refuse(void *arg)
{
    (void)arg;
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &clock), WEIR_OK);
    scope_init(&world.scope, clock);
    explorer_refuse_thread(1);
    CHECK_STATUS(weiri_watchdog_init(&world.dog, &world.scope.contexts, 5, tell, NULL),
                 WEIR_ETHREAD);
    scope_fini(&world.scope);
    weir_clock_free(clock);
}

TEST(refused, "where the system refuses its thread there is no watchdog")
{
    explorer_must_pass(refuse, NULL, NULL);
}
