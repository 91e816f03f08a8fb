/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* The pool's ended function is told of each flight once, with the right reason, and never from
 * within itself. */

#define TELLERS_MAX 8

static struct {
    struct weir_ended last[ENVELOPES];
    uintptr_t tellers[TELLERS_MAX]; /* threads in the function; 0: none */
    int again;                      /* how often the function still sends the envelope again */
    bool stops;                     /* it stops the pool */
    bool cancels;                   /* it cancels the other envelope */
    bool plays;                     /* it sends both, by turns, until one is refused */
} books;

static int number_of(const struct weir_ended *ended)
{
    return (int)((struct record *)weir_envelope_payload(ended->envelope) - world.records);
}

static void check_reason(const struct weir_ended *ended)
{
    const struct record *record = &world.records[number_of(ended)];
    CHECK(ended->pool == world.pool);
    CHECK_INT(ended->runs, <=, 1); /* no send joins another one here */
    switch (ended->reason) {
    case WEIR_ENDED_DONE:
        CHECK(ended->dropped == 0 && ended->runs > 0 && ended->status == WEIR_OK);
        break;
    case WEIR_ENDED_DISPLACED:
        CHECK(ended->dropped > 0 && ended->runs == 0 && ended->status == WEIR_ECANCELED);
        break;
    case WEIR_ENDED_CANCELED:
        CHECK(ended->dropped > 0 || ended->status == WEIR_ECANCELED || record->is_canceled);
        break;
    case WEIR_ENDED_STOPPED:
        CHECK(ended->dropped > 0);
        break;
    default:
        CHECK_INT(ended->reason, ==, 0); /* not here */
    }
}

static void stop_without_wait(void)
{
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
}

static void act(int number)
{
    if (books.again > 0) {
        books.again--;
        enum weir_status status = send_to(world.pool, number, 0);
        CHECK(status == WEIR_OK || status == WEIR_EFULL || status == WEIR_ESHUTDOWN);
    }
    if (books.plays) {
        books.plays = false;
        int turn = 0;
        while (turn < 4 && send_to(world.pool, (number + ++turn) % 2, 0) == WEIR_OK) {
        }
    }
    if (books.stops) {
        books.stops = false;
        stop_without_wait();
    }
    if (books.cancels) {
        books.cancels = false;
        CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[1 - number], 0, NULL), WEIR_OK);
    }
}

static void note(const struct weir_ended *ended, void *arg)
{
    int number = number_of(ended);
    struct record *record = &world.records[number];
    int free = TELLERS_MAX;
    (void)arg;
    for (int i = 0; i < TELLERS_MAX; i++) {
        CHECK(books.tellers[i] != weiri_thread_current());
        free = books.tellers[i] == 0 ? i : free;
    }
    books.tellers[free] = weiri_thread_current();
    check_reason(ended);
    weiri_sync_point();
    act(number);
    CHECK_INT(record->released, ==, 0);
    books.last[number] = *ended;
    record->ends++;
    books.tellers[free] = 0;
}

static void ended_world_init(size_t workers, size_t capacity, uint32_t when_full)
{
    struct weir_pool_options options = {0};
    memset(&books, 0, sizeof(books));
    world_init(1, 0);
    options.workers = workers;
    options.capacity = capacity;
    options.when_full = when_full;
    options.ended = note;
    replace_pool(&options);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
}

/* After the pool has ended, where no send joined another one: each began a flight. */
static void check_flights(void)
{
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(world.records[i].ends, ==, world.records[i].accepted);
    }
}

static void cancel_first(void *arg)
{
    (void)arg;
    world.records[0].is_canceled = true;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
}

/* The first task sleeps until it is cancelled or stopped. */
static void stop_against_cancel(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    ended_world_init(2, 0, WEIR_FULL_REFUSE);
    world.records[0].sleeps = true;
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 0 : 10), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    start_thread(&canceler, "canceler", cancel_first);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&canceler);
    check_flights();
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(books.last[i].runs, ==, world.records[i].runs);
        CHECK_INT(books.last[i].runs + books.last[i].dropped, ==, 1);
    }
    CHECK_INT(counts_of(world.pool).dropped, ==, books.last[0].dropped + books.last[1].dropped);
    world_fini();
}

TEST(stop_cancel, "a stop and a cancellation that meet end each flight once, for one of the two")
{
    explorer_must_pass(stop_against_cancel, NULL, NULL);
}

static void send_second(void *arg)
{
    (void)arg;
    enum weir_status status = send_to(world.pool, 1, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL || status == WEIR_ESHUTDOWN);
}

static void displacing(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_DROP_OLDEST);
    start_thread(&sender, "sender", send_second);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    bool is_stop = explorer_choose(2) == 0;
    CHECK_STATUS(is_stop ? weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER)
                         : weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER),
                 WEIR_OK);
    weiri_thread_join(&sender);
    check_flights();
    world_fini();
}

