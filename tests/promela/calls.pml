/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The queue's calls, and the threads that all models have. A call is one critical section, to be
 * written in an atomic sequence; get and drain are called again after each sleep. */

/* A call that sleeps is over when status is neither of these. */
#define LIES_DOWN 6 /* has let the lock go, and will sleep unless it is woken before */
#define ASLEEP 7

/* What a thread that makes calls has on its stack. */
#define STACK                                                                                      \
    byte item;   /* what the call is about, or what it returned */                                 \
    byte number; /* its ticket */                                                                  \
    byte status;                                                                                   \
    bool calmly; /* the call has found the queue calm, and asks no more */                         \
    bool calls_nobody; /* planted: it has consumers sleep on */                                    \
    byte count, who, next, result

/* item.h: weiri_item_joins */
#ifdef JOINS_PROCESSING
#define JOINS(i) (place[i] != IDLE)
#else
#define JOINS(i) (place[i] == QUEUED || place[i] == DIRTY)
#endif

/* internal.h: weiri_queue_joins, where it says so, without the lock: a promise, and no more. A
 * thread may have read takes_joins long before it looks at the item, so it is no condition here:
 * wider than the code, where a thread that knows of the shutdown joins nothing any more. */
inline join()
{
    owed[item] = true
}

/* produce.c: weir_queue_add, where nothing is joined so; add_locked, which never takes the queue to
 * be calm, with supersede */
inline add(supersede)
{
    calmly = (is_calm && !(supersede));
    if
    :: calmly ->
        core_enqueue(item, result);
        owed[item] = true
    :: !calmly && shutting_down -> status = ESHUTDOWN
    :: else ->
        pass_time(clock);
        status = OK;
#if END > 0
        if
        :: wait[item] != FOREVER && (supersede) ->
            only_waiting = only_waiting - (place[item] == IDLE);
            wait[item] = FOREVER;
            waiting--;
            pending[item] = FOREVER
        :: wait[item] != FOREVER && !(supersede) ->
            only_waiting = only_waiting - (place[item] == IDLE)
        :: else
        fi;
#endif
        core_enqueue(item, result);
        owed[item] = true
    fi;
    unlock()
}

/* produce.c: weir_queue_add_batch; core.c: weiri_core_add_batch. Of all items; in a queue in which
 * nothing waits. */
inline add_batch()
{
    calmly = is_calm;
    if
    :: shutting_down && !calmly -> status = ESHUTDOWN
    :: else ->
        status = OK;
        item = 0;
        do
        :: item < ITEMS ->
            core_enqueue(item, result);
            owed[item] = true;
            item++
        :: else -> break
        od
    fi;
    unlock()
}

#if END > 0
/* produce.c: weir_queue_add_after, weir_queue_add_with, weir_queue_add_rate_limited: add_locked for
 * a time; core.c: weiri_core_wait. The clock is read before the lock is taken, which may take any
 * time; so now is any time that has been. (The code takes a later one that another call has brought:
 * that is one of them.) */
inline add_after(delay, move)
{
    if
    :: shutting_down -> status = ESHUTDOWN
    :: else ->
        now = clock;
#ifndef EXACT
        do
        :: now > 0 -> now--
        :: true -> break
        od;
#endif
        pass_time(now);
        status = OK;
        time = (now + (delay) < END -> now + (delay) : END);
        now = 0;
        if
        :: time < pending[item] || (move) -> pending[item] = time
        :: else
        fi;
        if
        :: wait[item] == FOREVER ->
            only_waiting = only_waiting + (place[item] == IDLE);
            waiting++;
            wait[item] = time;
            result = 1
#ifdef LATER_WINS
        :: wait[item] != FOREVER && (time > wait[item] || ((move) && time < wait[item])) ->
#else
        :: wait[item] != FOREVER && (time < wait[item] || ((move) && time > wait[item])) ->
#endif
            wait[item] = time;
            result = 1
        :: else ->
            result = 0
        fi;
#ifndef NO_WAKE_TIMER
        if
        :: result == 1 && wait[NEXT_ITEM] == time -> wake_timer()
        :: else
        fi
#endif
    fi;
    unlock()
}
#endif

/* produce.c: weir_queue_cancel; core.c: weiri_core_cancel */
inline cancel()
{
    pass_time(clock);
#if END > 0
    if
    :: wait[item] != FOREVER ->
        only_waiting = only_waiting - (place[item] == IDLE);
        wait[item] = FOREVER;
        waiting--;
        pending[item] = FOREVER
    :: else
    fi;
#endif
    if
    :: place[item] == QUEUED ->
        ready??eval(item);
        place[item] = IDLE
    :: place[item] == DIRTY ->
        place[item] = PROCESSING;
        dirty--
    :: else
    fi;
    owed[item] = false;
    tell_drains();
    unlock()
}

#ifdef IF_WAIT /* who was woken does not look again */
#define HAS_NEXT (nempty(ready) || status == ASLEEP)
#define HAS_NO_NEXT (empty(ready) && status != ASLEEP)
#else
#define HAS_NEXT nempty(ready)
#define HAS_NO_NEXT empty(ready)
#endif

/* consume.c: get, get_slow, next_locked, next_slow_locked; with has_work done_get, done_get_slow. limit: a time, FOREVER or
 * AT_ONCE; until: where the sleep ends. */
