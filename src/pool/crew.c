/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* How hands are called, come and rest. */

#include "pool/hand.h"

#include "base/panic.h"
#include "base/time.h"

/* About what it costs to send a thread to sleep and wake it: waiting awake for so long costs no
 * more than sleeping would have. */
#define SPIN_NS INT64_C(20000)
/* After so many waits in vain in a row, as where other programs want the processors too, a hand
 * waits awake only every so many times, to find out whether it is still in vain. */
#define VAIN_MAX 4
#define VAIN_PROBE 16
#define NAP_NS INT64_C(250000)

static bool has_work_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    return !weiri_run_is_stopped(&crew->run) &&
           (weiri_share_left(&self->share) > 0 || weiri_hand_next_rich(self) != NULL);
}

/* As many are at work as are of use while no piece blocks. */
static bool is_enough_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    return crew->working >= crew->run.eager && !crew->is_long;
}

static struct weiri_hand *caller_of(weir_crew *crew)
{
    return &crew->hands[0];
}

/* A hand rests awake, then in naps, then asleep; a call or work begins this anew. */
static void begin_anew(struct weiri_hand *hand)
{
    hand->has_waited = false;
    hand->napped = 0;
}

/* Calling. */

/* From here on the hand is coming. */
static void end_rest_locked(weir_crew *crew, struct weiri_hand *hand) WEIRI_REQUIRES(crew->lock)
{
    hand->rest = WEIRI_NOT_RESTING;
    crew->spinner = crew->spinner == hand ? NULL : crew->spinner;
    crew->watch = crew->watch == hand ? NULL : crew->watch;
    weiri_list_remove(&hand->link);
    crew->coming++;
}

/* Lets a resting hand go on, and the lock go. */
static void call_and_unlock(weir_crew *crew, struct weiri_hand *hand) WEIRI_RELEASE(crew->lock)
{
    bool is_asleep = hand->rest != WEIRI_AWAKE;
    end_rest_locked(crew, hand);
    begin_anew(hand);
    hand->vain = is_asleep ? hand->vain : 0;
    weiri_parker_set(&hand->parker);
    weiri_crew_unlock(crew);
    if (is_asleep) {
        weiri_parker_wake(&hand->parker);
    }
}

/* Whom to call: the caller, who has nothing else to do; who is awake, for that costs no system
 * call; the watch last. NULL: nobody rests. */
static struct weiri_hand *resting_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    if (caller_of(crew)->rest != WEIRI_NOT_RESTING) {
        return caller_of(crew);
    }
    if (crew->spinner != NULL) {
        return crew->spinner;
    }
    if (!weiri_list_is_empty(&crew->asleep)) {
        return WEIRI_CONTAINER(crew->asleep.next, struct weiri_hand, link);
    }
    return crew->watch;
}

/* A helper without a thread. NULL: all have one, or the system has refused one to this run. */
static struct weiri_hand *unstarted_locked(weir_crew *crew) WEIRI_REQUIRES(crew->lock)
{
    for (size_t i = 1; i < crew->hand_count && !crew->is_refused; i++) {
        if (!crew->hands[i].is_started) {
            return &crew->hands[i];
        }
    }
    return NULL;
}

/* Gives a helper its thread, and lets the lock go meanwhile. False: the system refuses. */
static bool start_locked(weir_crew *crew, struct weiri_hand *hand) WEIRI_REQUIRES(crew->lock)
{
    uint32_t reach = (uint32_t)(hand - crew->hands) + 1;
    if (reach > atomic_load_explicit(&crew->reach, memory_order_relaxed)) {
        weiri_sync_point();
        atomic_store_explicit(&crew->reach, reach, memory_order_relaxed);
    }
    hand->is_started = true;
    crew->coming++;
    weiri_crew_unlock(crew);
    enum weir_status status = weiri_thread_start(&hand->thread, "weir-crew", weiri_hand_main, hand);
    weiri_crew_lock(crew);
    if (status != WEIR_OK) {
        hand->is_started = false;
        crew->coming--;
        crew->is_refused = true;
    }
    return status == WEIR_OK;
}

/* Whether there is something left to do that nobody is about to find by himself. */
static bool is_call_due_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    bool is_watched = crew->watch != NULL && is_enough_locked(crew);
    return crew->coming == 0 && crew->working < crew->hand_count && !is_watched &&
           has_work_locked(crew, self);
}

void weiri_crew_call(struct weiri_hand *self)
{
    weir_crew *crew = self->crew;
    weiri_crew_lock(crew);
    while (is_call_due_locked(crew, self)) {
        struct weiri_hand *hand = resting_locked(crew);
        if (hand != NULL) {
            call_and_unlock(crew, hand);
            return;
        }
        hand = unstarted_locked(crew);
        /* Who relied on a thread that was refused does so no more: look again. */
        if (hand == NULL || start_locked(crew, hand)) {
            break;
        }
    }
    weiri_crew_unlock(crew);
}

