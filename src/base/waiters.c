/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/waiters.h"

#include "base/clock.h"

struct weiri_waiter {
    struct weiri_list link;
    struct weiri_parker parker;
    bool is_woken; /* taken out of the list by the thread that woke it */
};

void weiri_waiters_init(struct weiri_waiters *waiters, size_t woken_max)
{
    *waiters = (struct weiri_waiters){.woken_max = woken_max, .timer_ns = INT64_MAX};
    weiri_list_init(&waiters->list);
}

static void set_timer(struct weiri_waiters *waiters, struct weiri_waiter *timer, int64_t time_ns)
{
    waiters->timer = timer;
    waiters->timer_ns = time_ns;
}

static void take_out(struct weiri_waiters *waiters, struct weiri_waiter *waiter)
{
    weiri_list_remove(&waiter->link);
    if (waiters->timer == waiter) {
        set_timer(waiters, NULL, INT64_MAX);
    }
}

static struct weiri_parker *wake(struct weiri_waiters *waiters, struct weiri_waiter *waiter)
{
    take_out(waiters, waiter);
    waiters->woken++;
    waiter->is_woken = true;
    weiri_parker_set(&waiter->parker);
    return &waiter->parker;
}

static struct weiri_waiter *waiter_at(struct weiri_list *link)
{
    return WEIRI_CONTAINER(link, struct weiri_waiter, link);
}

void weiri_waiters_sleep(struct weiri_waiters *waiters, struct weiri_mutex *mutex,
                         const weir_clock *clock, int64_t next_ns, int64_t limit_ns,
                         struct weiri_parker *parker)
{
    struct weiri_waiter self = {.is_woken = false};
    weiri_parker_init(&self.parker);
    weiri_list_insert_before(waiters->list.next, &self.link);
    if (next_ns < waiters->timer_ns) {
        set_timer(waiters, &self, next_ns);
        limit_ns = next_ns < limit_ns ? next_ns : limit_ns;
    }
    weiri_mutex_unlock(mutex);
    if (parker != NULL) {
        weiri_parker_wake(parker);
    }
    weiri_parker_sleep(&self.parker, weiri_clock_wait_limit(clock, limit_ns));
    weiri_mutex_lock(mutex);
    if (self.is_woken) {
        waiters->woken--;
    } else {
        take_out(waiters, &self);
    }
}

struct weiri_parker *weiri_waiters_wake(struct weiri_waiters *waiters, size_t work, int64_t next_ns)
{
    bool is_needed = work > waiters->woken && waiters->woken < waiters->woken_max;
    bool lacks_timer = next_ns < waiters->timer_ns && waiters->woken == 0;
    if (!is_needed && !lacks_timer) {
        return NULL;
    }
    struct weiri_list *link = waiters->list.next;
    bool is_only_one = link->next == &waiters->list;
    if (waiter_at(link) == waiters->timer && !is_only_one) {
        link = link->next; /* the timer sleeps on */
    }
    return wake(waiters, waiter_at(link));
}

void weiri_waiters_wake_all(struct weiri_waiters *waiters)
{
    while (!weiri_list_is_empty(&waiters->list)) {
        weiri_parker_wake(wake(waiters, waiter_at(waiters->list.next)));
    }
}
