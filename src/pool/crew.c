/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* How helpers are called, rest, and come; and how a run ends. */

#include "base/spin.h"
#include "base/time.h"
#include "pool/hand.h"

/* About what it costs to send a thread to sleep and wake it: waiting awake for so long costs no
 * more than sleeping would have. */
#define SPIN_NS INT64_C(20000)
#define NAP_NS INT64_C(250000)

/* Whether somebody who is not in the run could do something there. Between two runs all shares are
 * empty. */
static bool has_work_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    return !weiri_run_is_stopped(&crew->run) && weiri_crew_richest(crew) != NULL;
}

static void set_working_locked(weir_crew *crew, uint32_t working) WEIRI_REQUIRES(crew->lock)
{
    weiri_sync_point();
    atomic_store_explicit(&crew->working, working, memory_order_release);
}

/* Calling. */

static void ring_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    crew->spinner = NULL;
    crew->coming++;
    weiri_sync_point();
    (void)atomic_fetch_add_explicit(&crew->bell, 1, memory_order_release);
}

/* Takes out and lets go on the helper that went to sleep last, or where none sleeps the watch. The
 * caller ends its sleep after the unlock (weiri_parker_wake()). NULL: there is neither. */
static struct weiri_hand *take_sleeper_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    struct weiri_hand *hand = crew->watch;
    if (!weiri_list_is_empty(&crew->resting)) {
        hand = WEIRI_CONTAINER(crew->resting.next, struct weiri_hand, link);
        weiri_list_remove(&hand->link);
        hand->is_resting = false;
    } else {
        crew->watch = NULL;
    }
    if (hand != NULL) {
        crew->coming++;
        weiri_parker_set(&hand->parker);
    }
    return hand;
}

/* A helper that is to get a thread. NULL: all have one, or the system has refused one to this run.
 */
static struct weiri_hand *take_unstarted_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    for (uint32_t i = 1; i < crew->hand_count && !crew->is_refused; i++) {
        struct weiri_hand *hand = &crew->hands[i];
        if (!hand->is_started) {
            uint32_t reach = atomic_load_explicit(&crew->reach, memory_order_relaxed);
            weiri_sync_point();
            atomic_store_explicit(&crew->reach, i < reach ? reach : i + 1, memory_order_relaxed);
            hand->is_started = true;
            crew->coming++;
            return hand;
        }
    }
    return NULL;
}

/* Gives a helper its thread. Whoever has relied meanwhile on its coming does so no more: where that
 * is refused, somebody else is called. */
static void start(weir_crew *crew, struct weiri_hand *hand)
{
    if (weiri_thread_start(&hand->thread, "weir-crew", weiri_hand_main, hand) == WEIR_OK) {
        return;
    }
    weiri_crew_lock(crew);
    hand->is_started = false;
    crew->coming--;
    crew->is_refused = true;
    weiri_crew_unlock(crew);
    weiri_crew_call(crew, true);
}

/* Wakes a helper, or starts one, and lets the lock go. */
static void wake_and_unlock(weir_crew *crew) WEIRI_RELEASE(crew->lock)
{
    struct weiri_hand *hand = take_sleeper_locked(crew);
    if (hand != NULL) {
        weiri_crew_unlock(crew);
        weiri_parker_wake(&hand->parker);
        return;
    }
    hand = take_unstarted_locked(crew);
    weiri_crew_unlock(crew);
    if (hand != NULL) {
        start(crew, hand);
    }
}

void weiri_crew_call(weir_crew *crew, bool is_first)
{
    weiri_crew_lock(crew);
    bool is_needed = has_work_locked(crew);
    if (is_needed && crew->spinner != NULL) {
        ring_locked(crew);
    }
    bool is_cared_for = crew->coming > 0 || (crew->watch != NULL && !is_first);
    if (is_needed && !is_cared_for) {
        wake_and_unlock(crew);
    } else {
        weiri_crew_unlock(crew);
    }
}

/* Resting. Each of these lets the lock go meanwhile, and may return for no reason; then the helper
 * is coming. */

static void sleep_locked(weir_crew *crew, struct weiri_hand *self, int64_t limit_ns)
    WEIRI_REQUIRES(crew->lock)
{
    weiri_crew_unlock(crew);
    weiri_parker_sleep(&self->parker, limit_ns);
    weiri_crew_lock(crew);
}

static void wait_awake_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    uint32_t bell = atomic_load_explicit(&crew->bell, memory_order_relaxed);
    crew->spinner = self;
    weiri_crew_unlock(crew);
    (void)weiri_spin_while(&crew->bell, bell, SPIN_NS);
    weiri_crew_lock(crew);
    if (crew->spinner == self) {
        crew->spinner = NULL;
        crew->coming++;
    }
}

