/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* An item's place: idle, queued, processing, dirty. Producers add and cancel, one by one and
 * all items at once; consumers get and say done, in two calls or one, and once more when it was
 * done already; somebody shuts down, at any moment or once all is quiet. However many calls there
 * are: the checks are of all states that any number of them leads to.
 *
 * check two-consumers
 * check three-items ITEMS=3
 * check one-leaves CONSUMERS=3 LAST_TURNS=1
 * check one-does-not-sleep LAST_LIMIT=AT_ONCE
 * check two-calls-at-once CALLS_AT_ONCE=2 CONSUMERS=3
 * ends few-calls CALLS=3 STALE=1
 * fails no-signal NO_SIGNAL BOOKS_ONLY => owed[0]!=0
 * fails no-signal-seen-at-once NO_SIGNAL => sleepers==0
 * fails only-the-first-item-calls CALLS_ONE_AT_MOST BOOKS_ONLY => owed[
 * fails no-call-at-done NO_CALL_AT_DONE BOOKS_ONLY LAST_TURNS=1 => owed[0]!=0
 * fails no-call-at-get NO_CALL_AT_GET => sleepers==0
 * fails woken-does-not-look IF_WAIT => q_len(ready)>0
 * fails woken-before-asleep NO_SET => invalid end state
 * fails processing-is-forgotten FORGETS_PROCESSING BOOKS_ONLY => status==5
 * fails dirty-is-cleared-late LATE_CLEAR BOOKS_ONLY => owed[
 * fails done-without-ticket NO_TICKET BOOKS_ONLY => status==5
 * fails joins-while-processing JOINS_PROCESSING BOOKS_ONLY => owed[
 * fails calm-while-somebody-sleeps CALM_WITH_SLEEPERS BOOKS_ONLY => owed[0]!=0
 * fails calm-while-somebody-sleeps-seen-at-once CALM_WITH_SLEEPERS => !(is_calm)
 * fails calm-after-shutdown CALM_AFTER_SHUTDOWN BOOKS_ONLY => owed[
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
#ifndef LAST_LIMIT
#define LAST_LIMIT FOREVER /* of the last consumer's get */
#endif
#ifndef LAST_TURNS
#define LAST_TURNS MANY /* how many items it takes before it leaves */
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif
#ifndef STALE
#define STALE MANY
#endif
#define DRAINERS 0
#define END 0

#include "queue.pml"
#include "calls.pml"

/* As each of their calls is a single step, and nothing is kept from one to the next, this is any
 * number of producers with so many calls in all. */
proctype Producers()
{
    STACK;
    byte calls_left = CALLS;
    do
    :: atomic { calls_left > 0 ->
        calls_left = calls_left - (calls_left != MANY);
        ANY_ITEM(item);
        if
        :: true -> add(false)
        :: JOINS(item) -> join()
        :: true -> cancel()
        :: true -> add_batch()
        fi;
        item = 0;
        status = OK
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
    :: true -> atomic { timeout -> assert(OVER_ITEMS(IS_OWED) == 0) } /* quiet: no add is lost */
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
        run Closer()
    }
    _nr_pr == 2;
    /* What was added is done, unless the last to take it up again left without another get. */
    assert(OVER_ITEMS(IS_OWED) == (LAST_TURNS == MANY -> 0 : len(ready)))
}
