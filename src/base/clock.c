/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/forked.h"
#include "base/panic.h"
#include "base/sync.h"
#include "base/time.h"

struct weir_clock {
    /* Immutable. */
    bool is_manual;
    uint64_t process; /* a manual clock's: the mark of the process that made it */
    struct weir_allocator allocator;

    struct weiri_mutex mutex;
    /* Guarded by the mutex. */
    struct weiri_list users;

    /* Written with the mutex held, read without it. A waiter that has read the time before a step
     * is woken by the step. Release pairs with the acquire in weir_clock_now(). */
    _Atomic int64_t now_ns;
};

static weir_clock monotonic_clock = {.is_manual = false};

weir_clock *weir_clock_monotonic(void)
{
    return &monotonic_clock;
}

enum weir_status weir_clock_manual_new(int64_t start_ns, const struct weir_allocator *allocator,
                                       weir_clock **ret_clock)
{
    struct weir_allocator memory;
    if (ret_clock == NULL || weiri_allocator_init(&memory, allocator, NULL) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (start_ns < 0) {
        return WEIR_ERANGE;
    }
    weir_clock *clock = weiri_alloc_zero(&memory, 1, sizeof(*clock));
    if (clock == NULL) {
        return WEIR_ENOMEM;
    }
    clock->process = weiri_forked_mark();
    if (clock->process == 0) {
        weiri_release(&memory, clock, sizeof(*clock));
        return WEIR_ENOMEM;
    }
    weiri_mutex_init(&clock->mutex);
    clock->is_manual = true;
    clock->allocator = memory;
    weiri_list_init(&clock->users);
    atomic_init(&clock->now_ns, start_ns);
    *ret_clock = clock;
    return WEIR_OK;
}

enum weir_status weir_clock_advance(weir_clock *clock, int64_t step_ns)
{
    if (clock == NULL || !clock->is_manual) {
        return WEIR_EINVAL;
    }
    if (weiri_clock_check(clock) != WEIR_OK) {
        return WEIR_EFORKED;
    }
    if (step_ns < 0) {
        return WEIR_ERANGE;
    }
    weiri_mutex_lock(&clock->mutex);
    int64_t now = atomic_load_explicit(&clock->now_ns, memory_order_relaxed);
    if (step_ns > INT64_MAX - now) {
        weiri_mutex_unlock(&clock->mutex);
        return WEIR_ERANGE;
    }
    weiri_sync_point();
    atomic_store_explicit(&clock->now_ns, now + step_ns, memory_order_release);
    for (struct weiri_list *link = clock->users.next; link != &clock->users; link = link->next) {
        struct weiri_clock_user *user = WEIRI_CONTAINER(link, struct weiri_clock_user, link);
        user->on_step(user);
    }
    weiri_mutex_unlock(&clock->mutex);
    return WEIR_OK;
}

int64_t weir_clock_now(weir_clock *clock)
{
    if (clock == NULL) {
        return 0;
    }
    if (!clock->is_manual) {
        return weiri_monotonic_now();
    }
    weiri_sync_point();
    return atomic_load_explicit(&clock->now_ns, memory_order_acquire);
}

enum weir_status weir_clock_free(weir_clock *clock)
{
    if (clock == NULL || !clock->is_manual) {
        return WEIR_OK;
    }
    if (weiri_clock_check(clock) != WEIR_OK) {
        return WEIR_EFORKED; /* its users and its mutex may be in any state */
    }
    weiri_mutex_lock(&clock->mutex);
    bool is_used = !weiri_list_is_empty(&clock->users);
    weiri_mutex_unlock(&clock->mutex);
    if (is_used) {
        return WEIR_EBUSY;
    }
    weiri_mutex_fini(&clock->mutex);
    struct weir_allocator memory = clock->allocator;
    weiri_release(&memory, clock, sizeof(*clock));
    return WEIR_OK;
}

void weiri_clock_attach(weir_clock *clock, struct weiri_clock_user *user)
{
    weiri_list_init(&user->link);
    if (clock->is_manual) {
        weiri_mutex_lock(&clock->mutex);
        weiri_list_insert_before(&clock->users, &user->link);
        weiri_mutex_unlock(&clock->mutex);
    }
}

void weiri_clock_detach(weir_clock *clock, struct weiri_clock_user *user)
{
    if (clock->is_manual) {
        weiri_mutex_lock(&clock->mutex);
        weiri_list_remove(&user->link);
        weiri_mutex_unlock(&clock->mutex);
    }
}

enum weir_status weiri_clock_check(const weir_clock *clock)
{
    return clock->is_manual && weiri_forked_since(clock->process) ? WEIR_EFORKED : WEIR_OK;
}

int64_t weiri_clock_wait_limit(const weir_clock *clock, int64_t time_ns)
{
    return clock->is_manual ? INT64_MAX : time_ns;
}