/* Naps as long as each nap sees another run begin. */
static void keep_watch_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    uint64_t number;
    crew->watch = self;
    do {
        number = crew->number;
        sleep_locked(crew, self, weiri_time_add(weiri_monotonic_now(), NAP_NS));
    } while (crew->watch == self && crew->number != number);
    if (crew->watch == self) {
        crew->watch = NULL;
        crew->coming++;
    }
}

static void sleep_long_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    weiri_list_insert_before(crew->resting.next, &self->link);
    self->is_resting = true;
    sleep_locked(crew, self, INT64_MAX);
    if (self->is_resting) {
        weiri_list_remove(&self->link);
        self->is_resting = false;
        crew->coming++;
    }
}

static void rest_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    bool has_waited = self->has_waited;
    self->has_waited = true;
    if (!has_waited && crew->may_spin && crew->spinner == NULL) {
        wait_awake_locked(crew, self);
        return;
    }
    if (weiri_parker_init(&self->parker) != WEIR_OK) {
        crew->coming++; /* looks again at once: who gave up could not be called any more */
        return;
    }
    if (crew->watch == NULL && crew->spinner != NULL && crew->hand_count > 2) {
        keep_watch_locked(crew, self);
    } else {
        sleep_long_locked(crew, self);
    }
    weiri_parker_fini(&self->parker);
}

/* Coming and going. */

/* A helper that is coming looks whether it is of use. */
static bool enter_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    crew->coming--;
    if (!has_work_locked(crew)) {
        return false;
    }
    self->has_waited = false;
    set_working_locked(crew, weiri_crew_working(crew) + 1);
    return true;
}

/* The last one to go wakes the caller. */
static void go(weir_crew *crew)
{
    weiri_crew_lock(crew);
    uint32_t working = weiri_crew_working(crew) - 1;
    crew->coming++;
    set_working_locked(crew, working);
    struct weiri_parker *caller = working == 1 ? crew->caller : NULL;
    if (caller != NULL) {
        crew->caller = NULL;
        weiri_parker_set(caller);
    }
    weiri_crew_unlock(crew);
    if (caller != NULL) {
        weiri_parker_wake(caller);
    }
}

void weiri_hand_main(void *arg)
{
    struct weiri_hand *self = arg;
    weir_crew *crew = self->crew;
    weiri_crew_lock(crew);
    while (!crew->is_ending) {
        if (enter_locked(crew, self)) {
            weiri_crew_unlock(crew);
            weiri_hand_work(self);
            go(crew);
            weiri_crew_lock(crew);
        } else {
            rest_locked(crew, self);
        }
    }
    weiri_crew_unlock(crew);
}

static void sleep_until_alone_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    struct weiri_parker parker;
    if (weiri_parker_init(&parker) != WEIR_OK) {
        return;
    }
    crew->caller = &parker;
    weiri_crew_unlock(crew);
    weiri_parker_sleep(&parker, INT64_MAX);
    weiri_crew_lock(crew);
    crew->caller = NULL;
    weiri_parker_fini(&parker);
}

int weiri_crew_end_run(weir_crew *crew)
{
    weiri_crew_lock(crew);
    uint32_t working;
    while ((working = weiri_crew_working(crew)) > 1) {
        bool has_changed = false;
        if (crew->may_spin) {
            weiri_crew_unlock(crew);
            has_changed = weiri_spin_while(&crew->working, working, SPIN_NS);
            weiri_crew_lock(crew);
        }
        if (!has_changed && weiri_crew_working(crew) > 1) {
            sleep_until_alone_locked(crew);
        }
    }
    crew->is_busy = false;
    int status = atomic_load_explicit(&crew->run.status, memory_order_relaxed);
    weiri_crew_unlock(crew);
    return status;
}

void weiri_crew_dismiss(weir_crew *crew)
{
    weiri_crew_lock(crew);
    crew->is_ending = true;
    ring_locked(crew);
    struct weiri_hand *hand;
    while ((hand = take_sleeper_locked(crew)) != NULL) {
        weiri_crew_unlock(crew);
        weiri_parker_wake(&hand->parker);
        weiri_crew_lock(crew);
    }
    weiri_crew_unlock(crew);
    for (size_t i = 1; i < crew->hand_count; i++) {
        if (crew->hands[i].is_started) {
            weiri_thread_join(&crew->hands[i].thread);
        }
    }
}
