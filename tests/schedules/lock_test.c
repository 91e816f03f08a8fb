/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* The lock of src/base/lock.c itself in every order of its threads' steps: here it is not replaced
 * by the explorer's mutex, only its system calls are. The explorer's memory is sequentially
 * consistent: what the missing fences could do is proved in docs/internals/locking.md and searched
 * in tests/promela/lock.pml, not explored. */

#include "base/lock.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

#define THREADS 3

static struct weiri_lock lock;
static int inside;
static int entries;

static int stay; /* steps inside */

static void enter_some(void *arg)
{
    const int *times = arg;
    for (int i = 0; i < *times; i++) {
        weiri_lock_lock(&lock);
        CHECK_INT(inside++, ==, 0);
        for (int step = 0; step < stay; step++) {
            weiri_sync_point();
        }
        entries++;
        CHECK_INT(--inside, ==, 0);
        weiri_lock_unlock(&lock);
    }
}

struct plan {
    bool may_fence;
    int stay;
    int times[THREADS]; /* how often each enters; the first is the thread that made the lock */
};

static void contend(void *arg)
{
    struct plan plan = *(const struct plan *)arg;
    struct weiri_thread threads[THREADS - 1];
    inside = 0;
    entries = 0;
    stay = plan.stay;
    CHECK_STATUS(weiri_lock_init(&lock, plan.may_fence), WEIR_OK);
    for (int i = 0; i < THREADS - 1; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "other", enter_some, &plan.times[i + 1]),
                     WEIR_OK);
    }
    enter_some(&plan.times[0]);
    for (int i = 0; i < THREADS - 1; i++) {
        weiri_thread_join(&threads[i]);
    }
    CHECK_INT(entries, ==, plan.times[0] + plan.times[1] + plan.times[2]);
    weiri_lock_fini(&lock);
}

/* Waits for no reason would wake a sleeper whose wake-up is lost, and hide it. */
static const struct explorer_options options = {.schedules = 20000, .no_spurious = true};

TEST(plain, "without fences: one inside at a time, and no wake-up is lost")
{
    struct plan plan = {.may_fence = false, .stay = 1, .times = {2, 2, 2}};
    explorer_must_pass(contend, &plan, &options);
}

TEST(revoked, "a bias is taken away beside its thread: one inside at a time, no wake-up lost")
{
    struct plan plan = {.may_fence = true, .stay = 1, .times = {2, 2, 2}};
    explorer_must_pass(contend, &plan, &options);
}

/* The second thread gets the bias and keeps it for a while; the third takes it away. */
TEST(biased_again, "a late thread of an earlier bias does not disturb a later one")
{
    struct plan plan = {.may_fence = true, .stay = 4, .times = {3, 6, 1}};
    explorer_must_pass(contend, &plan, &options);
}