inline get(self, limit, has_work, is_stale)
{
    calmly = is_calm;
    if
    :: status == ASLEEP -> unpark(self, until); until = 0
    :: else
    fi;
    if
    :: calmly
    :: else -> pass_time(clock)
    fi;
    if
    :: has_work ->
        busy[item] = busy[item] - !(is_stale);
        core_done(result);
        assert((status == ENOTPROCESSING) == (is_stale));
        if
        :: status == OK && !calmly -> tell_drains()
        :: else
        fi
    :: else
    fi;
    if
    :: status == ENOTPROCESSING -> skip
    :: status != ENOTPROCESSING && HAS_NEXT ->
        core_next(self);
        status = OK;
#ifdef NO_CALL_AT_GET
        calls_nobody = true;
#endif
        if
        :: calmly
        :: else -> hand_over_timer()
        fi
    :: status != ENOTPROCESSING && HAS_NO_NEXT ->
        item = 0;
        number = 0;
        if
        :: shutting_down -> status = ESHUTDOWN
        :: !shutting_down && (limit) == AT_ONCE -> status = EAGAIN
        :: !shutting_down && (limit) == FOREVER -> status = LIES_DOWN
#if END > 0
        :: !shutting_down && (limit) < AT_ONCE ->
            read_clock_again();
            status = (clock >= (limit) -> ETIMEDOUT : LIES_DOWN)
#endif
        fi;
        if
        :: status == LIES_DOWN -> calmly = false; until = limit; lie_down(self, until)
        :: status != LIES_DOWN -> hand_over_timer()
        fi
    fi;
    unlock()
}

/* consume.c: weir_queue_done, done_locked */
inline done(is_stale)
{
    calmly = is_calm;
    if
    :: calmly
    :: else -> pass_time(clock)
    fi;
    busy[item] = busy[item] - !(is_stale);
    core_done(result);
    assert((status == ENOTPROCESSING) == (is_stale));
    if
    :: status == OK && !calmly -> tell_drains()
    :: else
    fi;
#ifdef NO_CALL_AT_DONE
    calls_nobody = true;
#endif
    unlock()
}

/* shutdown.c: begin_locked */
inline begin_shutdown()
{
    if
    :: shutting_down -> skip
    :: else ->
        pass_time(clock);
        count = CONSUMERS;
        wake_some(count);
        shutting_down = true;
        d_step {
            waiting = 0;
            only_waiting = 0;
            count = 0;
            do
            :: count < ITEMS -> wait[count] = FOREVER; pending[count] = FOREVER; count++
            :: else -> break
            od;
            count = 0
        }
    fi
}

/* shutdown.c: weir_queue_shutdown */
inline shutdown()
{
    begin_shutdown();
    forced++;
#ifndef NO_FORCE
    wake_drains();
#endif
    unlock()
}

#if DRAINERS > 0
/* shutdown.c: weir_queue_shutdown_drain_until */
inline drain(self, limit)
{
    if
    :: status == ASLEEP -> unpark(self, limit)
    :: else ->
        begin_shutdown();
#ifndef EARLIER_FORCE
        number = forced
#endif
    fi;
    if
    :: IS_IDLE -> status = OK
    :: !IS_IDLE && forced != number -> status = ECANCELED
    :: !IS_IDLE && forced == number ->
#if END > 0
        read_clock_again();
        status = (clock >= (limit) -> ETIMEDOUT : LIES_DOWN)
#else
        status = LIES_DOWN
#endif
    fi;
    drainers = (status == LIES_DOWN -> drainers | (self) : drainers);
    unlock()
}
#endif

#if END > 0
proctype Clock()
{
    do
#ifdef EXACT
    :: atomic { timeout && clock < END -> clock++ } /* time passes when there is nothing left to do */
#else
    :: atomic { clock < END -> clock++ }
#endif
    :: clock == END -> break
    od
}
#endif

byte stale = STALE; /* how often done may be said once more for what is done */

#ifndef IS_HANDLED
#ifdef LATE_CLEAR
#define IS_HANDLED has_looked
#else
#define IS_HANDLED true /* whether what a consumer does with its item has come to an end */
#endif
#endif

/* Gets until the shutdown, or its limit, or so many items. */
proctype Consumer(byte self; byte limit; byte turns)
{
    STACK;
    byte until;
    bool has_work;
    bool has_item; /* and is to say done for it; else number, if any, is of work that is over */
#ifdef LATE_CLEAR /* done looks at the dirty mark in one critical section, and clears it in another */
    bool has_looked;
    bool was_dirty;
#endif
    do
#ifdef LATE_CLEAR
    :: atomic { has_item && !has_looked -> has_looked = true; was_dirty = (place[item] == DIRTY) }
#endif
    :: atomic { /* get, done_get */
        if
        :: !has_item && turns > 0 &&
           (status == OK || (status == ASLEEP && CAN_GO_ON(self, until))) ->
            has_work = false
        :: has_item && IS_HANDLED && turns > 1 ->
            has_work = true;
            turns = turns - (turns != MANY)
        :: !has_item && status == OK && number != 0 && stale > 0 && turns > 0 ->
            has_work = true;
            stale = stale - (stale != MANY)
        fi;
        get(self, limit, has_work, !has_item);
        has_work = false;
        has_item = (status == OK);
#ifdef LATE_CLEAR
        has_looked = false;
#endif
        status = (status == ENOTPROCESSING -> OK : status)
       }
    :: atomic { status == LIES_DOWN -> park(self); status = ASLEEP }
    :: atomic { /* done */
        if
        :: has_item && IS_HANDLED ->
            turns = turns - (turns != MANY)
        :: !has_item && status == OK && number != 0 && stale > 0 ->
            stale = stale - (stale != MANY)
        fi;
        done(!has_item);
        has_item = false;
        status = OK;
        item = (stale > 0 -> item : 0);
        number = (stale > 0 -> number : 0)
       }
    :: status == ESHUTDOWN || status == EAGAIN || status == ETIMEDOUT -> break
    :: !has_item && turns == 0 -> break
    od
}
