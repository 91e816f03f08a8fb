/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The queue of src/queue as it is, for the models that include this: one inline a function, under
 * the function's name and with its file. docs/internals/models.md says how to read it.
 *
 * A critical section of the queue's lock is one atomic sequence that ends in unlock(): that the
 * lock excludes, and loses nobody who waits for it, is shown by lock.pml. What a thread does
 * without the lock are steps of their own: each call that ends a sleep, falling asleep, and an
 * add that joins an earlier one (that it may, lock.pml shows too).
 *
 * Left out: memory that runs out, keys of bytes, priorities, metrics, the event loop's descriptor.
 * Which one of several sleepers is woken is left open, where the code takes the latest; so is
 * the order of system calls. No sleep has the bound of base/wait.h: a lost wake-up has to show. An
 * end by that bound is an end for no reason (SPURIOUS).
 *
 * The including model says how much there is: ITEMS (1 to 3), CONSUMERS (1 to 3), DRAINERS (at most
 * 4 threads that sleep in all), END (the last time), SPURIOUS (sleeps that end for no reason),
 * CALLS_AT_ONCE (calls_at_once, 1 unless said).
 * BOOKS_ONLY leaves out the checks of the queue's own state, so that a planted fault has to come
 * out in what callers were promised. All other names that are asked for by #ifdef plant a fault. */

/* A thread that may sleep is a bit: consumers from the lowest on, then drainers. */
#define CONSUMER(n) (1 << (n))
#define DRAINER(n) (1 << (CONSUMERS + (n)))
#define ALL_CONSUMERS ((1 << CONSUMERS) - 1)
#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1) + (((set) >> 3) & 1))

/* item.h: enum weiri_place */
#define IDLE 0
#define QUEUED 1
#define PROCESSING 2
#define DIRTY 3

#ifndef CALLS_AT_ONCE
#define CALLS_AT_ONCE 1
#endif

/* Times. */
#define FOREVER 255
#define AT_ONCE 254

/* No end to a number of calls. */
#define MANY 255

/* enum weir_status */
#define OK 0
#define ESHUTDOWN 1
#define EAGAIN 2
#define ETIMEDOUT 3
#define ECANCELED 4
#define ENOTPROCESSING 5

#if ITEMS == 1
#define OVER_ITEMS(x) (x(0))
#define ANY_ITEM(i) i = 0
#define NEXT_ITEM 0
#elif ITEMS == 2
#define OVER_ITEMS(x) (x(0) + x(1))
#define ANY_ITEM(i) if :: i = 0 :: i = 1 fi
#define NEXT_ITEM (wait[0] <= wait[1] -> 0 : 1)
#else
#define OVER_ITEMS(x) (x(0) + x(1) + x(2))
#define ANY_ITEM(i) if :: i = 0 :: i = 1 :: i = 2 fi
#define NEXT_ITEM (wait[0] <= wait[1] && wait[0] <= wait[2] -> 0 : (wait[1] <= wait[2] -> 1 : 2))
#endif
#define IS_QUEUED(i) (place[i] == QUEUED)
#define IS_PROCESSING(i) (place[i] == PROCESSING || place[i] == DIRTY)
#define IS_DIRTY(i) (place[i] == DIRTY)
#define IS_WAITING(i) (wait[i] != FOREVER)
#define IS_ONLY_WAITING(i) (place[i] == IDLE && wait[i] != FOREVER)
#define IS_OWED(i) (owed[i] != 0)
#define IS_PENDING(i) (pending[i] != FOREVER)
#define IS_MISJUDGED(i) (owed[i] != (place[i] == QUEUED || place[i] == DIRTY) || pending[i] != wait[i])

/* item.h: struct weir_item */
byte place[ITEMS];
byte wait[ITEMS] = FOREVER; /* weir_wait: the pending time; FOREVER: none */
byte ticket[ITEMS];         /* weir_position of a processing item; else 0, which is no ticket */

/* core.h: struct weiri_core */
chan ready = [ITEMS] of { byte };
byte waiting; /* delay.count */
byte running;
byte dirty;
byte only_waiting;

/* internal.h: struct weir_queue */
byte sleepers;
byte timer; /* one of them, or 0 */
byte drainers;
byte forced;
bool shutting_down;
bool is_calm;

