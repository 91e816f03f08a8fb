/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"
#include "base/sync.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* Schedules that go wrong in every way that the explorer notices. */

static struct weiri_mutex mutex;
static struct weiri_cond cond;
static struct weiri_thread thread;

static void locks_init(void)
{
    weiri_mutex_init(&mutex);
    weiri_cond_init(&cond, &mutex);
}

static void locks_fini(void)
{
    weiri_cond_fini(&cond);
    weiri_mutex_fini(&mutex);
}

static void start(void (*run)(void *arg))
{
    CHECK_STATUS(weiri_thread_start(&thread, "other", run, NULL), WEIR_OK);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void lock(void *arg) WEIRI_NO_TSA
{
    (void)arg;
    weiri_mutex_lock(&mutex);
}

static void unjoined(void *arg)
{
    (void)arg;
    start(nothing);
}

static void joined_twice(void *arg)
{
    (void)arg;
    start(nothing);
    weiri_thread_join(&thread);
    weiri_thread_join(&thread);
}

static void ends_holding(void *arg)
{
    locks_init();
    lock(arg);
}

static void thread_ends_holding(void *arg)
{
    (void)arg;
    locks_init();
    start(lock);
    weiri_thread_join(&thread);
}

static void locked_twice(void *arg)
{
    locks_init();
    lock(arg);
    lock(arg);
}

static void unlocked_unheld(void *arg) WEIRI_NO_TSA
{
    (void)arg;
    locks_init();
    weiri_mutex_unlock(&mutex);
}

static void locked_ended(void *arg)
{
    locks_init();
    locks_fini();
    lock(arg);
}

static void ended_held(void *arg) WEIRI_NO_TSA
{
    locks_init();
    lock(arg);
    weiri_mutex_fini(&mutex);
}

static void ended_awaited(void *arg) WEIRI_NO_TSA
{
    locks_init();
    lock(arg);
    start(lock);
    weiri_sync_point();
    weiri_mutex_unlock(&mutex);
    weiri_mutex_fini(&mutex);
    weiri_thread_join(&thread);
}

static bool is_asleep;

static void sleep_once(void *arg)
{
    (void)arg;
    weiri_mutex_lock(&mutex);
    is_asleep = true;
    weiri_cond_wait(&cond);
    weiri_mutex_unlock(&mutex);
}

static void ended_slept_on(void *arg)
{
    (void)arg;
    locks_init();
    is_asleep = false;
    start(sleep_once);
    while (!is_asleep) {
        weiri_sync_point();
    }
    weiri_cond_fini(&cond);
    weiri_thread_join(&thread);
}

static void waits_unheld(void *arg) WEIRI_NO_TSA
{
    (void)arg;
    locks_init();
    weiri_cond_wait(&cond);
}

static void signals_ended(void *arg)
{
    locks_init();
    lock(arg);
    weiri_cond_fini(&cond);
    weiri_cond_signal(&cond);
}

static void sleeps_for_ever(void *arg)
{
    locks_init();
    sleep_once(arg);
}

static void spins(void *arg)
{
    (void)arg;
    for (;;) {
        weiri_sync_point();
    }
}

static void *left;

static void leaks(void *arg)
{
    (void)arg;
    left = test_allocator()->alloc(10, NULL);
    CHECK(left != NULL);
}

static void panics(void *arg)
{
    (void)arg;
    WEIRI_ASSERT(arg != NULL);
}

static void checks(void *arg)
{
    CHECK(arg != NULL);
}

static void chooses_nothing(void *arg)
{
    (void)arg;
    (void)explorer_choose(0);
}

static void starts_many(void *arg)
{
    (void)arg;
    static struct weiri_thread threads[40];
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "one", nothing, NULL), WEIR_OK);
    }
}

TEST(noticed, "every way in which a schedule can go wrong is noticed and named")
{
    static const struct {
        explorer_scenario_fn *scenario;
        const char *text;
    } rows[] = {
        {unjoined, "thread other is not joined"},
        {joined_twice, "joined that does not run, or twice"},
        {ends_holding, "thread scenario ended and holds a lock"},
        {thread_ends_holding, "thread other ended and holds a lock"},
        {locked_twice, "owner_of(mutex) != self_number()"},
        {unlocked_unheld, "owner_of(mutex) == self_number()"},
        {locked_ended, "a lock is taken after its end"},
        {ended_held, "mutex 1 ends while it is held"},
        {ended_awaited, "a lock is taken after its end"},
        {ended_slept_on, "condition 2 ends while somebody sleeps on it"},
        {waits_unheld, "owner_of(mutex) == self_number()"},
        {signals_ended, "a condition is used after its end"},
        {sleeps_for_ever, "deadlock"},
        {spins, "no end in sight"},
        {leaks, "1 blocks of test_allocator() are left"},
        {panics, "broken invariant at "},
        {checks, "not true: arg != NULL"},
        {chooses_nothing, "a choice out of nothing"},
        {starts_many, "more than 24 threads"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct explorer_result result;
        explorer_run(rows[i].scenario, NULL, NULL, &result);
        if (!result.failed || strstr(result.text, rows[i].text) == NULL) {
            test_fail(__FILE__, __LINE__, "row %zu: \"%s\", expected \"%s\"", i, result.text,
                      rows[i].text);
        }
    }
    test_allocator()->release(left, 10, NULL);
}
