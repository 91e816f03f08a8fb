/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define ENVELOPES 5
#include "pool_world.h"

#include "base/time.h"
#include "pool/pool.h"

/* Senders that wait for room meet runs, time, ends of the pool and each other. */

static enum weir_status send_wait(int i, int64_t timeout_ns)
{
    world.records[i].asked++;
    enum weir_status status = weir_pool_send_wait(world.pool, world.envelopes[i], timeout_ns);
    world.records[i].accepted += status == WEIR_OK;
    return status;
}

static void seek_for_ever(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_wait(1, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, <=, 1);
}

/* With one slot both senders may have to wait; whoever is first is run first. */
static void one_slot(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", seek_for_ever);
    CHECK_STATUS(send_wait(0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(send_wait(0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    world_fini();
}

TEST(one_slot, "no sender that waits for room is forgotten, and the capacity holds")
{
    explorer_must_pass(one_slot, NULL, NULL);
}

static void seek_until_ten(void *arg)
{
    (void)arg;
    enum weir_status status = send_wait(1, 10);
    CHECK(status == WEIR_OK || status == WEIR_ETIMEDOUT);
    CHECK(status == WEIR_OK || weir_clock_now(world.clock) >= 10);
}

/* The slot comes free, and the limit passes, in any order. */
static void limit(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 0 : 100), WEIR_OK);
    start_thread(&sender, "sender", seek_until_ten);
    /* The sender waits, and so its time has begun, or it has its slot. */
    bool is_counted = false;
    while (!is_counted) {
        weiri_mutex_lock(&world.pool->mutex);
        is_counted = !weiri_list_is_empty(&world.pool->senders) || world.records[1].accepted > 0;
        weiri_mutex_unlock(&world.pool->mutex);
        weiri_sync_point();
    }
    advance(NULL);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_clock_advance(world.clock, 100), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[1].runs, ==, world.records[1].accepted);
    world_fini();
}

TEST(limit, "a wait for room ends at its limit, and what it came to is what is told")
{
    explorer_must_pass(limit, NULL, NULL);
}

static void seek_to_the_end(void *arg)
{
    (void)arg;
    enum weir_status status = send_wait(1, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
}

/* A stop may keep the slot taken. */
static void ended(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    bool is_stop = explorer_choose(2) == 0;
    CHECK_STATUS(send_to(world.pool, 0, is_stop ? 100 : 0), WEIR_OK);
    start_thread(&sender, "sender", seek_to_the_end);
    CHECK_STATUS(weir_pool_end(world.pool, is_stop ? WEIR_END_STOP : WEIR_END_DRAIN,
                               is_stop && explorer_choose(2) == 0 ? WEIR_END_KEEP : 0,
                               WEIR_FOREVER),
                 WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK(is_stop || world.records[1].runs == world.records[1].accepted);
    world_fini();
}

TEST(ended, "a drain or a stop ends the wait for room, and lets in nobody after it")
{
    explorer_must_pass(ended, NULL, NULL);
}

static void send_both(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        world.records[i].asked++;
    }
    enum weir_status status = weir_pool_send_all(world.pool, world.envelopes, 2);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    CHECK_INT(counts_of(world.pool).in_flight, <=, world.pool->options.capacity);
    for (int i = 0; i < 2; i++) {
        world.records[i].accepted += status == WEIR_OK;
    }
}

static void both_or_none(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1 + explorer_choose(2));
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_both);
    CHECK_STATUS(send_wait(0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[1].runs, ==, world.records[1].accepted);
    CHECK(world.records[0].runs > 0);
    world_fini();
}

TEST(both_or_none, "of several envelopes sent at once all are run, or none")
{
    explorer_must_pass(both_or_none, NULL, NULL);
}

static void displacing(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.capacity = 1;
    options.when_full = WEIR_FULL_DROP_OLDEST;
    replace_pool(&options);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", seek_for_ever);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.runs + counts.dropped, ==,
              world.records[0].accepted + world.records[1].accepted);
    world_fini();
}