/* internal.h: struct weiri_sleeper; base/park.c; what the kernel knows. */
byte is_woken;
byte is_set;
byte asleep;
byte calls; /* to wake_up() that are still to be made */
byte spurious = SPURIOUS;

/* The queue's clock. */
byte clock;

/* The books of what callers may expect. */
bool owed[ITEMS];              /* an add was accepted, and no processing has begun since */
byte pending[ITEMS] = FOREVER; /* the time for which an add is accepted */
byte busy[ITEMS];              /* consumers that have it in hand */
byte timer_limit;              /* until when the timer sleeps */

/* internal.h: called, the consumers that were woken and have not been here yet; sleep.c:
 * call_consumers, how many it wants. */
#define CALLED COUNT(is_woken & ALL_CONSUMERS)
#define CALLS_WANTED (len(ready) < CALLS_AT_ONCE -> len(ready) : CALLS_AT_ONCE)

/* What holds whenever nobody has the lock. */
inline check_state()
{
    skip; /* a d_step cannot be jumped to */
    d_step {
#ifndef BOOKS_ONLY
        /* core.h: the counts are those of the items, and these are as the books say. */
        assert(len(ready) == OVER_ITEMS(IS_QUEUED));
        assert(running == OVER_ITEMS(IS_PROCESSING));
        assert(dirty == OVER_ITEMS(IS_DIRTY));
        assert(waiting == OVER_ITEMS(IS_WAITING));
        assert(only_waiting == OVER_ITEMS(IS_ONLY_WAITING));
        assert(OVER_ITEMS(IS_MISJUDGED) == 0);
        /* Where somebody sleeps while something is queued, consumers are on their way to it. */
        assert(sleepers == 0 || CALLS_WANTED <= CALLED);
        /* Where something waits and somebody sleeps, one sleeps no longer than until the earliest
         * time, or somebody is about to look. */
        assert(waiting == 0 || sleepers == 0 || timer != 0 || (is_woken & ALL_CONSUMERS) != 0);
        assert(timer == 0 || waiting == 0 || timer_limit <= wait[NEXT_ITEM]);
        assert((timer & sleepers) == timer);
        /* A calm queue has nobody to tell and no time to look at. */
        assert(!is_calm || (sleepers == 0 && drainers == 0 && waiting == 0 && !shutting_down));
        /* After a shutdown nobody sleeps but drains, and those only while there is something. */
        assert(!shutting_down || (sleepers == 0 && waiting == 0));
        assert(drainers == 0 || len(ready) + running > 0);
#endif
        skip
    }
}

#ifdef CALM_WITH_SLEEPERS
#define IS_CALM (waiting == 0 && !shutting_down)
#elif defined(CALM_WITH_TIMES)
#define IS_CALM (sleepers == 0 && !shutting_down)
#elif defined(CALM_AFTER_SHUTDOWN)
#define IS_CALM (waiting == 0 && sleepers == 0)
#else
#define IS_CALM (waiting == 0 && sleepers == 0 && !shutting_down)
#endif

/* sleep.c: call_consumers */
inline call_consumers()
{
    if
#ifdef NO_SIGNAL
    :: false
#elif defined(CALLS_ONE_AT_MOST)
    :: !calmly && len(ready) == 1 && CALLED == 0 -> count = 1
#else
    :: !calmly && !calls_nobody && CALLED < CALLS_WANTED -> count = CALLS_WANTED - CALLED
#endif
    :: else -> count = 0
    fi;
    calls_nobody = false;
    wake_some(count)
}

/* sleep.c: weiri_queue_unlock; internal.h: weiri_queue_unlock_moved, weiri_queue_unlock_quiet, of a
 * call that found the queue calm and made nothing but moves. Ends an atomic sequence. */
inline unlock()
{
    call_consumers();
    is_calm = (calmly -> is_calm : IS_CALM);
    calmly = false;
    check_state();
    who = 0;
    next = 0;
    result = 0;
    count = 0
}

/* sleep.c: weiri_queue_unlock, after the unlock; base/park.c: weiri_parker_wake. These
 * calls come at any time after the unlock, also after what the thread does next. A parker lies on
 * its thread's stack, at the same place each time, so that a late call meets the next sleep there.
 */
