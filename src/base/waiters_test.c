/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/waiters.h"

#include <weir/duration.h>

#include "base/time.h"
#include "support/harness.h"

#define SLEEPERS 3

/* A mutex, its waiters and the threads that sleep. */
struct place {
    struct weiri_mutex mutex;
    struct weiri_waiters waiters;
    weir_clock *clock;
    int woken[SLEEPERS]; /* the sleepers in the order in which they came back */
    int woken_count;
};

struct sleeper {
    struct place *place;
    struct test_thread *thread;
    int number;
    int64_t next_ns;
    int64_t limit_ns;
    struct weiri_parker *parker;
};

static void place_init(struct place *place, size_t woken_max)
{
    weiri_mutex_init(&place->mutex);
    weiri_waiters_init(&place->waiters, woken_max);
    place->clock = weir_clock_monotonic();
    place->woken_count = 0;
}

static void place_fini(struct place *place)
{
    CHECK(weiri_waiters_is_empty(&place->waiters));
    CHECK_INT(place->waiters.woken, ==, 0);
    CHECK(place->waiters.timer == NULL && place->waiters.timer_ns == INT64_MAX);
    weiri_mutex_fini(&place->mutex);
}

static void sleep_once(void *opaque)
{
    struct sleeper *self = opaque;
    struct place *place = self->place;
    weiri_mutex_lock(&place->mutex);
    weiri_waiters_sleep(&place->waiters, &place->mutex, place->clock, self->next_ns, self->limit_ns,
                        self->parker);
    weiri_mutex_assert_held(&place->mutex);
    place->woken[place->woken_count++] = self->number;
    weiri_mutex_unlock(&place->mutex);
}

static void start_sleeper(struct sleeper *sleeper, struct place *place, int number, int64_t next_ns)
{
    *sleeper = (struct sleeper){place, NULL, number, next_ns, WEIR_FOREVER, NULL};
    sleeper->thread = test_start(sleep_once, sleeper);
    test_wait_asleep(sleeper->thread);
}

/* Starts all of them, each asleep before the next one comes; none has a time to wait for. */
static void start_all(struct sleeper *sleepers, struct place *place)
{
    for (int i = 0; i < SLEEPERS; i++) {
        start_sleeper(&sleepers[i], place, i, INT64_MAX);
    }
}

/* Does the same as an unlock of the owner. */
static bool settle(struct place *place, size_t work, int64_t next_ns)
{
    struct weiri_parker *parker = NULL;
    weiri_mutex_lock(&place->mutex);
    if (!weiri_waiters_is_empty(&place->waiters)) {
        parker = weiri_waiters_wake(&place->waiters, work, next_ns);
    }
    weiri_mutex_unlock(&place->mutex);
    if (parker != NULL) {
        weiri_parker_wake(parker);
    }
    return parker != NULL;
}

static void wake_all(struct place *place)
{
    weiri_mutex_lock(&place->mutex);
    weiri_waiters_wake_all(&place->waiters);
    weiri_mutex_unlock(&place->mutex);
}

TEST(latest_first, "the waiter that came last is woken first")
{
    struct place place;
    struct sleeper sleepers[SLEEPERS];
    place_init(&place, SLEEPERS);
    start_all(sleepers, &place);
    for (int i = SLEEPERS - 1; i >= 0; i--) {
        CHECK(settle(&place, 1, INT64_MAX));
        test_join(sleepers[i].thread);
        CHECK_INT(place.woken[place.woken_count - 1], ==, i);
    }
    place_fini(&place);
}

static void join_all(struct sleeper *sleepers)
{
    for (int i = 0; i < SLEEPERS; i++) {
        test_join(sleepers[i].thread);
    }
}

/* Takes out as many as the work needs, with the mutex held: none of them can come back meanwhile.
 * Returns how many there were, and ends their sleep. */