TEST(displacing,
     "of two that displace each other, while the pool ends, each flight is told of once")
{
    explorer_must_pass(displacing, NULL, NULL);
}

/* What is displaced comes back from the function, and displaces what displaced it. */
static void displaced_comes_back(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_DROP_OLDEST);
    books.again = 4;
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    start_thread(&sender, "sender", send_second);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    if (explorer_choose(2) == 0) {
        CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
    }
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_flights();
    world_fini();
}

TEST(comes_back, "a function that sends again what was displaced is not called within itself")
{
    explorer_must_pass(displaced_comes_back, NULL, NULL);
}

static void stop_first(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
}

static void done_comes_back(void *arg)
{
    struct weiri_thread stopper;
    (void)arg;
    ended_world_init(2, 1, WEIR_FULL_REFUSE);
    books.again = 2;
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&stopper, "stopper", stop_first);
    weiri_thread_join(&stopper);
    check_flights();
    world_fini();
}

TEST(send_again, "an envelope that the function sends again begins another flight, told of once")
{
    explorer_must_pass(done_comes_back, NULL, NULL);
}

/* The envelope is sent again after it ended, before that was told or after. */
static void sent_before_told(void *arg)
{
    (void)arg;
    ended_world_init(2, 1, WEIR_FULL_REFUSE);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        if (counts_of(world.pool).in_flight == 0) {
            CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
        }
    }
    give_up(0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].released, ==, 1);
    check_flights();
    world_fini();
}

TEST(before_told, "a flight that begins and ends before the last one was told of is told of, too")
{
    explorer_must_pass(sent_before_told, NULL, NULL);
}

/* Another pool may have the envelope only when its end has been told. */
static void to_another_pool(void *arg)
{
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_REFUSE);
    world.other = new_pool(1, 0);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    for (int i = 0; i < 4; i++) {
        enum weir_status status = weir_pool_send(world.other, world.envelopes[0]);
        CHECK(status == WEIR_OK || status == WEIR_EBUSY);
        CHECK(status == WEIR_EBUSY || world.records[0].ends == 1);
        if (status == WEIR_OK) {
            world.records[0].asked++;
            world.records[0].accepted++;
            break;
        }
    }
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.other), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, world.records[0].accepted);
    check_flights();
    world_fini();
}

TEST(other_pool, "an envelope is free for another pool when its end has been told")
{
    explorer_must_pass(to_another_pool, NULL, NULL);
}

/* The function of the end that comes first ends the other flight. */
static void ends_another(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    ended_world_init(1, 0, WEIR_FULL_REFUSE);
    bool is_stop = explorer_choose(2) == 0;
    books.stops = is_stop;
    books.cancels = !is_stop;
    start_thread(&sender, "sender", send_second);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&sender);
    status = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ECANCELED);
    check_flights();
    world_fini();
}

TEST(ends_another, "a function that cancels or stops is told of what that ends after its return")
{
    explorer_must_pass(ends_another, NULL, NULL);
}

static void send_to_other(void *arg)
{
    enum weir_status *status = arg;
    *status = weir_pool_send(world.other, world.envelopes[0]);
    CHECK(*status == WEIR_OK || *status == WEIR_EBUSY);
}

/* Two pools want the first envelope. The one that is full drops the second one only for it. */
static void refused_for_another(void *arg)
{
    struct weiri_thread sender;
    enum weir_status to_other;
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_DROP_OLDEST);
    world.other = new_pool(1, 0);
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&sender, "sender", send_to_other, &to_other), WEIR_OK);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    CHECK_INT(world.records[1].ends, ==, status == WEIR_OK);
    weiri_thread_join(&sender);
    CHECK(status == WEIR_OK || to_other == WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(refused, "a send that is refused has displaced nothing")
{
    explorer_must_pass(refused_for_another, NULL, NULL);
}

/* What was refused, and what has ended, is free for another pool. */
static void refused_by_full(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_REFUSE);
    world.other = new_pool(1, 0);
    start_thread(&sender, "sender", send_second);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_STATUS(weir_pool_send(world.other, world.envelopes[i]), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(full_other, "an envelope that a full pool refused, or has told of, may be sent to another one")
{
    explorer_must_pass(refused_by_full, NULL, NULL);
}

/* The function has each envelope displaced by the other one, twice. */
static void displaced_twice(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    ended_world_init(1, 1, WEIR_FULL_DROP_OLDEST);
    books.plays = true;
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&canceler, "canceler", cancel_first);
    CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
    weiri_thread_join(&canceler);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_flights();
    world_fini();
}

TEST(twice, "of an envelope that was displaced twice before it was told of, that is told twice")
{
    explorer_must_pass(displaced_twice, NULL, NULL);
}
