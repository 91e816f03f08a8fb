/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Sends of an envelope that is queued, which need no mutex, meet runs, cancellations and ends. */

#define SENDS 3

/* What the sender knows of its sends. */
static struct {
    bool is_over;     /* the other thread's call has returned */
    int last;         /* the number of the last send that was accepted */
    int after;        /* of the last one that was begun after that call */
    int refused;      /* sends */
    bool is_accepted; /* one of those begun after the call */
} sender;

static void send_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < SENDS; i++) {
        bool is_after = sender.is_over;
        enum weir_status status = send_to(world.pool, 0, 0);
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
        if (status != WEIR_OK) {
            sender.refused++;
            continue;
        }
        sender.last = world.records[0].asked;
        sender.after = is_after ? sender.last : sender.after;
        sender.is_accepted = sender.is_accepted || is_after;
    }
}

static void begin(struct weiri_thread *thread, size_t workers)
{
    memset(&sender, 0, sizeof(sender));
    world_init(workers, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(thread, "sender", send_some);
}

static void against_runs(void *arg)
{
    struct weiri_thread thread;
    (void)arg;
    begin(&thread, 2);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, <=, 1);
    weiri_thread_join(&thread);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    CHECK_INT(counts_of(world.pool).dropped, ==, 0);
    world_fini();
}

TEST(runs, "a send that joins another one is followed by a run that begins after it")
{
    explorer_must_pass(against_runs, NULL, NULL);
}

static void against_cancel(void *arg)
{
    struct weiri_thread thread;
    (void)arg;
    begin(&thread, 1);
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
    sender.is_over = true;
    weiri_thread_join(&thread);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].covered, >=, sender.after);
    world_fini();
}

TEST(cancel, "a send after a cancellation does not join what that took out")
{
    explorer_must_pass(against_cancel, NULL, NULL);
}

static void against_drain(void *arg)
{
    struct weiri_thread thread;
    (void)arg;
    begin(&thread, 1);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    sender.is_over = true;
    int covered = world.records[0].covered;
    weiri_thread_join(&thread);
    CHECK(!sender.is_accepted);
    CHECK_INT(covered, >=, sender.last);
    CHECK_INT(counts_of(world.pool).dropped, ==, 0);
    world_fini();
}

TEST(drain, "a send that joins another one while a drain begins is run, or refused")
{
    explorer_must_pass(against_drain, NULL, NULL);
}

/* What is kept stays queued. A send must not join it before the next start. */
static void against_stop(void *arg)
{
    struct weiri_thread thread;
    (void)arg;
    begin(&thread, 1);
    bool keeps = explorer_choose(2) == 0;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, keeps ? WEIR_END_KEEP : 0, WEIR_FOREVER),
                 WEIR_OK);
    sender.is_over = true;
    weiri_thread_join(&thread);
    CHECK(!sender.is_accepted);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK(!keeps || world.records[0].covered >= sender.last);
    CHECK_INT(counts_of(world.pool).dropped, <=, keeps ? 0 : 2);
    world_fini();
}

TEST(stop, "a send to a pool that has stopped is refused, also of what the pool keeps")
{
    explorer_must_pass(against_stop, NULL, NULL);
}

static void send_first_here(void *arg)
{
    (void)arg;
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
}

/* The second pool may not take an envelope for one that it has queued itself. */
static void between_pools(void *arg)
{
    struct weiri_thread thread;
    (void)arg;
    memset(&sender, 0, sizeof(sender));
    world_init(1, 0);
    world.other = new_pool(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&thread, "sender", send_first_here);
    enum weir_status status = WEIR_EBUSY;
    for (int i = 0; i < SENDS && status == WEIR_EBUSY; i++) {
        status = weir_pool_send(world.other, world.envelopes[0]);
        CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    }
    world.records[0].accepted += status == WEIR_OK;
    weiri_thread_join(&thread);
    CHECK_STATUS(weir_pool_start(world.other), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, world.records[0].accepted);
    world_fini();
}

TEST(two_pools, "a send joins nothing that another pool has queued")
{
    explorer_must_pass(between_pools, NULL, NULL);
}
