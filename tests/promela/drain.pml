/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Drains: several threads, with or without a limit, beside consumers that queue items again by
 * done, producers that add and cancel until they are refused, and plain shutdowns, which make
 * drains return. HANGS: no consumer ends its work before all drains have returned.
 *
 * check forced-or-not
 * check twice-forced CONSUMERS=1 FORCES=2
 * check work-hangs HANGS STALE=1
 * check limit LIMIT=1 END=2 ITEMS=1 CONSUMERS=1
 * check limit-and-work-hangs LIMIT=1 END=1 HANGS
 * ends few-calls CALLS=2 ITEMS=1 CONSUMERS=1
 * fails done-does-not-tell NO_TELL BOOKS_ONLY => invalid end state
 * fails done-does-not-tell-seen-at-once NO_TELL => drainers==0
 * fails tells-the-wrong-list TELLS_WRONG_LIST BOOKS_ONLY => invalid end state
 * fails tells-one-drain-only TELLS_ONE FORCES=0 BOOKS_ONLY => invalid end state
 * fails idle-while-processing IDLE_IS_EMPTY BOOKS_ONLY => busy[0]!=0
 * fails force-does-not-tell NO_FORCE HANGS BOOKS_ONLY => invalid end state
 * fails earlier-force-counts EARLIER_FORCE BOOKS_ONLY => forced!=forced_before
 * fails calm-after-shutdown CALM_AFTER_SHUTDOWN BOOKS_ONLY => invalid end state
 * unreached Kernel -end-: it does not end
 */

#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef DRAINERS
#define DRAINERS 2
#endif
#ifndef END
#define END 0
#endif
#ifndef LIMIT
#define LIMIT FOREVER /* of the last drain */
#endif
#ifndef FORCES
#define FORCES 1 /* plain shutdowns, at most; if work hangs, when nothing else helps */
#endif
#ifndef CALLS
#define CALLS MANY
#endif
#define SPURIOUS 1
#ifndef STALE
#define STALE 0
#endif

byte draining = DRAINERS; /* threads that have not drained yet */
#ifdef HANGS
#define IS_HANDLED (draining == 0)
#endif

#include "queue.pml"
#include "calls.pml"

#define IS_BUSY(i) (busy[i] != 0)

/* As each of their calls is a single step, and nothing is kept from one to the next, this is any
 * number of producers with so many calls in all. */
proctype Producers()
{
    STACK;
    byte time;
    byte now;
    byte calls_left = CALLS;
    do
    :: atomic { calls_left > 0 ->
        calls_left = calls_left - (calls_left != MANY);
        ANY_ITEM(item);
        if
        :: true -> add(false)
        :: JOINS(item) -> join()
        :: true -> cancel()
#if END > 0
        :: true -> add(true)
        :: true -> add_after(1, false)
        :: true -> add_after(2, false)
#endif
        fi;
        item = 0;
        time = 0;
        status = OK
       }
    :: calls_left == 0 || CALLS == MANY -> break
    od
}

proctype Drainer(byte self; byte limit)
{
    STACK;
    byte forced_before;
    do
    :: atomic {
        status == OK || (status == ASLEEP && CAN_GO_ON(self, limit)) ->
        forced_before = (status == OK -> forced : forced_before);
        drain(self, limit);
        if
        :: status == LIES_DOWN
        :: status == OK ->
            assert(OVER_ITEMS(IS_OWED) + OVER_ITEMS(IS_BUSY) == 0); /* drained */
            break
        :: status == ECANCELED ->
            assert(forced != forced_before); /* forced, and not before it began */
            break
#if END > 0
        :: status == ETIMEDOUT ->
            assert(clock >= limit); /* its time is up */
            break
#endif
        fi
       }
    :: atomic { status == LIES_DOWN -> park(self); status = ASLEEP }
    od;
    draining--
}

proctype Forcer()
{
    STACK;
    byte forces = FORCES;
    do
#ifdef HANGS
    :: atomic { timeout && draining > 0 && forces > 0 -> forces--; shutdown() }
    :: draining == 0 -> break
#else
    :: atomic { forces > 0 -> forces--; shutdown() }
    :: true -> break
#endif
    od
}

init
{
    byte i;
    atomic {
        run Kernel(); /* first: a process ends only after those that were started later */
        do
        :: i < CONSUMERS -> run Consumer(CONSUMER(i), FOREVER, MANY); i++
        :: else -> break
        od;
        i = 1;
        do
        :: i < DRAINERS -> run Drainer(DRAINER(i), FOREVER); i++
        :: else -> break
        od;
        run Drainer(DRAINER(0), LIMIT);
        run Producers();
#if END > 0
        run Clock();
#endif
        run Forcer()
    }
    _nr_pr == 2;
    assert(OVER_ITEMS(IS_OWED) == 0)
}