TEST(displacing,
     "what has to leave for another one was queued; all that was sent is run or dropped")
{
    explorer_must_pass(displacing, NULL, NULL);
}

/* Until so many threads wait for room. Time passes only when nobody can run. */
static void wait_for_line(size_t count)
{
    size_t length = 0;
    weiri_pool_lock(world.pool);
    while (length < count) {
        (void)weiri_cond_wait_until(&world.pool->changed, weiri_monotonic_now() + 1);
        length = 0;
        for (struct weiri_list *link = world.pool->senders.next; link != &world.pool->senders;
             link = link->next) {
            length++;
        }
    }
    weiri_pool_unlock(world.pool);
}

static struct {
    int first; /* the runs of the second envelope when the third was let in */
} line;

static void seek_second(void *arg)
{
    (void)arg;
    enum weir_status status = send_wait(1, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
}

static void seek_third(void *arg)
{
    (void)arg;
    enum weir_status status = send_wait(2, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    line.first = world.records[1].runs;
}

/* The second envelope's sender is in line before the third's comes. */
static void in_order(void *arg)
{
    struct weiri_thread second;
    struct weiri_thread third;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&second, "second", seek_second);
    wait_for_line(1);
    start_thread(&third, "third", seek_third);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    weiri_thread_join(&third);
    CHECK_INT(line.first, ==, 1);
    weiri_thread_join(&second);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    world_fini();
}

TEST(in_order, "senders are let in as they came, and nobody overtakes them when a slot is free")
{
    explorer_must_pass(in_order, NULL, NULL);
}

static void seek_slot(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_wait(1, WEIR_FOREVER), WEIR_OK);
}

/* The second envelope's sender is in line, and the first one's run ends, when the third is sent. */
static void held_slot(void *arg)
{
    struct weiri_thread second;
    struct weir_pool_options options = {
        .workers = 1, .capacity = 1, .when_full = WEIR_FULL_DROP_OLDEST};
    (void)arg;
    world_init(1, 0);
    replace_pool(&options);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&second, "second", seek_slot);
    wait_for_line(1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    while (world.records[0].runs == 0) {
        weiri_sync_point();
    }
    if (send_to(world.pool, 2, 0) == WEIR_OK) {
        CHECK_INT(world.records[1].runs + world.records[1].told, ==, 1);
    }
    weiri_thread_join(&second);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[1].runs + world.records[1].told, ==, 1);
    CHECK_INT(world.records[2].runs, ==, world.records[2].accepted);
    world_fini();
}

TEST(held_slot,
     "a slot that came free is held for the sender that waits: who would drop the oldest "
     "finds the pool full, or drops that sender's envelope once it is queued")
{
    explorer_must_pass(held_slot, NULL, NULL);
}

/* A slot that is not enough for the first in line stays free for it. */
static void seek_two(void *arg)
{
    (void)arg;
    weir_envelope *const both[] = {world.envelopes[1], world.envelopes[2]};
    world.records[1].asked++;
    world.records[2].asked++;
    CHECK_STATUS(weir_pool_send_all(world.pool, both, 2), WEIR_OK);
    world.records[1].accepted++;
    world.records[2].accepted++;
}

static void seek_again(void *arg)
{
    (void)arg;
    enum weir_status status = send_wait(0, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
}

static void two_at_once(void *arg)
{
    struct weiri_thread pair;
    struct weiri_thread single;
    struct weir_pool_options options = {0};
    (void)arg;
    world_init(1, 0);
    options.workers = 2;
    options.capacity = 2;
    options.when_full = WEIR_FULL_WAIT;
    replace_pool(&options);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&pair, "pair", seek_two);
    start_thread(&single, "single", seek_again);
    weiri_thread_join(&pair);
    weiri_thread_join(&single);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    world_fini();
}

TEST(two_at_once, "one that needs two slots gets them, and then the next in line its own")
{
    explorer_must_pass(two_at_once, NULL, NULL);
}

