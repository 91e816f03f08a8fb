/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* An item's place and its pending time: added for a time (the earliest wins), moved, superseded,
 * cancelled, while time passes; the timer handed over between consumers that sleep, of which one
 * may have a limit of its own, or leave; and a shutdown, at any moment or once all is quiet.
 * EXACT: time passes only when nobody has anything left to do, so that what has waited must come
 * at its very time.
 *
 * check any-time END=3
 * check exact EXACT END=3
 * check one-with-a-limit LAST_LIMIT=1
 * check one-leaves CONSUMERS=3 LAST_TURNS=1 ONLY_DELAYS CALLS=2
 * check spurious ITEMS=1 SPURIOUS=1 STALE=1
 * ends few-calls CALLS=2
 * fails timer-is-not-handed-over NO_HAND_OVER LAST_LIMIT=1 BOOKS_ONLY => pending[0]!=255
 * fails timer-is-not-handed-over-seen-at-once NO_HAND_OVER LAST_LIMIT=1 => timer!=0
 * fails timer-is-not-told NO_WAKE_TIMER BOOKS_ONLY => pending[0]!=255
 * fails timer-sleeps-on TIMER_SLEEPS_ON BOOKS_ONLY EXACT => ==clock
 * fails later-wins LATER_WINS BOOKS_ONLY => owed[
 * fails early EARLY BOOKS_ONLY => owed[
 * fails no-signal NO_SIGNAL BOOKS_ONLY => owed[0]!=0
 * fails calm-while-something-waits CALM_WITH_TIMES => !(is_calm)
 * unreached Kernel -end-: it does not end
 */

#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef CALLS
#define CALLS MANY
#endif
#ifndef END
#define END 2
#endif
#ifndef LAST_LIMIT
#define LAST_LIMIT FOREVER /* of the last consumer's get */
#endif
#ifndef LAST_TURNS
#define LAST_TURNS MANY /* how many items it takes before it leaves */
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif
#ifndef STALE
#define STALE 0
#endif
#define DRAINERS 0

#include "queue.pml"
#include "calls.pml"

/* As each of their calls is a single step, and nothing is kept from one to the next, this is any
 * number of producers with so many calls in all. */
proctype Producers()
{
    STACK;
    byte time;
    byte now;
    byte delay;
    bool move;
    byte calls_left = CALLS;
    do
    :: atomic { calls_left > 0 ->
        calls_left = calls_left - (calls_left != MANY);
        ANY_ITEM(item);
        if
        :: delay = 1
        :: delay = 2
        fi;
#ifdef ONLY_DELAYS
        add_after(delay, false);
#else
        if
        :: true -> move = true
        :: true
        fi;
        if
        :: delay == 1 -> add(move) /* to now, which takes the pending time away */
        :: delay == 1 && !move && JOINS(item) -> join()
        :: true -> add_after(delay, move)
        :: delay == 1 && !move -> cancel()
        fi;
#endif
        item = 0;
        status = OK;
        time = 0;
        delay = 0;
        move = false
       }
    :: calls_left == 0 || CALLS == MANY -> break
    od
}

proctype Closer()
{
    STACK;
    byte count_shutdowns; /* the second one changes nothing */
    if
    :: true
    :: true ->
        atomic { timeout && clock == END ->
            /* Quiet at the end of time: what was added is done, also what had to wait. */
            assert(OVER_ITEMS(IS_OWED) == 0 && OVER_ITEMS(IS_PENDING) == 0)
        }
    fi;
    do
    :: atomic { count_shutdowns < 2 -> count_shutdowns++; shutdown() }
    :: count_shutdowns == 2 -> break
    od
}

init
{
    byte i;
    atomic {
        run Kernel(); /* first: a process ends only after those that were started later */
        do
        :: i < CONSUMERS - 1 -> run Consumer(CONSUMER(i), FOREVER, MANY); i++
        :: else -> break
        od;
        run Consumer(CONSUMER(i), LAST_LIMIT, LAST_TURNS);
        run Producers();
        run Clock();
        run Closer()
    }
    _nr_pr == 2;
    /* What was added is done, unless the last to take it up again left without another get. */
    assert(OVER_ITEMS(IS_OWED) == (LAST_TURNS == MANY -> 0 : len(ready)))
}