static size_t wake_for(struct place *place, size_t work)
{
    struct weiri_parker *parkers[SLEEPERS];
    size_t count = 0;
    weiri_mutex_lock(&place->mutex);
    while (!weiri_waiters_is_empty(&place->waiters)) {
        parkers[count] = weiri_waiters_wake(&place->waiters, work, INT64_MAX);
        if (parkers[count] == NULL) {
            break;
        }
        count++;
        CHECK_INT(place->waiters.woken, ==, count);
    }
    weiri_mutex_unlock(&place->mutex);
    for (size_t i = 0; i < count; i++) {
        weiri_parker_wake(parkers[i]);
    }
    return count;
}

TEST(as_many_as_needed, "no waiter is woken without work, nor for work that others come for")
{
    for (size_t work = 0; work <= SLEEPERS + 1; work++) {
        struct place place;
        struct sleeper sleepers[SLEEPERS];
        place_init(&place, SIZE_MAX);
        start_all(sleepers, &place);
        CHECK_INT(wake_for(&place, work), ==, work < SLEEPERS ? work : SLEEPERS);
        wake_all(&place);
        join_all(sleepers);
        place_fini(&place);
    }
}

TEST(woken_max, "of much work only so many are woken at once; each that came back makes way")
{
    struct place place;
    struct sleeper sleepers[SLEEPERS];
    place_init(&place, 2);
    start_all(sleepers, &place);
    CHECK_INT(wake_for(&place, 100), ==, 2);
    test_join(sleepers[1].thread);
    test_join(sleepers[2].thread);
    CHECK_INT(wake_for(&place, 100), ==, 1);
    test_join(sleepers[0].thread);
    place_fini(&place);
}

TEST(all, "all wake at once, also more than are woken for work")
{
    struct place place;
    struct sleeper sleepers[SLEEPERS];
    place_init(&place, 1);
    start_all(sleepers, &place);
    wake_all(&place);
    join_all(sleepers);
    CHECK_INT(place.woken_count, ==, SLEEPERS);
    place_fini(&place);
    place_init(&place, 1);
    wake_all(&place); /* there is no waiter */
    place_fini(&place);
}

TEST(timer_wakes, "the timer wakes up by itself at the time, and not before; the others sleep on")
{
    struct place place;
    struct sleeper other;
    place_init(&place, 1);
    start_sleeper(&other, &place, 1, INT64_MAX);
    int64_t time_ns = weiri_monotonic_now() + WEIR_MS(2);
    weiri_mutex_lock(&place.mutex);
    while (weiri_monotonic_now() < time_ns) {
        weiri_waiters_sleep(&place.waiters, &place.mutex, place.clock, time_ns, WEIR_FOREVER, NULL);
        CHECK(place.waiters.timer == NULL && place.waiters.timer_ns == INT64_MAX);
    }
    weiri_mutex_unlock(&place.mutex);
    CHECK(!test_has_ended(other.thread));
    wake_all(&place);
    test_join(other.thread);
    place_fini(&place);
}

TEST(limit, "a limit ends a sleep whether the waiter is the timer or not")
{
    struct place place;
    place_init(&place, 1);
    for (int i = 0; i < 2; i++) {
        int64_t limit_ns = weiri_monotonic_now() + WEIR_MS(2);
        int64_t next_ns = i == 0 ? INT64_MAX : limit_ns + WEIR_SECONDS(3600);
        weiri_mutex_lock(&place.mutex);
        while (weiri_monotonic_now() < limit_ns) {
            weiri_waiters_sleep(&place.waiters, &place.mutex, place.clock, next_ns, limit_ns, NULL);
        }
        weiri_mutex_unlock(&place.mutex);
    }
    place_fini(&place);
}

#define LATE (INT64_MAX / 2) /* of the monotonic clock: never */

/* The time for which one of the waiters sleeps; INT64_MAX: none does. */
static int64_t timer_of(struct place *place)
{
    weiri_mutex_lock(&place->mutex);
    int64_t time_ns = place->waiters.timer_ns;
    CHECK((place->waiters.timer == NULL) == (time_ns == INT64_MAX));
    weiri_mutex_unlock(&place->mutex);
    return time_ns;
}