/* Resting. */

static enum weiri_rest choose_rest_locked(weir_crew *crew, struct weiri_hand *self)
    WEIRI_REQUIRES(crew->lock)
{
    bool is_caller = self == caller_of(crew);
    bool is_promising = self->vain < VAIN_MAX || self->vain % VAIN_PROBE == 0;
    bool may_spin = crew->processors > 1 && !self->has_waited && is_promising;
    if (may_spin && (is_caller || (crew->spinner == NULL && crew->working < crew->run.eager))) {
        return WEIRI_AWAKE;
    }
    /* Where enough are at work on what is left, there is a watch, or this hand becomes it: had its
     * last nap been in this run, the run would be long. */
    bool may_nap = !is_caller && crew->watch == NULL && crew->hand_count > crew->run.eager;
    return may_nap && self->napped != crew->number ? WEIRI_NAP : WEIRI_ASLEEP;
}

static void begin_rest_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    self->rest = choose_rest_locked(crew, self);
    self->vain += self->has_waited ? 0 : 1;
    self->has_waited = true;
    if (self == caller_of(crew)) {
        return;
    }
    if (self->rest == WEIRI_AWAKE) {
        crew->spinner = self;
    } else if (self->rest == WEIRI_NAP) {
        crew->watch = self;
        self->napped = crew->number;
    } else {
        weiri_list_insert_before(crew->asleep.next, &self->link);
    }
}

/* Lets the lock go meanwhile, and may return for no reason; then the hand is coming. */
static void rest_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    if (weiri_parker_init(&self->parker) != WEIR_OK) {
        crew->coming++; /* who gave up could not be called any more */
        return;
    }
    begin_rest_locked(crew, self);
    enum weiri_rest rest = self->rest;
    weiri_crew_unlock(crew);
    if (rest == WEIRI_AWAKE) {
        weiri_parker_spin(&self->parker, SPIN_NS);
    } else if (rest == WEIRI_NAP) {
        weiri_parker_sleep(&self->parker, weiri_time_add(weiri_monotonic_now(), NAP_NS));
    } else {
        weiri_parker_sleep(&self->parker, INT64_MAX);
    }
    weiri_crew_lock(crew);
    if (self->rest != WEIRI_NOT_RESTING) {
        end_rest_locked(crew, self);
        bool was_in_run = rest == WEIRI_NAP && self->napped == crew->number;
        crew->is_long = crew->is_long || was_in_run;
    }
    weiri_parker_fini(&self->parker);
}

/* Coming and going. */

static void work_locked(weir_crew *crew, struct weiri_hand *self) WEIRI_REQUIRES(crew->lock)
{
    crew->working++;
    weiri_crew_unlock(crew);
    weiri_hand_work(self);
    weiri_crew_lock(crew);
    crew->working--;
    begin_anew(self);
}

void weiri_hand_main(void *arg)
{
    struct weiri_hand *self = arg;
    weir_crew *crew = self->crew;
    weiri_crew_lock(crew);
    while (!crew->is_ending) {
        crew->coming--;
        if (is_enough_locked(crew) || !has_work_locked(crew, self)) {
            rest_locked(crew, self);
            continue;
        }
        work_locked(crew, self);
        crew->coming++;
        if (crew->working == 0 && caller_of(crew)->rest != WEIRI_NOT_RESTING) {
            call_and_unlock(crew, caller_of(crew));
            weiri_crew_lock(crew);
        }
    }
    weiri_crew_unlock(crew);
}

int weiri_crew_finish(weir_crew *crew)
{
    struct weiri_hand *self = caller_of(crew);
    weiri_crew_lock(crew);
    crew->working--;
    begin_anew(self);
    for (;;) {
        /* With nobody at work no chunk is between two shares, so that none is overlooked. */
        if (has_work_locked(crew, self)) {
            work_locked(crew, self);
        } else if (crew->working > 0) {
            rest_locked(crew, self);
            crew->coming--;
        } else {
            break;
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
    WEIRI_ASSERT(!crew->is_busy && "a crew is not freed during its run");
    crew->is_ending = true;
    struct weiri_hand *hand;
    while ((hand = resting_locked(crew)) != NULL) {
        call_and_unlock(crew, hand);
        weiri_crew_lock(crew);
    }
    weiri_crew_unlock(crew);
    for (size_t i = 1; i < crew->hand_count; i++) {
        if (crew->hands[i].is_started) {
            weiri_thread_join(&crew->hands[i].thread);
        }
    }
}
