/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The life of a pool on a queue: starts, some of whose threads may be refused; drains and stops;
 * sends at any time; each by several threads; and the flights of envelopes, with the references
 * that go with them. The queue is what its contract says, as the other models show; nothing
 * waits for a time in it. Which of several queued envelopes comes next is left open.
 *
 * check life SENDERS=1 SENDS=1
 * check flights STARTERS=1 ENDERS=1
 * check two-envelopes ENVELOPES=2 SENDERS=1 STARTERS=1 SENDS=1
 * ends few-sends SENDERS=1 SENDS=2 STARTERS=1
 * fails state-is-not-told NO_BROADCAST => invalid end state
 * fails no-gate NO_GATE SENDERS=1 => (state==3)||(state==4)
 * fails everybody-joins ALL_JOIN SENDERS=1 SENDS=1 => invalid end state
 * fails abort-is-not-waited-for NO_SETTLE SENDERS=1 SENDS=1 => invalid end state
 * fails holds-after-add HOLD_AFTER_ADD STARTERS=1 ENDERS=1 => flight[
 * fails released-twice RELEASES_ALWAYS STARTERS=1 ENDERS=1 => references[envelope]>0
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ENVELOPES
#define ENVELOPES 1
#endif
#ifndef SENDERS
#define SENDERS 2 /* of each envelope */
#endif
#ifndef SENDS
#define SENDS MANY /* of each sender */
#endif
#ifndef STARTERS
#define STARTERS 2
#endif
#ifndef ENDERS
#define ENDERS 2
#endif

/* pool.h: weiri_pool_state */
#define INIT 0
#define STARTING 1
#define ABORTING 2
#define RUNNING 3
#define STOPPING 4
#define STOPPED 5

/* item.h: weiri_place */
#define IDLE 0
#define QUEUED 1
#define PROCESSING 2
#define DIRTY 3

#define NONE 255
#define MANY 255 /* any number */

#if ENVELOPES == 1
#define TAKE_ANY(ret) :: place[0] == QUEUED -> ret = 0; place[0] = PROCESSING
#define IS_EMPTY (place[0] != QUEUED)
#define IS_ALL_IDLE (place[0] == IDLE)
#define IS_ALL_GROUNDED (flight[0] == 0 && references[0] == 0)
#else
#define TAKE_ANY(ret)                                                                              \
    :: place[0] == QUEUED -> ret = 0; place[0] = PROCESSING                                        \
    :: place[1] == QUEUED -> ret = 1; place[1] = PROCESSING
#define IS_EMPTY (place[0] != QUEUED && place[1] != QUEUED)
#define IS_ALL_IDLE (place[0] == IDLE && place[1] == IDLE)
#define IS_ALL_GROUNDED                                                                            \
    (flight[0] == 0 && references[0] == 0 && flight[1] == 0 && references[1] == 0)
#endif

/* The pool. */
byte state;
bool is_stop;
bool is_cancelled; /* its scope */
byte asleep;       /* threads that wait for the condition changed */

/* Its queue. */
byte place[ENVELOPES];
bool refuses; /* it is shut down */

/* Envelopes. */
byte flight[ENVELOPES]; /* holds */
byte references[ENVELOPES] = SENDERS; /* each sender has one to begin with */

#ifdef HOLD_AFTER_ADD
#define FIRST_STEP add
#define AFTER_ADD (has_entered -> fly : add)
#define AFTER_HOLD add
#else
#define FIRST_STEP fly
#define AFTER_HOLD add
#ifdef RELEASES_ALWAYS
#define AFTER_ADD land
#else
#define AFTER_ADD (has_entered -> fly : land)
#endif
#endif

#ifdef ALL_JOIN
#define JOINS true
#else
#define JOINS (state == RUNNING) /* the first to end the pool */
#endif
#define AFTER_DROP (joins -> join : wait)

/* The books. */
bool has_ended[WORKERS];
bool has_run; /* anything, ever */

/* lifecycle.c: set_state_locked */
inline set_state(new)
{
    state = new;
#ifndef NO_BROADCAST
    asleep = 0
#endif
}

/* base/sync.h: weiri_cond_wait. A thread that waits is a bit; it goes on when it is woken. */
#define STARTER(n) (1 << (n))
#define ENDER(n) (1 << (STARTERS + (n)))
#define WORKER(n) (1 << (STARTERS + ENDERS + (n)))
#define IS_AWAKE ((asleep & self) == 0)
#define WAIT asleep = asleep | self

#ifdef NO_SETTLE
#define IS_UNSETTLED (state == STARTING)
#else
#define IS_UNSETTLED (state == STARTING || state == ABORTING) /* lifecycle.c: settle_locked */
#endif

/* flight.c: weiri_flight_hold, the exchange; the reference follows in another step */
inline hold(which)
{
    assert(references[which] > 0); /* the envelope exists */
    is_first = (flight[which] == 0);
    flight[which]++
}

/* flight.c: weiri_flight_release, the exchange; the reference follows in another step */
inline release(which)
{
    assert(references[which] > 0); /* the envelope exists */
    assert(flight[which] > 0);
    flight[which]--;
    is_last = (flight[which] == 0)
}

/* moves.h: weiri_core_done */
inline core_done(which)
{
    assert(references[which] > 0); /* the envelope exists */
    assert(place[which] == PROCESSING || place[which] == DIRTY); /* and is in this hand only */
    has_left = (place[which] == PROCESSING);
    place[which] = (has_left -> IDLE : QUEUED)
}

/* The steps: what a thread does next. */
mtype = {
    settle,  /* lifecycle.c: settle_locked, and what is decided then */
    make,    /* make_workers */
    refuse,  /* send.c: weiri_pool_refuse_sends */
    cancel,  /* context.c: weiri_scope_cancel */
    drop,    /* send.c: weiri_pool_drop_queued */
    join,    /* lifecycle.c: join_workers */
    tell,    /* the state that follows */
    wait,    /* end, until the pool is stopped */
    gate,    /* worker.c: pass_gate */
    get,     /* consume.c: weir_queue_get */
    run_one, /* worker.c: run_or_drop */
    end_one, /* the queue's done, in worker.c with the next get */
    land,    /* the release of a flight */
    unref,   /* and of the reference, if it was the last */
    fly,     /* send.c: the hold of a flight */
    ref,     /* and the reference, if it was the first */
    add,     /* the queue's add */
    leave
};

proctype Worker(byte self; byte number)
{
    mtype pc = gate;
    byte envelope = NONE;
    byte done = NONE; /* the envelope before */
    bool has_left;
    bool is_last;
    do
    :: atomic { pc == gate && IS_AWAKE ->
        if
#ifndef NO_GATE
        :: state == STARTING -> WAIT
#endif
        :: state == ABORTING -> pc = leave
        :: else -> pc = get
        fi
       }
    :: atomic { pc == get && (!IS_EMPTY || refuses) ->
        if
        TAKE_ANY(envelope)
        :: IS_EMPTY
        fi;
        pc = (envelope == NONE -> leave : run_one)
       }
    :: atomic { pc == run_one ->
        assert(references[envelope] > 0); /* the envelope exists */
        if
        :: is_cancelled -> assert(is_stop) /* it is dropped: nobody but a stop does that */
        :: else ->
            assert(state == RUNNING || state == STOPPING);
            has_run = true
        fi;
        pc = end_one
       }
    :: atomic { pc == end_one ->
        /* consume.c: weiri_queue_done_try_get */
        core_done(envelope);
        done = (has_left -> envelope : NONE);
        if
        TAKE_ANY(envelope)
        :: IS_EMPTY -> envelope = NONE
        fi;
        pc = (has_left -> land : (envelope == NONE -> get : run_one));
        has_left = false
       }
    :: atomic { pc == land -> release(done); pc = unref }
    :: atomic { pc == unref ->
        references[done] = references[done] - is_last;
        is_last = false;
        done = NONE;
        pc = (envelope == NONE -> get : run_one)
       }
    :: atomic { pc == leave -> has_ended[number] = true; break }
    od
}

proctype Sender(byte envelope)
{
    mtype pc = FIRST_STEP;
    byte sends = SENDS;
    bool has_entered;
    bool is_first;
    bool is_last;
    do
    :: atomic { pc == fly && sends > 0 -> sends = sends - (sends != MANY); hold(envelope); pc = ref }
    :: atomic { pc == ref ->
        references[envelope] = references[envelope] + is_first;
        is_first = false;
        pc = AFTER_HOLD
       }
    :: atomic { pc == add ->
        /* moves.h: weiri_core_add, weiri_core_enqueue */
        if
        :: refuses -> has_entered = false
        :: else ->
            has_entered = (place[envelope] == IDLE);
            if
            :: place[envelope] == IDLE -> place[envelope] = QUEUED
            :: place[envelope] == PROCESSING -> place[envelope] = DIRTY
            :: else
            fi
        fi;
        pc = AFTER_ADD;
        has_entered = false
       }
    :: atomic { pc == land -> release(envelope); pc = unref }
    :: atomic { pc == unref ->
        references[envelope] = references[envelope] - is_last;
        is_last = false;
        pc = FIRST_STEP
       }
    :: atomic { pc == FIRST_STEP -> references[envelope]--; break }
    od
}

/* lifecycle.c: join_workers */
#define JOIN(count)                                                                                \
    :: atomic { pc == join && joined < (count) && has_ended[joined] ->                             \
        has_ended[joined] = false;                                                                 \
        joined++                                                                                   \
       }                                                                                           \
    :: atomic { pc == join && joined == (count) -> joined = 0; pc = tell }

proctype Starter(byte self)
{
    mtype pc = settle;
    byte made;
    byte joined;
    do
    :: atomic { pc == settle && IS_AWAKE ->
        if
        :: IS_UNSETTLED -> WAIT
        :: !IS_UNSETTLED && state == INIT -> set_state(STARTING); pc = make
        :: !IS_UNSETTLED && state != INIT -> pc = leave
        fi
       }
    :: atomic { pc == make && made < WORKERS ->
        if
        :: true ->
            run Worker(WORKER(made), made);
            made++
        :: true -> /* the system refuses it */
            set_state(ABORTING);
            pc = join
        fi
       }
    :: atomic { pc == make && made == WORKERS -> set_state(RUNNING); pc = leave }
    JOIN(made)
    :: atomic { pc == tell ->
        assert(!has_run); /* a start that fails has run nothing */
        set_state(INIT);
        pc = leave
       }
    :: pc == leave -> break
    od
}

proctype Ender(byte self)
{
    mtype pc = settle;
    bool is_stop_call;
    bool joins;
    byte envelope = NONE;
    byte joined;
    bool has_left;
    bool is_last;
    do
    :: atomic { pc == settle && IS_AWAKE ->
        if
        :: IS_UNSETTLED -> WAIT
        :: !IS_UNSETTLED && state == INIT -> pc = leave
        :: !IS_UNSETTLED && state == STOPPED -> pc = wait
        :: !IS_UNSETTLED && state != INIT && state != STOPPED ->
            if
            :: true -> is_stop_call = true; is_stop = true
            :: true
            fi;
            joins = JOINS;
            if
            :: state == RUNNING -> set_state(STOPPING)
            :: else
            fi;
            pc = refuse
        fi
       }
    :: atomic { pc == refuse -> refuses = true; pc = (is_stop_call -> cancel : AFTER_DROP) }
    :: atomic { pc == cancel -> is_cancelled = true; pc = drop }
    :: atomic { pc == drop ->
        if
        TAKE_ANY(envelope)
        :: IS_EMPTY
        fi;
        pc = (envelope == NONE -> AFTER_DROP : end_one)
       }
    :: atomic { pc == end_one ->
        core_done(envelope);
        assert(has_left); /* as sends are refused */
        has_left = false;
        pc = land
       }
    :: atomic { pc == land -> release(envelope); pc = unref }
    :: atomic { pc == unref ->
        references[envelope] = references[envelope] - is_last;
        is_last = false;
        envelope = NONE;
        pc = drop
       }
    JOIN(WORKERS)
    :: atomic { pc == tell -> set_state(STOPPED); pc = wait }
    :: atomic { pc == wait && IS_AWAKE ->
        if
        :: state != STOPPED -> WAIT
        :: else ->
            assert(is_stop || IS_ALL_IDLE); /* drained */
            pc = leave
        fi
       }
    :: pc == leave -> break
    od
}

init
{
    byte i;
    atomic {
        do
        :: i < STARTERS -> run Starter(STARTER(i)); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < ENDERS -> run Ender(ENDER(i)); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < SENDERS * ENVELOPES -> run Sender(i % ENVELOPES); i++
        :: else -> break
        od
    }
    /* All is quiet: only workers are left that sleep. Somebody ends them at last. */
    atomic {
        timeout ->
        if
        :: state == RUNNING -> run Ender(ENDER(0))
        :: else -> assert(state == INIT || state == STOPPED)
        fi
    }
    _nr_pr == 1;
    assert(state != STOPPED || (IS_ALL_IDLE && IS_ALL_GROUNDED)) /* nobody holds anything */
}