#define END_SLEEP(who) calls & (who) -> asleep = asleep & ~(who); calls = calls & ~(who)
proctype Kernel()
{
end:
    do
    :: atomic { END_SLEEP(1) }
#if CONSUMERS + DRAINERS > 1
    :: atomic { END_SLEEP(2) }
#endif
#if CONSUMERS + DRAINERS > 2
    :: atomic { END_SLEEP(4) }
#endif
#if CONSUMERS + DRAINERS > 3
    :: atomic { END_SLEEP(8) }
#endif
    od
}

/* sleep.c: take_out */
inline take_out(who)
{
    sleepers = sleepers & ~(who);
    drainers = drainers & ~(who);
    timer = timer & ~(who);
    timer_limit = (timer != 0 -> timer_limit : 0)
}

/* sleep.c: wake */
inline wake(who)
{
    take_out(who);
    is_woken = is_woken | (who);
#ifndef NO_SET
    is_set = is_set | (who);
#endif
    calls = calls | (who)
}

/* sleep.c: weiri_queue_wake_slow_locked */
inline wake_some(count)
{
    do
    :: count > 0 && sleepers != 0 ->
        if
        :: sleepers == timer -> who = timer
        :: (sleepers & ~timer & 1) != 0 -> who = 1
#if CONSUMERS > 1
        :: (sleepers & ~timer & 2) != 0 -> who = 2
#endif
#if CONSUMERS > 2
        :: (sleepers & ~timer & 4) != 0 -> who = 4
#endif
        fi;
        wake(who);
        count--
    :: else -> count = 0; break
    od
}

#if END > 0
/* sleep.c: weiri_queue_wake_timer_locked */
inline wake_timer()
{
    if
    :: timer != 0 ->
#ifndef TIMER_SLEEPS_ON
        who = timer;
        wake(who)
#endif
    :: else -> count = 1; wake_some(count)
    fi
}
#endif

/* internal.h: weiri_queue_hand_over_timer_locked */
inline hand_over_timer()
{
#if END > 0 && !defined(NO_HAND_OVER)
    if
    :: waiting > 0 && timer == 0 -> count = 1; wake_some(count)
    :: else
    fi
#else
    skip
#endif
}

/* moves.h: weiri_core_enqueue; ret is 1 where the item was queued. */
inline core_enqueue(item, ret)
{
    if
#ifdef FORGETS_PROCESSING
    :: place[item] != QUEUED ->
#else
    :: place[item] == IDLE ->
#endif
        place[item] = QUEUED;
        assert(nfull(ready));
        ready!item;
        ret = 1
    :: place[item] == PROCESSING ->
        place[item] = DIRTY;
        dirty++;
        ret = 0
    :: place[item] == QUEUED || place[item] == DIRTY ->
        ret = 0
    fi
}

#if END > 0
/* The clock, read again in a critical section: time has passed since, or not. */
inline read_clock_again()
{
    if
    :: clock < END -> clock++
    :: true
    fi
}

/* The books' view of a time that passes: a call may have read it some time ago. */
#define BOOK_TIME(i, now)                                                                          \
    if                                                                                             \
    :: pending[i] <= (now) ->                                                                      \
        assert(IS_ON_TIME(pending[i]));                                                            \
        pending[i] = FOREVER;                                                                      \
        owed[i] = true                                                                             \
    :: else                                                                                        \
    fi
#ifdef EXACT
#define IS_ON_TIME(time) ((time) == clock)
#else
#define IS_ON_TIME(time) true
#endif
inline book_time(now)
{
    d_step {
        BOOK_TIME(0, now);
#if ITEMS > 1
        BOOK_TIME(1, now);
#endif
#if ITEMS > 2
        BOOK_TIME(2, now);
#endif
        skip
    }
}
#endif

#ifdef EARLY
#define SOON(now) ((now) + 1)
#else
#define SOON(now) (now)
#endif

/* sleep.c: weiri_queue_pass_time_to_locked; core.c: weiri_core_pass_time. Of items that wait for
 * the same time the lower one goes first. */
