/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The life of a pool on a queue: starts, the first and later ones, some of whose threads may be
 * refused; drains, stops and terminations, which wait or do not, and keep what is left or do not;
 * sends at any time; each by several threads; and the flights of envelopes, with the references
 * that go with them. The queue is what its contract says, as the other models show; nothing waits
 * for a time in it, no pool is resized, and no end or pause has a limit. Which of several queued
 * envelopes comes next is left open. In "pauses" somebody pauses and resumes the pool any number of
 * times, and may wait until nothing runs.
 *
 * check life WORKERS=1 SENDERS=1 SENDS=1
 * check keeps KEEPS WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1
 * check workers SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1
 * check flights KEEPS WORKERS=1 STARTERS=1 ENDERS=1
 * check two-envelopes ENVELOPES=2 SENDERS=1 STARTERS=1 ENDERS=1 SENDS=1
 * check pauses PAUSERS=1 ENVELOPES=2 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1
 * check two-pause PAUSERS=2 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1
 * check two-start PAUSERS=1 KEEPS WORKERS=1 SENDERS=1 SENDS=1 ENDERS=1
 * ends few-sends WORKERS=1 SENDERS=1 SENDS=2 STARTERS=1 ENDERS=1
 * fails state-is-not-told NO_BROADCAST WORKERS=1 SENDERS=1 SENDS=1 => invalid end state
 * fails no-gate NO_GATE SENDERS=1 SENDS=1 STARTERS=1 => (state==1)||(state==2)
 * fails start-beside-old NO_WAIT_FOR_OLD WORKERS=1 SENDERS=1 SENDS=1 => assertion violated
 * fails closer-not-busy NO_BUSY WORKERS=1 SENDERS=1 SENDS=1 => assertion violated
 * fails worker-sweeps-not NO_SWEEP WORKERS=1 SENDERS=1 SENDS=2 STARTERS=1 ENDERS=1 => keeps
 * fails termination-forgotten NO_TERMINATING WORKERS=1 SENDERS=1 SENDS=1 => state==4
 * fails counted-late LATE_WAIT WORKERS=1 SENDERS=1 SENDS=1 => state!=1
 * fails done-ignores-pause PAUSE_AT_GET PAUSERS=1 ENVELOPES=2 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1 => is_held_back
 * fails drain-stays-paused PAUSED_DRAIN PAUSERS=1 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1 => keeps
 * fails pauser-is-not-told NO_TELL PAUSERS=1 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1 => invalid end state
 * fails resume-tells-nobody QUIET_RESUME PAUSERS=2 WORKERS=1 SENDERS=1 SENDS=1 STARTERS=1 ENDERS=1 => invalid end state
 * fails holds-after-add HOLD_AFTER_ADD WORKERS=1 STARTERS=1 ENDERS=1 => flight[
 * fails released-twice RELEASES_ALWAYS WORKERS=1 STARTERS=1 ENDERS=1 => references[
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
#ifndef PAUSERS
#define PAUSERS 0
#endif

/* lifecycle.h: weir_pool_state */
#define INIT 0
#define RUNNING 1
#define STOPPING 2
#define STOPPED 3
#define TERMINATED 4

/* pool.h: weiri_gate */
#define OPEN 0
#define SHUT 1
#define ABORTED 2

/* item.h: weiri_place */
#define IDLE 0
#define QUEUED 1
#define PROCESSING 2
#define DIRTY 3

#define NONE 255
#define MANY 255 /* any number */

#if ENVELOPES == 1
#define TAKE_ANY(ret) :: place[0] == QUEUED -> ret = 0; place[0] = PROCESSING; HAND_OUT
#define SWEEP_ANY(ret) :: place[0] == QUEUED -> ret = 0; place[0] = IDLE
#define IS_EMPTY (place[0] != QUEUED)
#define RUNS_NONE (place[0] == IDLE || place[0] == QUEUED)
#define IS_ALL_IDLE (place[0] == IDLE)
#define IS_ALL_GROUNDED (flight[0] == 0 && references[0] == 0)
#else
#define TAKE_ANY(ret)                                                                              \
    :: place[0] == QUEUED -> ret = 0; place[0] = PROCESSING; HAND_OUT                              \
    :: place[1] == QUEUED -> ret = 1; place[1] = PROCESSING; HAND_OUT
#define SWEEP_ANY(ret)                                                                             \
    :: place[0] == QUEUED -> ret = 0; place[0] = IDLE                                              \
    :: place[1] == QUEUED -> ret = 1; place[1] = IDLE
#define IS_EMPTY (place[0] != QUEUED && place[1] != QUEUED)
#define RUNS_NONE                                                                                  \
    ((place[0] == IDLE || place[0] == QUEUED) && (place[1] == IDLE || place[1] == QUEUED))
#define IS_ALL_IDLE (place[0] == IDLE && place[1] == IDLE)
#define IS_ALL_GROUNDED                                                                            \
    (flight[0] == 0 && references[0] == 0 && flight[1] == 0 && references[1] == 0)
#endif

/* The pool. */
byte state;
byte gate;
bool is_changing;
bool is_terminating;
bool is_stop;
bool keeps;        /* what the pool says; the queue has a mark of its own */
bool is_cancelled; /* its scope */
byte busy;
byte waiting;
byte asleep; /* threads that wait for the condition changed: a bit each */

/* Its queue. */
byte place[ENVELOPES];
bool is_closed;
bool is_stopped;
bool queue_keeps;
bool is_paused;
byte resting; /* who waits until nothing runs: a bit each */

/* Envelopes. */
byte flight[ENVELOPES];               /* holds */
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

/* The books. */
byte threads;       /* of workers that exist */
byte current;       /* generation of workers */
bool was_started;   /* since the last look of a start that fails */
bool has_run;       /* anything, since the last start was begun */
bool ends_nothing;  /* the end under way, or the last one, is of a pool without workers */
bool is_held_back;  /* a pause has returned, and nobody has resumed the pool or begun to drain it */

/* lifecycle.c: weiri_pool_set_state_locked, and every other broadcast */
inline broadcast()
{
#ifndef NO_BROADCAST
    asleep = 0
#else
    skip
#endif
}

#define HAND_OUT assert(!is_held_back)

#ifdef PAUSED_DRAIN
#define IS_GATED is_paused
#else
#define IS_GATED (is_paused && !is_closed) /* close.c: gate_locked, but for a stop */
#endif

/* internal.h: weiri_queue_tell_drains_locked, for those who wait for a pause */
inline tell_pausers()
{
#ifndef NO_TELL
    resting = ((is_paused && RUNS_NONE) || (is_closed && IS_ALL_IDLE) -> 0 : resting)
#else
    skip
#endif
}

/* base/sync.h: weiri_cond_wait. A thread that waits is a bit; it goes on when it is woken. */
#define STARTER(n) (1 << (n))
#define ENDER(n) (1 << (STARTERS + (n)))
#define WORKER(n) (1 << (STARTERS + ENDERS + (n)))
#define IS_AWAKE ((asleep & self) == 0)
#define WAIT asleep = asleep | self

#ifdef LATE_WAIT
#define WAITS
#define WAITS_LATE ; waiting++
#else
#define WAITS ; waiting++ /* end.c: end */
#define WAITS_LATE
#endif

#ifdef NO_WAIT_FOR_OLD
#define IS_TOO_EARLY false
#else
#define IS_TOO_EARLY (state == STOPPING || waiting > 0) /* lifecycle.c: begin_start */
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

/* close.c: weiri_queue_take_closed, for one envelope */
inline take_closed(ret)
{
    ret = NONE;
    if
    :: is_closed && !queue_keeps && is_stopped ->
        if
        SWEEP_ANY(ret)
        :: IS_EMPTY
        fi
    :: else
    fi
}

/* end.c: weiri_pool_leave, until the log is told */
inline leave_busy()
{
    assert(state == STOPPING || busy > 1);
    busy--;
    if
    :: busy == 0 -> is_changing = true; pc = tell
    :: else -> pc = left
    fi
}

/* and what follows */
inline tell_end()
{
    assert(keeps || IS_ALL_IDLE);
    assert(!is_terminating || IS_ALL_IDLE);
    is_changing = false;
#ifdef NO_TERMINATING
    state = STOPPED;
#else
    state = (is_terminating -> TERMINATED : STOPPED);
#endif
    broadcast();
    pc = left
}

/* The steps: what a thread does next. */
mtype = {
    settle,   /* lifecycle.c, end.c: settle, and what is decided then */
    make,     /* workers.c: weiri_workers_make */
    open,     /* lifecycle.c: open_pool */
    close,    /* close.c: weiri_queue_close */
    cancel,   /* context.c: weiri_scope_cancel */
    sweep,    /* drop.c: weiri_pool_sweep */
    tell,     /* end.c: the state that follows */
    left,     /* the pool has been left, or closed */
    wait,     /* end.c: await_end_locked */
    join,     /* workers.c: weiri_workers_join_locked */
    gated,    /* worker.c: pass_gate */
    get,      /* consume.c: weir_queue_get */
    run_one,  /* worker.c: put_back, run */
    end_one,  /* the queue's done, in worker.c with the next get */
    land,     /* the release of a flight */
    unref,    /* and of the reference, if it was the last */
    pause,    /* close.c: weiri_queue_pause */
    resume,   /* the same */
    fly,      /* send.c: the hold of a flight */
    ref,      /* and the reference, if it was the first */
    add       /* the queue's add */
};

proctype Worker(byte self; byte generation)
{
    mtype pc = gated;
    mtype after; /* a release of the envelope before */
    byte envelope = NONE;
    byte done = NONE; /* the envelope before */
    bool has_left;
    bool is_last;
    do
    :: atomic { pc == gated && IS_AWAKE ->
        if
#ifndef NO_GATE
        :: gate == SHUT -> WAIT
#endif
        :: gate == ABORTED -> break
        :: else -> pc = get
        fi
       }
    :: atomic { pc == get && (is_stopped || (!IS_EMPTY && !IS_GATED) || is_closed) ->
        assert(generation == current);
        envelope = NONE;
        if
        :: is_stopped || IS_GATED
        :: else ->
            if
            TAKE_ANY(envelope)
            :: IS_EMPTY
            fi
        fi;
        pc = (envelope == NONE -> sweep : run_one)
       }
    :: atomic { pc == run_one ->
        assert(references[envelope] > 0); /* the envelope exists */
        if
        :: is_cancelled ->
            /* close.c: weiri_queue_put_back */
            assert(is_stop);
            place[envelope] = QUEUED;
            tell_pausers();
            envelope = NONE;
            pc = get
        :: else ->
            assert((state == RUNNING) || (state == STOPPING));
            assert(generation == current);
            has_run = true;
            pc = end_one
        fi
       }
    :: atomic { pc == end_one ->
        /* consume.c: weiri_queue_done_try_get */
        core_done(envelope);
        tell_pausers();
        done = (has_left -> envelope : NONE);
        envelope = NONE;
        if
#ifdef PAUSE_AT_GET
        :: is_stopped
#else
        :: is_stopped || IS_GATED
#endif
        :: else ->
            if
            TAKE_ANY(envelope)
            :: IS_EMPTY
            fi
        fi;
        after = (envelope == NONE -> get : run_one);
        pc = (has_left -> land : after);
        has_left = false
       }
    :: atomic { pc == land -> release(done); pc = unref }
    :: atomic { pc == unref ->
        references[done] = references[done] - is_last;
        is_last = false;
        done = NONE;
        pc = after
       }
    :: atomic { pc == sweep ->
#ifndef NO_SWEEP
        take_closed(done);
#endif
        after = sweep;
        if
        :: done != NONE -> pc = land
        :: else -> leave_busy()
        fi
       }
    :: atomic { pc == tell -> tell_end() }
    :: atomic { pc == left -> break }
    od;
    threads--
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
        :: is_closed -> has_entered = false
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

proctype Starter(byte self)
{
    mtype pc = settle;
    byte made;
    do
    :: atomic { pc == settle && IS_AWAKE ->
        if
        :: is_changing -> WAIT
        :: !is_changing && (state == RUNNING || state == TERMINATED || is_terminating) -> pc = left
        :: !is_changing && state != RUNNING && state != TERMINATED && !is_terminating ->
            if
            :: IS_TOO_EARLY -> WAIT
            :: else -> is_changing = true; gate = SHUT; has_run = false; pc = join
            fi
        fi
       }
#ifdef NO_WAIT_FOR_OLD
    :: atomic { pc == join -> current++; pc = make }
#else
    :: atomic { pc == join && threads == 0 -> current = 1 - current; pc = make }
#endif
    :: atomic { pc == make && made < WORKERS ->
        if
        :: true ->
            threads++;
            run Worker(WORKER(made), current);
            made++
        :: true -> /* the system refuses it */
            gate = ABORTED;
            broadcast();
            pc = tell
        fi
       }
    :: atomic { pc == make && made == WORKERS -> pc = open }
    :: atomic { pc == open ->
        is_cancelled = false;
        is_closed = false;
        is_stopped = false;
        queue_keeps = false;
        is_stop = false;
        keeps = true;
        busy = WORKERS;
        gate = OPEN;
        is_changing = false;
        state = RUNNING;
        broadcast();
        pc = left
       }
    :: atomic { pc == tell && threads == 0 ->
        assert(!has_run); /* a start that fails has run nothing */
        is_changing = false;
        broadcast();
        pc = left
       }
    :: pc == left -> break
    od
}

proctype Ender(byte self)
{
    mtype pc = settle;
    bool is_stop_call; /* or a termination */
    bool terminates;
    bool keeps_call;
    bool waits;
    bool is_idle; /* the pool has no workers, and is stopping for this only */
    byte envelope = NONE;
    bool is_last;
    do
    :: atomic { pc == settle && IS_AWAKE ->
        if
        :: is_changing -> WAIT
        :: else ->
            if
            :: true -> is_stop_call = true; terminates = true
            :: true -> is_stop_call = true
            :: true
#ifdef KEEPS
            :: true -> is_stop_call = true; keeps_call = true
            :: true -> keeps_call = true
#endif
            fi;
            if
            :: state != INIT || terminates -> waits = true WAITS
            :: true
            fi;
            if
            :: state == RUNNING || state == STOPPING ->
                ends_nothing = ends_nothing && state == STOPPING;
                is_stop = is_stop || is_stop_call;
                keeps = keeps && keeps_call;
                is_terminating = is_terminating || terminates;
#ifndef NO_BUSY
                busy++;
#endif
                state = STOPPING;
                broadcast();
                pc = close
            :: (state == INIT || state == STOPPED) &&
               (terminates || (state == STOPPED && keeps && !keeps_call)) ->
                keeps = false;
                is_terminating = is_terminating || terminates;
                is_idle = true;
                ends_nothing = true;
#ifndef NO_BUSY
                busy++;
#endif
                state = STOPPING;
                broadcast();
                pc = close
            :: else -> pc = left
            fi
        fi
       }
    :: atomic { pc == close ->
        assert(state == STOPPING);
        queue_keeps = (is_closed -> queue_keeps && keeps_call : keeps_call);
        is_closed = true;
        is_stopped = is_stopped || is_stop_call || is_idle;
#ifndef PAUSED_DRAIN
        is_paused = is_paused && is_stopped;
#endif
        is_held_back = is_held_back && is_stopped;
        resting = 0;
        pc = (is_stop_call && !is_idle -> cancel : sweep);
        is_idle = false
       }
    :: atomic { pc == cancel -> is_cancelled = true; pc = sweep }
    :: atomic { pc == sweep ->
        take_closed(envelope);
        if
        :: envelope != NONE -> pc = land
        :: else ->
#ifdef NO_BUSY
            pc = left
#else
            leave_busy()
#endif
        fi
       }
    :: atomic { pc == land -> release(envelope); pc = unref }
    :: atomic { pc == unref ->
        references[envelope] = references[envelope] - is_last;
        is_last = false;
        envelope = NONE;
        pc = sweep
       }
    :: atomic { pc == tell -> tell_end() }
    :: atomic { pc == left ->
        if
        :: waits -> waits = false WAITS_LATE; pc = wait
        :: else -> break
        fi
       }
    :: atomic { pc == wait && IS_AWAKE ->
        if
        :: state == STOPPING -> WAIT
        :: else -> pc = join
        fi
       }
    :: atomic { pc == join && threads == 0 ->
        /* No start came in between. */
        assert(state != RUNNING && (state != STOPPING || ends_nothing));
        waiting--;
        broadcast();
        pc = left
       }
    od
}

/* resize.c: weir_pool_pause, weir_pool_resume, weir_pool_pause_until */
proctype Pauser(byte self)
{
    mtype pc = settle;
    do
    :: atomic { pc == settle ->
        if
        :: state == TERMINATED -> pc = left
        :: state != TERMINATED -> pc = pause
        :: state != TERMINATED -> pc = resume
        :: pc = left
        fi
       }
    :: atomic { pc == pause ->
        is_paused = true;
        is_held_back = !is_closed || is_stopped;
        resting = 0;
        if
        :: pc = settle
        :: pc = wait
        fi
       }
    :: atomic { pc == resume ->
        is_paused = false;
        is_held_back = false;
#ifndef QUIET_RESUME
        resting = 0;
#endif
        pc = settle
       }
    :: atomic { pc == wait && (resting & self) == 0 ->
        /* close.c: weiri_queue_await_pause */
        if
        :: RUNS_NONE || !is_paused -> pc = settle
        :: else -> resting = resting | self
        fi
       }
    :: pc == left -> break
    od
}

init
{
    byte i;
    atomic {
        keeps = true;
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
        :: i < PAUSERS -> run Pauser(1 << i); i++
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
        :: else -> assert(state != STOPPING)
        fi
    }
    _nr_pr == 1;
    assert((state == TERMINATED) == is_terminating);
    assert(state == INIT || state == RUNNING || keeps || (IS_ALL_IDLE && IS_ALL_GROUNDED))
}
