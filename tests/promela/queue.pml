/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The queue of src/queue with the threads that sleep in it (src/base/waiters.c): adds with and
 * without the lock, adds for a time, cancels; gets with and without a limit, dones, interrupts; the
 * timer; shutdowns and drains. An inline has the name of its function.
 *
 * A critical section of the queue's mutex is one atomic sequence, from lock() to unlock() or
 * sleep(). mutex.pml shows that the mutex excludes and loses no thread. What a thread does without
 * the mutex are steps of their own: falling asleep, each system call that ends a sleep, and an add
 * that is coalesced without the lock.
 *
 * Left out: memory that runs out, keys, priorities, metrics, batches of gets and dones, the event
 * loop's descriptor. Any waiter but the timer may be woken, where the code takes the one that came
 * last. No sleep has the bound of base/wait.h: a lost wake-up has to show. EXACT: time passes only
 * when no thread has anything left to do, so that a time must be seen when it comes. MANUAL: the
 * clock is a manual one. HANGS: no consumer ends its run before all drains have returned.
 * BOOKS_ONLY leaves out the checks of the queue's own state, so that a planted fault has to come
 * out in what callers were promised.
 *
 * default ITEMS=2
 * default CONSUMERS=2
 * default DRAINERS=0
 * default WOKEN_MAX=1
 * default CALLS=MANY: of producers
 * default INTERRUPTS=0: at once
 * default SHUTDOWNS=2: plain ones
 * default END=0: the last time
 * default LAST_LIMIT=FOREVER: of the last consumer's gets
 * default LAST_TURNS=MANY: items that it takes before it leaves
 * default DRAIN_LIMIT=FOREVER: of the first drain
 * default SPURIOUS=0: sleeps that end for no reason
 * default STALE=0: dones of what is done
 * default TRIES=0: gets that do not block
 * default FAULT=NO_FAULT
 * check places STALE=1 TRIES=1 SPURIOUS=1
 * check three-items ITEMS=3 STALE=1 SPURIOUS=1
 * check two-woken CONSUMERS=3 WOKEN_MAX=2 SPURIOUS=1
 * check one-leaves CONSUMERS=3 LAST_TURNS=1 SPURIOUS=1
 * check interrupts INTERRUPTS=2 ITEMS=1 CONSUMERS=3 TRIES=1 SPURIOUS=1
 * check times END=2
 * check times-exact EXACT END=3
 * check times-and-limit END=2 LAST_LIMIT=1 ITEMS=1 CONSUMERS=3
 * check times-and-interrupts END=2 ITEMS=1 SPURIOUS=1 INTERRUPTS=1 LAST_LIMIT=1
 * check times-manual MANUAL END=2 LAST_LIMIT=1
 * check drains DRAINERS=2 SHUTDOWNS=1 SPURIOUS=1
 * check drains-and-times DRAINERS=2 DRAIN_LIMIT=1 END=2 ITEMS=1 CONSUMERS=1
 * check drains-and-hang DRAINERS=2 DRAIN_LIMIT=1 END=1 HANGS
 * fails no-wake FAULT=NO_WAKE BOOKS_ONLY => owed[0]!=0
 * fails no-wake-seen-at-once FAULT=NO_WAKE => consumers==0
 * fails wakes-for-the-first-only FAULT=WAKES_FOR_FIRST_ONLY BOOKS_ONLY => owed[0]!=0
 * fails woken-stays-counted FAULT=WOKEN_STAYS BOOKS_ONLY => owed[0]!=0
 * fails woken-before-asleep FAULT=NO_SET BOOKS_ONLY => owed[0]!=0
 * fails processing-is-forgotten FAULT=FORGETS_PROCESSING BOOKS_ONLY => ticket[item]==number
 * fails dirty-is-forgotten FAULT=FORGETS_DIRTY BOOKS_ONLY => owed[0]!=0
 * fails done-without-ticket FAULT=NO_TICKET STALE=1 BOOKS_ONLY => !=1
 * fails coalesces-while-processing FAULT=COALESCES_PROCESSING BOOKS_ONLY => owed[0]!=0
 * fails interrupt-wakes-nobody FAULT=NO_WAKE_FOR_INTERRUPT INTERRUPTS=1 BOOKS_ONLY => interrupts_owed==0
 * fails interrupt-ends-two-gets FAULT=INTERRUPT_STAYS INTERRUPTS=1 BOOKS_ONLY => interrupts_owed>0
 * fails interrupt-before-item FAULT=INTERRUPT_BEFORE_ITEM INTERRUPTS=1 BOOKS_ONLY => q_len(ready)==0
 * fails gives-up-although-due FAULT=GIVES_UP_BLINDLY END=2 LAST_LIMIT=1 BOOKS_ONLY => status!=
 * fails interrupt-of-a-try FAULT=TRY_TAKES_INTERRUPT INTERRUPTS=1 TRIES=1 BOOKS_ONLY => interrupts_owed==0
 * fails time-wakes-nobody FAULT=NO_WAKE_FOR_TIME END=2 BOOKS_ONLY => pending[0]!=255
 * fails timer-is-not-replaced FAULT=NO_TAKEOVER EXACT END=3 BOOKS_ONLY => ==clock
 * fails timer-that-left-stays FAULT=TIMER_STAYS LAST_LIMIT=1 END=2 BOOKS_ONLY => pending[0]!=255
 * fails step-wakes-nobody FAULT=STEP_WAKES_NOBODY MANUAL END=2 BOOKS_ONLY => pending[0]!=255
 * fails later-time-wins FAULT=LATER_WINS END=2 EXACT BOOKS_ONLY => ==clock
 * fails early FAULT=EARLY END=2 BOOKS_ONLY => owed[
 * fails cancel-keeps-time FAULT=CANCEL_KEEPS_TIME END=2 BOOKS_ONLY => owed[
 * fails shutdown-wakes-no-consumers FAULT=SHUTDOWN_WAKES_NO_CONSUMERS BOOKS_ONLY => invalid end state
 * fails shutdown-keeps-times FAULT=SHUTDOWN_KEEPS_TIMES END=2 BOOKS_ONLY => owed[
 * fails adds-after-shutdown FAULT=ADDS_AFTER_SHUTDOWN BOOKS_ONLY => owed[
 * fails drains-are-not-woken FAULT=NO_WAKE_OF_DRAINS DRAINERS=2 BOOKS_ONLY => invalid end state
 * fails one-drain-is-woken FAULT=WAKES_ONE_DRAIN HANGS DRAINERS=2 SHUTDOWNS=1 BOOKS_ONLY => invalid end state
 * fails drained-while-processing FAULT=IDLE_IS_EMPTY DRAINERS=1 BOOKS_ONLY => busy[0]!=0
 * fails shutdown-wakes-no-drains FAULT=SHUTDOWN_WAKES_NO_DRAINS HANGS DRAINERS=1 BOOKS_ONLY => invalid end state
 * fails earlier-shutdown-counts FAULT=EARLIER_SHUTDOWN DRAINERS=1 BOOKS_ONLY => shutdowns!=shutdowns_seen
 * ends few-calls CALLS=2 STALE=1
 * ends few-times CALLS=2 END=2 DRAINERS=1 ITEMS=1
 * unreached Kernel -end-: it does not end
 * unreached Clock,Closer,Drainer &4)!=0: their unlocks find no consumer asleep
 * unreached Clock,Closer,Drainer wakes = (wakes|chosen): their unlocks find no consumer asleep
 * unreached Clock,Closer,Drainer chosen = 0: their unlocks find no consumer asleep
 */

#include "common.h"

#ifdef HANGS
#define HAS_HANDLED (draining == 0)
#else
#define HAS_HANDLED true
#endif

#define FOREVER 255
#define AT_ONCE 254
/* A thread is a bit: consumers from the lowest on, then drainers. */
#define CONSUMER(n) (1 << (n))
#define DRAINER(n) (1 << (CONSUMERS + (n)))
#define ALL_CONSUMERS ((1 << CONSUMERS) - 1)
#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1))

/* enum weir_status, where NOTHING is WEIR_ETIMEDOUT of a get that does not wait; and of a call that
 * sleeps: SLEEPS has released the mutex, and will be ASLEEP unless it is woken before. */
mtype = { OK, ESHUTDOWN, NOTHING, ETIMEDOUT, ECANCELED, SLEEPS, ASLEEP };

#define MOST_ITEMS 3 /* of which ITEMS are used */
#define OVER_ITEMS(x) (x(0) + x(1) + x(2))
#define NEXT_ITEM (wait[0] <= wait[1] && wait[0] <= wait[2] -> 0 : (wait[1] <= wait[2] -> 1 : 2))
#define NEXT_TIME wait[NEXT_ITEM]
#define IS_QUEUED(i) (place[i] == QUEUED)
#define IS_PROCESSING(i) (place[i] == PROCESSING || place[i] == DIRTY)
#define IS_OWED(i) (owed[i] != 0)
#define IS_PENDING(i) (pending[i] != FOREVER)
#define IS_BUSY(i) (busy[i] != 0)
#define IS_MISJUDGED(i) (owed[i] != (place[i] == QUEUED || place[i] == DIRTY) || pending[i] != wait[i])

/* item.h: struct weir_item */
byte place[MOST_ITEMS];
byte wait[MOST_ITEMS] = FOREVER; /* the pending time */
byte ticket[MOST_ITEMS];         /* of a processing item; 0 is no ticket */

/* core.h: struct weiri_core */
chan ready = [ITEMS] of { byte };
byte processing;

/* queue.h: struct weir_queue; waiters.h: struct weiri_waiters */
byte consumers; /* the list */
byte woken;
byte timer; /* one of the list, or 0 */
byte timer_ns = FOREVER;
byte drains; /* the list; no one reads how many of them are woken */
byte interrupts, shutdowns;
bool shutting_down;

/* waiters.c: struct weiri_waiter; park.c; the kernel's knowledge */
byte is_woken, is_set, asleep;
byte wakes; /* calls of weiri_parker_wake() that are still to be made */

byte clock, spurious = SPURIOUS, stale = STALE, tries = TRIES;
byte draining = DRAINERS; /* threads that have not drained yet */

/* The books of what callers were promised. */
bool owed[MOST_ITEMS];         /* an add was accepted, its time has come, and no run has begun */
byte pending[MOST_ITEMS] = FOREVER; /* the time for which an add was accepted */
byte busy[MOST_ITEMS];         /* consumers that have it */
byte interrupts_owed;          /* gets that are to end */
byte timer_until;              /* how long the timer sleeps */

#define IS_IDLE (len(ready) + (PLANTED(IDLE_IS_EMPTY) -> 0 : processing) == 0)

/* What holds whenever no thread has the mutex. */
inline check_state()
{
    skip; /* a d_step cannot be jumped to */
    d_step {
#ifndef BOOKS_ONLY
        assert(len(ready) == OVER_ITEMS(IS_QUEUED));
        assert(processing == OVER_ITEMS(IS_PROCESSING));
        assert(OVER_ITEMS(IS_MISJUDGED) == 0);
        assert(woken == COUNT(is_woken & ALL_CONSUMERS));
        /* Where a waiter sleeps and there is something for it, one is on its way. */
        assert(consumers == 0 || len(ready) + interrupts == 0 || woken > 0);
        /* Where something waits, a waiter sleeps no longer than that, or one is on its way. */
        assert(consumers == 0 || timer_ns <= NEXT_TIME || woken > 0);
        assert((timer & consumers) == timer && (timer == 0) == (timer_ns == FOREVER));
        assert(timer == 0 || timer_until <= timer_ns);
        /* After a shutdown only drains sleep, and these while there is something to do. */
        assert(!shutting_down || (consumers == 0 && NEXT_TIME == FOREVER));
        assert(drains == 0 || len(ready) + processing > 0);
#endif
        skip
    }
}

/* --- base/waiters.c --- */

inline take_out(thread)
{
    consumers = consumers & ~(thread);
    drains = drains & ~(thread);
    timer_ns = ((timer & (thread)) != 0 && !PLANTED(TIMER_STAYS) -> FOREVER : timer_ns);
    timer_until = ((timer & (thread)) != 0 -> 0 : timer_until);
    timer = timer & ~(thread)
}

/* Of one or several. */
inline wake(threads)
{
    take_out(threads);
    woken = woken + COUNT((threads) & ALL_CONSUMERS);
    is_woken = is_woken | (threads);
    is_set = is_set | (PLANTED(NO_SET) -> 0 : (threads))
}

/* Of those that are chosen. The system calls are made at once, with the mutex held. */
inline wake_all()
{
    wake(chosen);
    asleep = asleep & ~chosen;
    chosen = 0
}
#define DRAINS (PLANTED(WAKES_ONE_DRAIN) && (drains & DRAINER(0)) != 0 -> DRAINER(0) : drains)

#define WORK (len(ready) + (PLANTED(NO_WAKE_FOR_INTERRUPT) -> 0 : interrupts))
#define IS_NEEDED                                                                                  \
    (WORK > woken && woken < WOKEN_MAX && !PLANTED(NO_WAKE) &&                                     \
     (!PLANTED(WAKES_FOR_FIRST_ONLY) || WORK == 1))
#define LACKS_TIMER(next)                                                                          \
    ((next) < timer_ns && woken == 0 && !PLANTED(NO_WAKE_FOR_TIME) &&                           \
     (!PLANTED(NO_TAKEOVER) || timer == 0))

/* weiri_waiters_wake(); the system call comes after the unlock. */
inline waiters_wake(next)
{
    if
    :: IS_NEEDED || LACKS_TIMER(next) ->
        if
        :: consumers == timer -> chosen = timer
        :: (consumers & ~timer & 1) != 0 -> chosen = 1
        :: (consumers & ~timer & 2) != 0 -> chosen = 2
        :: (consumers & ~timer & 4) != 0 -> chosen = 4
        fi;
        wake(chosen);
        wakes = wakes | chosen;
        chosen = 0
    :: else
    fi
}

/* A system call that ends a sleep comes at any time after the unlock, also after the thread's next
 * calls. A parker lies on its thread's stack, at the same address each time, so that a late call
 * meets the next sleep there. */
#define END_SLEEP(thread) (wakes & (thread)) != 0 -> asleep = asleep & ~(thread); wakes = wakes & ~(thread)
proctype Kernel()
{
end:
    do
    :: atomic { END_SLEEP(1) }
    :: atomic { END_SLEEP(2) }
    :: atomic { END_SLEEP(4) }
    :: atomic { END_SLEEP(8) }
    od
}

#ifdef MANUAL
#define SLEEP_LIMIT(limit) FOREVER /* clock.c: weiri_clock_wait_limit() */
#else
#define SLEEP_LIMIT(limit) (limit)
#endif

/* weiri_waiters_sleep(), until the unlock. until: where the sleep ends. */
inline waiters_sleep(limit)
{
    consumers = consumers | self;
    until = limit;
    if
    :: NEXT_TIME < timer_ns ->
        timer = self;
        timer_ns = NEXT_TIME;
        until = (NEXT_TIME < until -> NEXT_TIME : until);
        timer_until = until
    :: else
    fi;
    until = SLEEP_LIMIT(until)
}

/* weiri_parker_sleep(): the kernel compares and sleeps in one step. */
inline park()
{
    asleep = asleep | (self & ~is_set);
    status = ASLEEP
}

/* weiri_waiters_sleep(), after the sleep; the mutex is taken in the same step. */
#define CAN_GO_ON ((asleep & self) == 0 || until <= clock || spurious > 0)
inline wake_up()
{
    spurious = spurious - ((asleep & self) != 0 && until > clock);
    until = 0;
    asleep = asleep & ~self;
    if
    :: (is_woken & self) == 0 -> take_out(self)
    :: else -> woken = woken - (PLANTED(WOKEN_STAYS) -> 0 : COUNT(self & ALL_CONSUMERS))
    fi;
    is_woken = is_woken & ~self;
    is_set = is_set & ~self
}

/* --- queue/core.c --- */

inline enqueue(which)
{
    if
    :: place[which] == IDLE || (PLANTED(FORGETS_PROCESSING) && place[which] != QUEUED) ->
        place[which] = QUEUED;
        assert(nfull(ready));
        ready!which
    :: place[which] == PROCESSING && !PLANTED(FORGETS_PROCESSING) -> place[which] = DIRTY
    :: place[which] == QUEUED || place[which] == DIRTY
    fi
}

/* What callers may expect of a time that has come. */
#ifdef EXACT
#define IS_ON_TIME(i) (pending[i] == clock)
#else
#define IS_ON_TIME(i) true
#endif
#define IS_DUE (NEXT_TIME <= clock + PLANTED(EARLY))
inline pass_time()
{
    for (chosen : 0 .. ITEMS - 1) {
        if
        :: pending[chosen] <= clock ->
            assert(IS_ON_TIME(chosen));
            pending[chosen] = FOREVER;
            owed[chosen] = true
        :: else
        fi
    }
    do
    :: IS_DUE -> chosen = NEXT_ITEM; wait[chosen] = FOREVER; enqueue(chosen)
    :: else -> chosen = 0; break
    od
}

/* weiri_core_start() of the first item. The code numbers its tickets; here one is the thread that
 * it was given to, and there is none like it while that thread has it in mind. */
inline core_start()
{
    ready?item;
    place[item] = PROCESSING;
    ticket[item] = self;
    number = self;
    processing++;
    assert(busy[item] == 0); /* no other consumer has it */
    busy[item]++;
    assert(owed[item]); /* it was asked for, and its time has come */
    owed[item] = false
}

inline core_done()
{
    ticket[item] = 0;
    processing--;
    if
    :: place[item] == DIRTY && !PLANTED(FORGETS_DIRTY) ->
        place[item] = QUEUED;
        assert(nfull(ready));
        ready!item
    :: else -> place[item] = IDLE
    fi
}

/* --- queue/queue.c --- */

inline lock()
{
    pass_time()
}

/* next: the earliest pending time that may lack a timer */
inline settle(next)
{
    if
    :: drains != 0 && IS_IDLE && !PLANTED(NO_WAKE_OF_DRAINS) -> chosen = DRAINS; wake_all()
    :: else
    fi;
    if
    :: consumers != 0 -> waiters_wake(next)
    :: else
    fi
}

inline unlock()
{
    settle(NEXT_TIME);
    check_state()
}

/* weiri_queue_sleep_locked(): a consumer that goes to sleep becomes the timer itself */
#define LACKING (status == SLEEPS -> FOREVER : NEXT_TIME)

/* weiri_queue_is_past() reads the clock again: time has passed since, or not. */
inline read_clock_again()
{
    if
#if !defined(EXACT) && !defined(MANUAL)
    :: clock < END -> clock++
#endif
    :: true
    fi
}

/* --- queue/add.c: each a whole call --- */

inline add(replaces)
{
    lock();
    if
    :: !shutting_down || PLANTED(ADDS_AFTER_SHUTDOWN) ->
        if
        :: wait[item] != FOREVER && replaces -> wait[item] = FOREVER; pending[item] = FOREVER
        :: else
        fi;
        enqueue(item);
        owed[item] = true
    :: else
    fi;
    unlock()
}

/* Of all items. */
inline add_batch()
{
    lock();
    do
    :: !shutting_down && item < ITEMS -> enqueue(item); owed[item] = true; item++
    :: else -> break
    od;
    unlock()
}

/* weir_queue_add() without the lock: the compare and swap has found the item queued or dirty (what
 * it is for, item.pml shows). A thread may have read coalesces long before; so this may come after
 * a shutdown. */
#define COALESCES                                                                                  \
    (place[item] == QUEUED || place[item] == DIRTY ||                                              \
     (PLANTED(COALESCES_PROCESSING) && place[item] == PROCESSING))
inline add_coalesced()
{
    owed[item] = true
}

/* weir_queue_add_after(). The clock was read before the lock, at any time. (The code takes a later
 * time that another call has seen; that is one of them.) */
inline add_after(delay, replaces)
{
    lock();
    time = clock;
#ifndef EXACT
    do
    :: time > 0 -> time--
    :: true -> break
    od;
#endif
    time = (time + delay < END -> time + delay : END);
    if
    :: !shutting_down ->
        pending[item] = (time < pending[item] || replaces -> time : pending[item]);
        wait[item] = (time < wait[item] || replaces ||
                      (PLANTED(LATER_WINS) && time != wait[item]) -> time : wait[item])
    :: else
    fi;
    time = 0;
    unlock()
}

inline cancel()
{
    lock();
    wait[item] = (PLANTED(CANCEL_KEEPS_TIME) -> wait[item] : FOREVER);
    pending[item] = FOREVER;
    if
    :: place[item] == QUEUED -> ready??eval(item); place[item] = IDLE
    :: place[item] == DIRTY -> place[item] = PROCESSING
    :: else
    fi;
    owed[item] = false;
    unlock()
}

/* --- queue/get.c --- */

#define IS_INTERRUPTED                                                                             \
    (interrupts > 0 &&                                                                             \
     (len(ready) == 0 || (PLANTED(INTERRUPT_BEFORE_ITEM) && !shutting_down && !IS_TRY)))
#define IS_TRY (limit == AT_ONCE && (!PLANTED(TRY_TAKES_INTERRUPT) || interrupts == 0))

/* get_locked(), once; then the unlock, or the sleep until the unlock. */
inline get_locked(limit)
{
    if
    :: (len(ready) > 0) && !IS_INTERRUPTED -> core_start(); status = OK; has_item = true
    :: len(ready) == 0 && shutting_down -> status = ESHUTDOWN
    :: len(ready) == 0 && !shutting_down && IS_TRY -> status = NOTHING
    :: else ->
        if
        :: IS_INTERRUPTED ->
            interrupts = interrupts - !PLANTED(INTERRUPT_STAYS);
            assert(len(ready) == 0); /* an item goes first */
            status = ((limit) == AT_ONCE -> NOTHING : ECANCELED)
        :: else ->
            read_clock_again();
            status = ((limit) != FOREVER && clock >= (limit) -> ETIMEDOUT : SLEEPS);
            if
            :: status == ETIMEDOUT && !PLANTED(GIVES_UP_BLINDLY) -> pass_time()
            :: else
            fi;
            if
            :: status == ETIMEDOUT && len(ready) > 0 -> core_start(); status = OK; has_item = true
            :: else
            fi;
            assert(status != ETIMEDOUT || NEXT_TIME > clock) /* nothing is due then */
        fi
    fi;
    number = (status == OK -> number : 0);
    item = (status == OK -> item : 0);
    settle(LACKING);
    if
    :: status == SLEEPS -> waiters_sleep(limit)
    :: status == ECANCELED ->
        assert(interrupts_owed > 0); /* one interrupt ends one get */
        interrupts_owed--;
        status = OK
    :: status == NOTHING -> status = OK
    :: else
    fi;
    check_state()
}

inline interrupt()
{
    lock();
    interrupts++;
    interrupts_owed++;
    unlock()
}

#define IS_WORK (IS_PROCESSING(item) && (ticket[item] == number || PLANTED(NO_TICKET)))
inline done_locked(is_stale)
{
    busy[item] = busy[item] - !(is_stale);
    has_item = false;
    assert(IS_WORK != is_stale);
    if
    :: IS_WORK -> core_done()
    :: else
    fi
}

/* --- queue/shutdown.c --- */

inline begin_locked()
{
    if
    :: !shutting_down ->
        shutting_down = true;
        for (chosen : 0 .. ITEMS - 1) {
            wait[chosen] = (PLANTED(SHUTDOWN_KEEPS_TIMES) -> wait[chosen] : FOREVER);
            pending[chosen] = FOREVER
        }
        chosen = (PLANTED(SHUTDOWN_WAKES_NO_CONSUMERS) -> 0 : consumers);
        wake_all()
    :: else
    fi
}

inline shutdown()
{
    lock();
    begin_locked();
    shutdowns++;
    chosen = (PLANTED(SHUTDOWN_WAKES_NO_DRAINS) -> 0 : DRAINS);
    wake_all();
    unlock()
}

/* The loop of weir_queue_shutdown_drain(), once. */
inline drain_locked(limit)
{
    if
    :: IS_IDLE ->
        assert(OVER_ITEMS(IS_OWED) + OVER_ITEMS(IS_BUSY) == 0);
        status = OK
    :: !IS_IDLE && shutdowns != shutdowns_before -> status = ECANCELED
    :: else ->
        read_clock_again();
        status = ((limit) != FOREVER && clock >= (limit) -> ETIMEDOUT : SLEEPS)
    fi;
    settle(LACKING);
    if
    :: status == SLEEPS ->
        drains = drains | self;
        until = SLEEP_LIMIT(limit)
    :: else
    fi;
    check_state()
}

/* --- threads --- */

/* Gets until the shutdown, its limit, or so many items. */
proctype Consumer(byte self; byte limit; byte turns)
{
    byte item;
    byte number; /* the ticket of the item, or of the one before */
    mtype status = OK;
    byte until, chosen;
    byte goal; /* the limit of this call */
    bool has_item;
    do
    :: atomic { /* get, and done_get where it has an item */
        if
        :: !has_item && status == OK && turns > 0 -> goal = limit
        :: !has_item && status == OK && turns > 0 && tries > 0 -> tries--; goal = AT_ONCE
        :: status == ASLEEP && CAN_GO_ON -> wake_up(); goal = limit
        :: has_item && HAS_HANDLED && turns > 1 -> turns = turns - (turns != MANY); goal = limit
        fi;
        lock();
        if
        :: has_item -> done_locked(false)
        :: else
        fi;
        get_locked(goal);
        goal = 0
       }
    :: atomic { status == SLEEPS -> park() }
    :: atomic { has_item && HAS_HANDLED ->
        turns = turns - (turns != MANY);
        lock();
        done_locked(false);
        item = (stale > 0 -> item : 0);
        number = (stale > 0 -> number : 0);
        unlock()
       }
    :: atomic { !has_item && status == OK && number != 0 && stale > 0 ->
        stale--;
        lock();
        done_locked(true);
        unlock();
        number = 0;
        item = 0
       }
    :: status == ESHUTDOWN || status == ETIMEDOUT -> break
    :: !has_item && status == OK && turns == 0 -> break
    od
}

/* Their calls are single steps, and nothing is kept from one to the next. So this is any number of
 * producers with so many calls in all. */
proctype Producers()
{
    byte item, chosen, time, calls = CALLS;
    do
    :: atomic { calls > 0 ->
        calls = calls - (calls != MANY);
        select(item : 0 .. ITEMS - 1);
        if
        :: true -> add(false)
        :: COALESCES -> add_coalesced()
        :: true -> cancel()
        :: ITEMS > 1 && END == 0 -> item = 0; add_batch()
        :: interrupts_owed < INTERRUPTS -> interrupt()
        :: END > 0 -> add(true)
        :: END > 0 -> add_after(1, false)
        :: END > 0 -> add_after(2, false)
        :: END > 0 -> add_after(2, true)
        fi;
        item = 0
       }
    :: calls == 0 || CALLS == MANY -> break
    od
}

proctype Drainer(byte self; byte limit)
{
    mtype status = NOTHING;
    byte shutdowns_before;
    byte shutdowns_seen; /* the books' */
    byte until, chosen;
    do
    :: atomic { status == NOTHING ->
        lock();
        begin_locked();
        shutdowns_before = (PLANTED(EARLIER_SHUTDOWN) -> 0 : shutdowns);
        shutdowns_seen = shutdowns;
        drain_locked(limit)
       }
    :: atomic { status == SLEEPS -> park() }
    :: atomic { status == ASLEEP && CAN_GO_ON -> wake_up(); lock(); drain_locked(limit) }
    :: atomic { status == OK -> draining--; break }
    :: atomic { status == ECANCELED ->
        assert(shutdowns != shutdowns_seen); /* a shutdown came, and not before the drain */
        draining--;
        break
       }
    :: atomic { status == ETIMEDOUT -> assert(clock >= limit); draining--; break }
    od
}

/* Shuts down, at once or when all is quiet. Beside drains it need not. */
proctype Closer()
{
    byte calls = SHUTDOWNS, chosen;
    if
#ifndef HANGS
    :: true
#endif
    :: true ->
        atomic { timeout && clock == END ->
            /* No add is lost, no time, and no interrupt while a get could take it. */
            assert(!HAS_HANDLED || OVER_ITEMS(IS_OWED) == 0);
            assert(OVER_ITEMS(IS_PENDING) == 0);
            assert(shutting_down || interrupts_owed == 0)
        }
    fi;
    do
    :: atomic { calls > 0 -> calls--; shutdown() }
    :: calls == 0 || (DRAINERS > 0 && HAS_HANDLED) -> break
    od
}

proctype Clock()
{
    byte chosen;
    do
#ifdef EXACT
    :: atomic { timeout && clock < END -> clock++ }
#else
    :: atomic { clock < END -> clock++ }
#ifdef MANUAL
        atomic { /* queue.c: on_step() */
            lock();
            chosen = (PLANTED(STEP_WAKES_NOBODY) -> 0 : consumers | drains);
            wake_all();
            unlock()
        }
#endif
#endif
    :: clock == END -> break
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
        for (i : 0 .. DRAINERS - 1) {
            run Drainer(DRAINER(i), (i == 0 -> DRAIN_LIMIT : FOREVER))
        }
        run Producers();
        run Clock();
        run Closer()
    }
    _nr_pr == 2;
    /* All that was added has run, unless the last to queue it again left without another get. */
    assert(OVER_ITEMS(IS_OWED) == (LAST_TURNS == MANY -> 0 : len(ready)))
}
