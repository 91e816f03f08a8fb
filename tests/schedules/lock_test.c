/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* The lock of src/base/lock.c itself in every order of its threads' steps: here it is not replaced
 * by the explorer's mutex, but its two system calls are. The explorer's memory is sequentially
 * consistent: what the missing fences could do is proved in docs/internals/locking.md, not
 * explored. */

#define WEIRI_LOCK_EXPLORED 1
#define THREADS 3

#include <stdint.h>

#include "base/sync.h"

static struct weiri_thread threads[THREADS];
static uint64_t selves[THREADS + 1];

/* Each explored thread's own number; all of them are one thread of the system. */
static uint64_t *self_of_thread(void)
{
    for (int i = 0; i < THREADS; i++) {
        if (weiri_thread_is_self(&threads[i])) {
            return &selves[i];
        }
    }
    return &selves[THREADS];
}

#define weiri_lock_self (*self_of_thread())

#include "base/futex.h"

/* One condition a word: a wake-up goes to those who sleep on that word and to no others. */
static struct {
    struct weiri_mutex mutex;
    struct weiri_cond cond;
    const void *word;
} sleeps[8];

static int sleep_of(const void *word)
{
    int i = 0;
    while (sleeps[i].word != NULL && sleeps[i].word != word) {
        i++;
    }
    sleeps[i].word = word;
    return i;
}

bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns)
{
    (void)limit_ns;
    int i = sleep_of(word);
    weiri_mutex_lock(&sleeps[i].mutex);
    if (atomic_load(word) == expected) {
        weiri_cond_wait(&sleeps[i].cond);
    }
    weiri_mutex_unlock(&sleeps[i].mutex);
    return true;
}

void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)count;
    int i = sleep_of(word);
    weiri_mutex_lock(&sleeps[i].mutex);
    weiri_cond_signal(&sleeps[i].cond);
    weiri_mutex_unlock(&sleeps[i].mutex);
}

void weiri_fence_all_threads(void)
{
    weiri_sync_point();
}

bool weiri_fence_all_threads_init(void)
{
    return true;
}

/* NOLINTNEXTLINE(bugprone-suspicious-include): the file under test, compiled with the above */
#include "base/lock.c"

#include "support/explorer/explorer.h"
#include "support/harness.h"

static struct weiri_lock lock;
static int inside;
static int entries;

static void enter_some(void *arg)
{
    const int *times = arg;
    for (int i = 0; i < *times; i++) {
        weiri_lock_lock(&lock);
        CHECK_INT(inside++, ==, 0);
        weiri_sync_point();
        entries++;
        CHECK_INT(--inside, ==, 0);
        weiri_lock_unlock(&lock);
    }
}

struct plan {
    bool may_fence;
    int maker_times; /* how often the thread that made the lock enters, beside the others */
    int others_times;
};

static void contend(void *arg)
{
    struct plan plan = *(const struct plan *)arg;
    inside = 0;
    entries = 0;
    memset(selves, 0, sizeof(selves));
    memset(threads, 0, sizeof(threads));
    memset(sleeps, 0, sizeof(sleeps));
    for (size_t i = 0; i < sizeof(sleeps) / sizeof(sleeps[0]); i++) {
        CHECK_STATUS(weiri_mutex_init(&sleeps[i].mutex), WEIR_OK);
        CHECK_STATUS(weiri_cond_init(&sleeps[i].cond, &sleeps[i].mutex), WEIR_OK);
    }
    CHECK_STATUS(weiri_lock_init(&lock, plan.may_fence), WEIR_OK);
    for (int i = 0; i < THREADS - 1; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "other", enter_some, &plan.others_times),
                     WEIR_OK);
    }
    enter_some(&plan.maker_times);
    for (int i = 0; i < THREADS - 1; i++) {
        weiri_thread_join(&threads[i]);
    }
    CHECK_INT(entries, ==, plan.maker_times + (THREADS - 1) * plan.others_times);
    weiri_lock_fini(&lock);
    for (size_t i = 0; i < sizeof(sleeps) / sizeof(sleeps[0]); i++) {
        weiri_cond_fini(&sleeps[i].cond);
        weiri_mutex_fini(&sleeps[i].mutex);
    }
}

/* Waits for no reason would wake a sleeper whose wake-up is lost, and hide it. */
static const struct explorer_options options = {.schedules = 20000, .no_spurious = true};

TEST(plain, "without fences: one inside at a time, and no wake-up is lost")
{
    struct plan plan = {.may_fence = false, .maker_times = 2, .others_times = 2};
    explorer_must_pass(contend, &plan, &options);
}

TEST(revoked, "a bias is taken away beside its thread: one inside at a time, no wake-up lost")
{
    struct plan plan = {.may_fence = true, .maker_times = 2, .others_times = 2};
    explorer_must_pass(contend, &plan, &options);
}

TEST(biased_again, "a late thread of an earlier bias does not disturb a later one")
{
    struct plan plan = {.may_fence = true, .maker_times = 2, .others_times = 5};
    explorer_must_pass(contend, &plan, &options);
}