/* Only the first in line is woken; it wakes the next. */
static void end_with_line(void *arg)
{
    struct weiri_thread second;
    struct weiri_thread third;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 100), WEIR_OK);
    start_thread(&second, "second", seek_second);
    start_thread(&third, "third", seek_third);
    CHECK_STATUS(explorer_choose(2) == 0
                     ? weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER)
                     : weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER),
                 WEIR_OK);
    weiri_thread_join(&second);
    weiri_thread_join(&third);
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(world.records[i].ends, ==, world.records[i].accepted);
    }
    world_fini();
}

TEST(end_with_line, "the end of the pool ends the wait of all who are in line")
{
    explorer_must_pass(end_with_line, NULL, NULL);
}

static void seek_pair(void *arg)
{
    (void)arg;
    weir_envelope *const both[] = {world.envelopes[2], world.envelopes[3]};
    CHECK_STATUS(weir_pool_send_all(world.pool, both, 2), WEIR_OK);
    world.records[2].accepted++;
    world.records[3].accepted++;
}

static void seek_last(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_wait(4, WEIR_FOREVER), WEIR_OK);
}

/* The pair sleeps in two of three slots. The third one is for who came after it. */
static void next_in_line(void *arg)
{
    struct weiri_thread pair;
    struct weiri_thread last;
    struct weir_pool_options options = {0};
    (void)arg;
    world_init(1, 0);
    options.workers = 2;
    options.capacity = 3;
    options.when_full = WEIR_FULL_WAIT;
    replace_pool(&options);
    world.records[2].sleeps = true;
    world.records[3].sleeps = true;
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    start_thread(&pair, "pair", seek_pair);
    start_thread(&last, "last", seek_last);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    weiri_thread_join(&pair);
    weiri_thread_join(&last);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(next_in_line, "who is let in leaves what is free to the next in line")
{
    explorer_must_pass(next_in_line, NULL, NULL);
}

/* The worker that runs the first envelope sends another one, beyond the capacity. */
static struct {
    int envelope; /* the other one; 0: it was sent */
} own;

static void send_own(void)
{
    if (own.envelope != 0) {
        int i = own.envelope;
        own.envelope = 0;
        CHECK_STATUS(send_to(world.pool, i, 0), WEIR_OK);
    }
}

static void own_init(size_t capacity, int envelope)
{
    struct weir_pool_options options = {0};
    world_init(1, 0);
    options.workers = 2;
    options.capacity = capacity;
    options.when_full = WEIR_FULL_WAIT;
    options.flags = WEIR_POOL_TASKS_EXCEED;
    replace_pool(&options);
    own.envelope = envelope;
    world.records[envelope].sleeps = true;
    world.on_outcome = send_own;
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
}

static void seek_own(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_wait(2, WEIR_FOREVER), WEIR_OK);
}

/* The task's envelope keeps the only slot. The sender of the same envelope needs none. */
static void in_flight(void *arg)
{
    struct weiri_thread second;
    struct weiri_thread third;
    (void)arg;
    own_init(1, 2);
    start_thread(&second, "second", seek_second);
    wait_for_line(1);
    start_thread(&third, "third", seek_own);
    wait_for_line(2);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    weiri_thread_join(&third);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&second);
    CHECK_INT(world.records[1].accepted, ==, 0);
    world_fini();
}

TEST(in_flight, "a sender whose envelope another send has brought in waits no more")
{
    explorer_must_pass(in_flight, NULL, NULL);
}

/* The pair needs two slots of two. When the task has sent one of the pair, one slot is enough. */
static void fewer_slots(void *arg)
{
    struct weiri_thread pair;
    (void)arg;
    own_init(2, 1);
    start_thread(&pair, "pair", seek_two);
    wait_for_line(1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    weiri_thread_join(&pair);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(fewer_slots, "the first in line tries again when it needs fewer slots than before")
{
    explorer_must_pass(fewer_slots, NULL, NULL);
}