inline pass_time(now)
{
#if END > 0
    book_time(now);
    do
    :: waiting > 0 && wait[NEXT_ITEM] <= SOON(now) ->
        next = NEXT_ITEM;
        wait[next] = FOREVER;
        waiting--;
        only_waiting = only_waiting - (place[next] == IDLE);
        core_enqueue(next, result)
    :: else -> break
    od
#else
    skip
#endif
}

/* moves.h: weiri_core_next, for a ready item there is. The code numbers its tickets; here one is
 * the thread it was given to, and there is none like it as long as that thread has it in mind. */
inline core_next(self)
{
#ifdef IF_WAIT
    assert(nempty(ready));
#endif
    ready?item;
    place[item] = PROCESSING;
    ticket[item] = self;
    number = self;
    running++;
    assert(busy[item] == 0); /* it is in nobody else's hand */
    busy[item]++;
    assert(owed[item]); /* it was asked for, and its time has come */
    owed[item] = false
}

#ifdef LATE_CLEAR
#define WAS_DIRTY was_dirty
#else
#define WAS_DIRTY (place[item] == DIRTY)
#endif

/* moves.h: weiri_core_done; ret is 1 where the item is queued again. */
inline core_done(ret)
{
    if
#ifdef NO_TICKET
    :: place[item] == PROCESSING || place[item] == DIRTY ->
#else
    :: (place[item] == PROCESSING || place[item] == DIRTY) && ticket[item] == number ->
#endif
        ticket[item] = 0;
        running--;
        if
        :: WAS_DIRTY ->
            dirty = dirty - (place[item] == DIRTY);
            place[item] = QUEUED;
            assert(nfull(ready));
            ready!item;
            ret = 1
        :: else ->
            dirty = dirty - (place[item] == DIRTY);
            place[item] = IDLE;
            only_waiting = only_waiting + (wait[item] != FOREVER);
            ret = 0
        fi;
        status = OK
    :: else ->
        status = ENOTPROCESSING;
        ret = 0
    fi
}

#ifdef IDLE_IS_EMPTY
#define IS_IDLE (len(ready) == 0)
#else
#define IS_IDLE (len(ready) == 0 && running == 0) /* internal.h: weiri_queue_is_idle_locked */
#endif

#ifdef TELLS_ONE
#define TOLD ((drainers & DRAINER(0)) != 0 -> DRAINER(0) : drainers)
#else
#define TOLD drainers
#endif

/* sleep.c: weiri_queue_wake_drains_locked */
inline wake_drains()
{
#if DRAINERS > 0
    is_woken = is_woken | TOLD;
    is_set = is_set | TOLD;
    calls = calls | TOLD;
    drainers = drainers & ~TOLD
#else
    skip
#endif
}

/* internal.h: weiri_queue_tell_drains_locked */
inline tell_drains()
{
#if DRAINERS > 0 && !defined(NO_TELL)
    if
#ifdef TELLS_WRONG_LIST
    :: shutting_down && IS_IDLE -> count = 1; wake_some(count)
#else
    :: shutting_down && IS_IDLE -> wake_drains()
#endif
    :: else
    fi
#else
    skip
#endif
}

/* base/park.c: weiri_parker_sleep; base/futex.c: the kernel compares and sleeps in one step. */
inline park(self)
{
    if
    :: (is_set & (self)) == 0 -> asleep = asleep | (self)
    :: else
    fi
}

/* sleep.c: sleep_in, after the sleep; the lock is taken in the same step. */
#define CAN_GO_ON(self, limit) ((asleep & (self)) == 0 || (limit) <= clock || spurious > 0)
inline unpark(self, limit)
{
    spurious = spurious - ((asleep & (self)) != 0 && (limit) > clock);
    asleep = asleep & ~(self);
    if
    :: (is_woken & (self)) == 0 -> take_out(self)
    :: else
    fi;
    is_woken = is_woken & ~(self);
    is_set = is_set & ~(self)
}

/* sleep.c: weiri_queue_sleep_locked, until the unlock; limit is where the sleep ends. */
inline lie_down(self, limit)
{
    sleepers = sleepers | (self);
#if END > 0
    if
    :: timer == 0 && waiting > 0 ->
        timer = self;
        if
        :: wait[NEXT_ITEM] < limit -> limit = wait[NEXT_ITEM]
        :: else
        fi;
        timer_limit = limit
    :: else
    fi
#endif
}