TEST(earlier_time, "an earlier time than the timer's wakes another waiter, which takes over; the "
                   "same time or a later one wakes none")
{
    struct place place;
    struct sleeper sleepers[SLEEPERS];
    place_init(&place, 1);
    start_sleeper(&sleepers[0], &place, 0, LATE);
    start_sleeper(&sleepers[1], &place, 1, LATE);
    CHECK_INT(timer_of(&place), ==, LATE);
    CHECK(!settle(&place, 0, LATE));
    CHECK(!settle(&place, 0, LATE + 1));
    CHECK(settle(&place, 0, LATE - 1));
    test_join(sleepers[1].thread); /* the timer, which came first, sleeps on */
    start_sleeper(&sleepers[2], &place, 2, LATE - 1);
    CHECK_INT(timer_of(&place), ==, LATE - 1);
    wake_all(&place);
    test_join(sleepers[0].thread);
    test_join(sleepers[2].thread);
    place_fini(&place);
}

TEST(timer_sleeps_on, "work wakes the timer only where it is the only waiter")
{
    struct place place;
    struct sleeper sleepers[2];
    place_init(&place, 2);
    start_sleeper(&sleepers[0], &place, 0, INT64_MAX);
    start_sleeper(&sleepers[1], &place, 1, LATE); /* it came last */
    CHECK(settle(&place, 1, LATE));
    test_join(sleepers[0].thread);
    CHECK_INT(timer_of(&place), ==, LATE);
    CHECK(settle(&place, 1, LATE));
    test_join(sleepers[1].thread);
    CHECK_INT(timer_of(&place), ==, INT64_MAX);
    place_fini(&place);
}

TEST(timer_lost, "a pending time without a timer wakes one waiter, and none while one is on its "
                 "way")
{
    struct place place;
    struct sleeper sleepers[SLEEPERS];
    place_init(&place, SIZE_MAX);
    start_all(sleepers, &place);
    weiri_mutex_lock(&place.mutex);
    struct weiri_parker *parker = weiri_waiters_wake(&place.waiters, 0, LATE);
    CHECK(parker != NULL);
    CHECK(weiri_waiters_wake(&place.waiters, 0, LATE) == NULL);
    weiri_mutex_unlock(&place.mutex);
    weiri_parker_wake(parker);
    test_join(sleepers[SLEEPERS - 1].thread);
    CHECK(settle(&place, 0, LATE));
    test_join(sleepers[SLEEPERS - 2].thread);
    wake_all(&place);
    test_join(sleepers[0].thread);
    place_fini(&place);
}

TEST(wakes_another, "a waiter that goes to sleep ends the sleep of another one")
{
    struct place place;
    struct sleeper sleepers[2];
    place_init(&place, 1);
    start_sleeper(&sleepers[0], &place, 0, INT64_MAX);
    weiri_mutex_lock(&place.mutex);
    struct weiri_parker *parker = weiri_waiters_wake(&place.waiters, 1, INT64_MAX);
    weiri_mutex_unlock(&place.mutex);
    CHECK(parker != NULL);
    sleepers[1] = (struct sleeper){&place, NULL, 1, INT64_MAX, WEIR_FOREVER, parker};
    sleepers[1].thread = test_start(sleep_once, &sleepers[1]);
    test_join(sleepers[0].thread);
    test_wait_asleep(sleepers[1].thread);
    wake_all(&place);
    test_join(sleepers[1].thread);
    place_fini(&place);
}

TEST(manual_clock, "on a manual clock no time ends a sleep: the owner wakes all at each step")
{
    struct place place;
    struct sleeper sleeper;
    place_init(&place, 1);
    CHECK_STATUS(weir_clock_manual_new(5, test_allocator(), &place.clock), WEIR_OK);
    start_sleeper(&sleeper, &place, 0, 5);
    CHECK(!test_has_ended(sleeper.thread));
    wake_all(&place);
    test_join(sleeper.thread);
    weir_clock_free(place.clock);
    place_fini(&place);
}
