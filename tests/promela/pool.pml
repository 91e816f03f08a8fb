/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The life of a pool (src/pool): starts, the first and later ones, some of whose threads may be
 * refused; drains, stops and terminations, which wait (perhaps with a timeout) or do not, and keep
 * what is queued or do not; pauses, resumes, waits for either and for idleness; sends, retries and
 * cancels; the flights of envelopes, and the telling of their ends. Each by several threads.
 *
 * A critical section of the pool's mutex is one atomic sequence. What runs without it are steps of
 * their own: tasks, the log, the user's function for ends, joins of threads. An inline has the name
 * of its function. That workers who sleep are woken one by one, queue.pml shows; which of them is
 * woken, and which of several queued envelopes comes next, is left open.
 *
 * A finish is a stop here, since no context is looked at: is_stop means that the requests which came
 * to workers are stronger than a drain, keeps and is_terminating are the rest of what they come to.
 *
 * Left out: times, capacity, groups, resizes, several pools that send one envelope, tasks that call
 * the pool.
 *
 * default WORKERS=1
 * default ENVELOPES=1
 * default SENDERS=1: of each envelope
 * default SENDS=1: of each sender
 * default STARTERS=1
 * default ENDERS=1
 * default PAUSERS=0
 * default FAULT=NO_FAULT
 * check life STARTERS=2 ENDERS=2
 * check keeps KEEPS ENDERS=2
 * check workers WORKERS=2
 * check limits KEEPS LIMITS TELLS ENDERS=2
 * check flights SENDERS=2 KEEPS RETRIES SENDS=MANY
 * check cancels ENVELOPES=2 CANCELS
 * check pauses PAUSERS=2
 * check two-start PAUSERS=1 KEEPS STARTERS=2
 * check most WORKERS=2 STARTERS=2 ENDERS=2 KEEPS CANCELS
 * check idle ENVELOPES=2 CANCELS PAUSERS=1 KEEPS TELLS
 * ends few-sends SENDS=2
 * fails no-announcement FAULT=NO_ANNOUNCEMENT STARTERS=2 ENDERS=2 => asleep
 * fails refused-threads-run FAULT=NO_REFUSAL WORKERS=2 ENDERS=2 => assertion violated
 * fails start-beside-old FAULT=NO_WAIT_FOR_OLD STARTERS=2 ENDERS=2 => assertion violated
 * fails start-looks-once FAULT=LOOKS_ONCE STARTERS=2 ENDERS=2 => assertion violated
 * fails ender-is-not-busy FAULT=NO_BUSY TELLS STARTERS=2 ENDERS=2 => assertion violated
 * fails ender-is-not-counted FAULT=NO_ENDERS STARTERS=2 ENDERS=2 => state!=
 * fails ender-wakes-nobody FAULT=NO_WAKE_ALL STARTERS=2 ENDERS=2 => invalid end state
 * fails end-keeps-the-running FAULT=NO_DROP_PENDING SENDERS=2 SENDS=MANY => keeps
 * fails termination-is-forgotten FAULT=NO_TERMINATING STARTERS=2 ENDERS=2 => assertion violated
 * fails drain-stays-paused FAULT=PAUSED_DRAIN PAUSERS=1 => keeps
 * fails pause-is-ignored FAULT=PAUSE_IGNORED PAUSERS=1 => is_held_back
 * fails pauser-is-not-told FAULT=NO_TELL_OF_RUNS PAUSERS=1 => asleep
 * fails teller-tells-nobody FAULT=QUIET_TELLER ENVELOPES=2 CANCELS PAUSERS=1 KEEPS TELLS => asleep
 * fails canceller-is-not-told FAULT=QUIET_RUN CANCELS => asleep
 * fails flight-has-no-reference FAULT=NO_REFERENCE SENDS=MANY => references[
 * fails cancel-waits-for-the-task-only FAULT=EARLY_TICKET CANCELS TELLS => untold_run[
 */

#include "common.h"

/* weir/lifecycle.h: enum weir_pool_state */
mtype = { INIT, RUNNING, STOPPING, STOPPED, TERMINATED };

#define IS_PROCESSING(e) (place[e] == PROCESSING || place[e] == DIRTY)
#define OTHER 1 /* unused where ENVELOPES is 1 */
#define QUEUED_COUNT ((place[0] == QUEUED) + (place[1] == QUEUED))
#define RUNS_NONE (!IS_PROCESSING(0) && !IS_PROCESSING(1))
#define HOLDS_NONE (place[0] == IDLE && place[1] == IDLE)
#define IS_ALL_RELEASED (references[0] == 0 && references[1] == 0)

/* pool.h: struct weir_pool */
mtype state = INIT;
byte busy, enders;
bool is_paused, is_stop, keeps = true, is_terminating, has_run;
byte sleepers; /* workers with nothing to run: a bit each */
byte woken;
byte left; /* threads that have left, to be joined */
bool is_joining;
byte tellers, idle_observers, run_observers;
byte asleep; /* threads that wait for changed: a bit each */

/* pool.h: struct weiri_worker */
byte ticket[WORKERS]; /* of the run under way: 1 and 2 in turns; 0: none */
byte recalled;        /* a bit each */

/* envelope.h: struct weir_envelope */
byte place[2];
byte worker[2]; /* its bit, or 0 */
byte references[2], untold[2];
byte list[2]; /* the thread that has it in its list of ends; 0: none */

byte holder; /* of the mutex, where a section has several steps; 0: none */

/* The books. */
byte ended;         /* threads that are over, and not joined */
byte working;       /* workers that may run something */
bool current;       /* generation of workers */
bool is_over;       /* a termination has ended */
bool ends_nothing;  /* the end under way, or the last one, is of a pool without workers */
bool is_held_back;  /* a pause has returned, and no resume or drain came since */
byte idle_waiters;  /* threads that wait for idleness: a bit each */
byte untold_run[WORKERS]; /* ticket of a run whose flight has ended and is not told of; 0: none */

/* --- pool.h, state.c --- */

#define IS_OPEN (state == INIT || state == RUNNING)
#define HANDS_OUT                                                                                  \
    ((state == RUNNING && (!is_paused || PLANTED(PAUSE_IGNORED))) ||                               \
     (state == STOPPING && !is_stop && !(is_paused && PLANTED(PAUSED_DRAIN))))
#define TAKES_BACK (state == RUNNING || keeps)
#define IS_IDLE_POOL (QUEUED_COUNT == 0 && RUNS_NONE && tellers == 0)
#define HAS_ENDED (!IS_OPEN && state != STOPPING)

/* A step with the mutex; the next one of the same section. */
#define SECTION(step) pc == step && (holder == 0 || holder == _pid)
#define GO_ON(step) pc = step; holder = _pid

/* weiri_pool_announce_locked() */
inline announce()
{
    asleep = (PLANTED(NO_ANNOUNCEMENT) -> asleep : 0)
}

/* weiri_pool_unlock() */
#define HAS_NEWS_FOR_IDLE                                                                          \
    (idle_observers > 0 && (IS_IDLE_POOL || (HAS_ENDED && tellers == 0 && !PLANTED(QUIET_TELLER))))
inline unlock()
{
    holder = 0;
    if
    :: HAS_NEWS_FOR_IDLE -> announce()
    :: else
    fi;
    if
    :: HANDS_OUT && QUEUED_COUNT > woken && (sleepers & 1) != 0 -> sleepers = sleepers & ~1; woken++
    :: HANDS_OUT && QUEUED_COUNT > woken && (sleepers & 2) != 0 -> sleepers = sleepers & ~2; woken++
    :: else
    fi
}

/* weiri_pool_wait_locked(); the thread goes on when it IS_AWAKE. */
#define IS_AWAKE ((asleep & self) == 0)
inline wait()
{
    unlock();
    asleep = asleep | self
}

/* --- ended.c --- */

#define HAS_ENDINGS (list[0] == _pid || list[OTHER] == _pid)

/* weiri_ended_note_locked(): without a function for ends, and with other references, the
 * flight's one is given back at once. */
inline note(e)
{
    if
#ifndef TELLS
    :: untold[e] == 0 && references[e] > 1 -> references[e]--
#endif
    :: true ->
        list[e] = _pid; /* it leaves another thread's */
        untold[e]++
    fi
}

/* weiri_ended_drop_locked() */
inline drop(e)
{
    place[e] = IDLE;
    note(e)
}

/* weiri_ended_tell_locked(), a step of it; then is what comes after the last. The first step comes
 * after tellers++. */
inline tell(then)
{
    if
    :: HAS_ENDINGS ->
        telling = (list[0] == _pid -> 0 : OTHER);
        list[telling] = 0;
        count = untold[telling];
        untold[telling] = 0;
        unlock();
        pc = call_user
    :: else -> tellers--; GO_ON(then)
    fi
}

/* --- threads.c: weiri_threads_join_locked(), a step of it --- */

inline join(then)
{
    if
    :: left == 0 -> GO_ON(then)
    :: left > 0 && is_joining -> wait()
    :: left > 0 && !is_joining -> is_joining = true; unlock(); pc = join_one
    fi
}

inline joined()
{
    ended--;
    left--;
    is_joining = false;
    announce();
    holder = _pid
}

/* --- end.c: weiri_pool_leave_locked(), before and after the log --- */

inline leave(then)
{
    if
    :: state == STOPPING && busy == 1 && has_run -> has_run = false; unlock(); pc = log
    :: else -> leave_rest(then)
    fi
}

inline leave_rest(then)
{
    assert(state == STOPPING || busy > 1);
    busy--;
    if
    :: busy == 0 && state == STOPPING ->
        assert(RUNS_NONE && (keeps || HOLDS_NONE)); /* stopped: nothing runs or flies */
        assert(!is_terminating || HOLDS_NONE);
        state = (is_terminating && !PLANTED(NO_TERMINATING) -> TERMINATED : STOPPED);
        is_over = is_terminating
    :: else
    fi;
    announce();
    GO_ON(then)
}

/* The steps: what a thread does next. */
mtype = {
    begin,     /* what a call or a new thread does first */
    work,      /* worker.c: work_locked() */
    resting,   /* weiri_pool_sleep_locked(), after the sleep */
    run_one,   /* run.c: weiri_run_task() */
    settle,    /* settle.c: weiri_run_settle_locked() */
    end_one,   /* settle.c: weiri_run_end_locked() */
    told,      /* worker.c: the run is over, and all that was called because of it */
    telling_on, /* ended.c */
    call_user, /* ended.c: the user's function, and the references that are given back */
    leaving,   /* end.c: weiri_pool_leave_locked() */
    log,       /* end.c: log_end_locked() */
    await,     /* end.c: await_end_locked(); cancel.c: await_run() */
    joining,   /* threads.c: weiri_threads_join_locked() */
    join_one,  /* weiri_thread_join() */
    make,      /* threads.c: start_threads() */
    give_up,   /* a start that fails joins its threads */
    finish     /* the call's last section, or the thread's */
};

#define TELL_STEPS(then)                                                                           \
    :: atomic { SECTION(telling_on) -> tell(then) }                                                \
    :: atomic { pc == call_user ->                                                                 \
        assert(references[telling] >= count && count > 0); /* the envelope exists */               \
        references[telling] = references[telling] - count;                                         \
        count = 0;                                                                                 \
        telling = 0;                                                                               \
        pc = telling_on                                                                            \
       }

proctype Worker(byte number; bool is_refused; bool generation)
{
#define SELF (1 << number)
    mtype pc = begin;
    byte envelope, telling, count;
    bool turn; /* of the tickets */
    do
    :: atomic { SECTION(begin) -> pc = (is_refused -> finish : work) }
    :: atomic { SECTION(resting) && (sleepers & SELF) == 0 -> woken--; GO_ON(work) }
    :: atomic { SECTION(work) ->
        if
        :: state == STOPPING && is_stop -> GO_ON(leaving) /* is_dismissed_locked() */
        :: !(state == STOPPING && is_stop) && HANDS_OUT && QUEUED_COUNT > 0 -> /* take_locked() */
            envelope = (place[0] == QUEUED -> 0 : OTHER);
            if
            :: place[OTHER] == QUEUED -> envelope = OTHER
            :: true
            fi;
            assert(!is_held_back);
            place[envelope] = PROCESSING;
            worker[envelope] = SELF;
            ticket[number] = 1 + turn;
            turn = !turn;
            recalled = recalled & ~SELF;
            unlock();
            pc = run_one
        :: else ->
            if
            :: state == STOPPING -> GO_ON(leaving)
            :: else -> unlock(); sleepers = sleepers | SELF; pc = resting
            fi
        fi
       }
    :: atomic { pc == run_one ->
        assert(references[envelope] > 0); /* the envelope exists */
        assert(worker[envelope] == SELF && (state == RUNNING || state == STOPPING));
        assert(generation == current);
        pc = settle
       }
    :: atomic { SECTION(settle) ->
        if
        :: true
#ifdef RETRIES
        :: TAKES_BACK && (recalled & SELF) == 0 -> place[envelope] = DIRTY
#endif
        fi;
        unlock();
        pc = end_one
       }
    :: atomic { SECTION(end_one) ->
        if
        :: !TAKES_BACK && is_stop && !PLANTED(NO_DROP_PENDING) -> /* drop_pending_locked() */
            place[envelope] = PROCESSING
        :: else
        fi;
        worker[envelope] = 0;
        if
        :: place[envelope] == DIRTY -> place[envelope] = QUEUED
        :: else -> place[envelope] = IDLE; note(envelope)
        fi;
        untold_run[number] = (list[envelope] == _pid -> ticket[number] : 0);
        ticket[number] = (PLANTED(EARLY_TICKET) -> 0 : ticket[number]);
        if
        :: RUNS_NONE && is_paused && !PLANTED(NO_TELL_OF_RUNS) -> announce()
        :: else
        fi;
        envelope = 0;
        tellers++;
        tell(told)
       }
    TELL_STEPS(told)
    :: atomic { SECTION(told) ->
        untold_run[number] = 0;
        ticket[number] = 0;
        if
        :: run_observers > 0 && !PLANTED(QUIET_RUN) -> announce()
        :: else
        fi;
        GO_ON(work)
       }
    :: atomic { SECTION(leaving) -> working--; left++; leave(finish) }
    :: atomic { SECTION(log) -> leave_rest(finish) }
    :: atomic { SECTION(finish) -> unlock(); ended++; break }
    od
}

/* send.c, cancel.c; the thread has a reference of its own. */
proctype Sender(byte self; byte envelope)
{
    mtype pc = begin;
    byte sends = SENDS, telling, count;
    byte observed;      /* a worker's number */
    byte observed_run;  /* its ticket */
    do
    :: atomic { SECTION(begin) && sends > 0 ->
        sends = sends - (sends != MANY);
        assert(references[envelope] > 0);
        if
        :: IS_OPEN && place[envelope] == IDLE ->
            /* begin_flight() */
            references[envelope] = references[envelope] + !PLANTED(NO_REFERENCE);
            place[envelope] = QUEUED
        :: IS_OPEN && place[envelope] == PROCESSING -> place[envelope] = DIRTY
        :: else
        fi;
        unlock()
       }
#ifdef CANCELS
    :: atomic { SECTION(begin) && place[envelope] != IDLE -> /* weir_pool_cancel() */
        if
        :: worker[envelope] == 0 -> drop(envelope)
        :: else ->
            place[envelope] = PROCESSING;
            recalled = recalled | worker[envelope];
            observed = worker[envelope] - 1;
            if
            :: true -> observed_run = ticket[observed] /* with a timeout */
            :: true -> observed = 0
            fi
        fi;
        run_observers = run_observers + (observed_run != 0);
        tellers++;
        tell(await)
       }
    TELL_STEPS(await)
    :: atomic { SECTION(await) && IS_AWAKE ->
        if
        :: observed_run != 0 && ticket[observed] == observed_run -> wait()
        :: else ->
            assert(observed_run == 0 || untold_run[observed] != observed_run); /* all is told */
            run_observers = run_observers - (observed_run != 0);
            observed = 0;
            observed_run = 0;
            unlock();
            pc = begin
        fi
       }
#endif
    :: atomic { SECTION(begin) -> references[envelope]--; break }
    od
}

#define IS_TOO_EARLY ((state == STOPPING || enders > 0) && !PLANTED(NO_WAIT_FOR_OLD))

proctype Starter(byte self)
{
    mtype pc = begin;
    byte made;
    bool is_late; /* the start fails: its threads are to be joined */
    do
    :: atomic { SECTION(begin) && IS_AWAKE -> /* await_startable_locked() */
        if
        :: state == RUNNING || is_terminating -> GO_ON(finish)
        :: !(state == RUNNING || is_terminating) && IS_TOO_EARLY -> wait()
        :: else -> join(make)
        fi
       }
    :: atomic { SECTION(join_one) && ended > 0 ->
        joined();
        pc = (is_late -> give_up : (PLANTED(LOOKS_ONCE) -> make : begin))
       }
    :: atomic { SECTION(make) ->
        GO_ON(finish);
        if
        :: true ->
            assert(working == 0 && !is_over); /* the first, and a later, generation of workers */
            current = !current;
            do
            :: made < WORKERS -> run Worker(made, false, current); working++; busy++; made++
            :: else -> break
            od;
            state = RUNNING;
            is_stop = false;
            has_run = true;
            keeps = true;
            is_held_back = is_paused;
            announce()
        :: true -> /* the system refuses a thread */
            do
            :: made < WORKERS - 1 ->
                run Worker(made, !PLANTED(NO_REFUSAL), current);
                left++;
                made++
            :: true -> break
            od;
            is_late = true;
            pc = give_up
        fi
       }
    :: atomic { SECTION(give_up) && IS_AWAKE -> join(finish) }
    :: atomic { SECTION(finish) -> unlock(); break }
    od
}

proctype Ender(byte self; bool is_last)
{
    mtype pc = begin;
    bool stops; /* a stop, or a termination */
    bool terminates, call_keeps, waits, has_workers;
    bool is_late; /* it waits no longer */
    byte telling, count;
    do
    :: atomic { SECTION(begin) ->
        if
        :: stops = true; terminates = true
        :: !is_last -> stops = true
        :: !is_last
#ifdef KEEPS
        :: !is_last -> stops = true; call_keeps = true
        :: !is_last -> call_keeps = true
#endif
        fi;
        if
        :: waits = true; enders = enders + !PLANTED(NO_ENDERS)
        :: true
        fi;
        has_workers = (state == RUNNING || state == STOPPING);
        if
        :: has_workers || (terminates && state != TERMINATED) ||
           (state == STOPPED && keeps && !call_keeps) -> /* close_locked() */
            ends_nothing = (state == STOPPING -> ends_nothing : !has_workers);
            keeps = keeps && call_keeps;
            is_terminating = is_terminating || terminates;
            is_stop = is_stop || (has_workers && stops);
            state = STOPPING;
            busy = busy + !PLANTED(NO_BUSY);
            is_paused = is_paused && (is_stop || PLANTED(PAUSED_DRAIN));
            is_held_back = is_held_back && is_stop;
            if
            :: !keeps && (is_stop || !has_workers) -> /* drop_rest_locked() */
                for (telling : 0 .. OTHER) {
                    if
                    :: place[telling] == QUEUED -> drop(telling)
                    :: else
                    fi
                }
                telling = 0
            :: else
            fi;
            woken = woken + (PLANTED(NO_WAKE_ALL) -> 0 : (sleepers & 1) + (sleepers >> 1));
            sleepers = (PLANTED(NO_WAKE_ALL) -> sleepers : 0);
            tellers++;
            tell(leaving)
        :: else ->
            is_late = (state == INIT); /* WEIR_ESTATE: there is nothing to wait for */
            GO_ON(await)
        fi;
        has_workers = false;
        call_keeps = false;
        stops = false
       }
    TELL_STEPS(leaving)
    :: atomic { SECTION(leaving) ->
        busy = busy + PLANTED(NO_BUSY); /* only now */
        leave(await)
       }
    :: atomic { SECTION(log) -> leave_rest(await) }
    :: atomic { SECTION(await) && IS_AWAKE ->
        if
        :: !waits || is_late -> GO_ON(finish)
        :: waits && !is_late && state == STOPPING -> wait()
        :: else -> GO_ON(joining)
        fi
       }
#ifdef LIMITS
    :: atomic { SECTION(await) && waits && state == STOPPING ->
        asleep = asleep & ~self;
        is_late = true;
        GO_ON(finish)
       }
#endif
    :: atomic { SECTION(joining) && IS_AWAKE ->
        assert(state != RUNNING && (state != STOPPING || ends_nothing)); /* no start in between */
        join(finish)
       }
    :: atomic { SECTION(join_one) && ended > 0 -> joined(); pc = joining }
    :: atomic { SECTION(finish) ->
        assert(!waits || is_late || (working == 0 && ended == 0));
        enders = enders - (waits && !PLANTED(NO_ENDERS));
        announce();
        unlock();
        break
       }
    od
}

/* lifecycle.c: pauses, resumes, waits */
proctype Pauser(byte self)
{
    mtype pc = begin;
    do
    :: atomic { SECTION(begin) && state != TERMINATED -> /* set_paused() */
        if
        :: is_paused = true;
            is_held_back = (is_held_back || state != STOPPING)
        :: is_paused = false;
            is_held_back = false
        fi;
        announce();
        unlock()
       }
    :: atomic { SECTION(begin) && is_paused && state != TERMINATED -> GO_ON(await) }
    :: atomic { SECTION(await) && IS_AWAKE -> /* weir_pool_pause() */
        if
        :: is_paused && !RUNS_NONE -> wait()
        :: else -> unlock(); pc = begin
        fi
       }
    :: atomic { SECTION(begin) && state != TERMINATED ->
        idle_observers++;
        idle_waiters = idle_waiters | self;
        GO_ON(resting)
       }
    :: atomic { SECTION(resting) && IS_AWAKE -> /* weir_pool_wait_idle() */
        if
        :: !IS_IDLE_POOL && !(HAS_ENDED && tellers == 0) -> wait()
        :: else ->
            idle_observers--;
            idle_waiters = idle_waiters & ~self;
            unlock();
            pc = begin
        fi
       }
    :: atomic { pc == begin -> break }
    od
}

#define STARTER(n) (1 << (n))
#define ENDER(n) (1 << (STARTERS + (n)))
#define PAUSER(n) (1 << (STARTERS + ENDERS + (n)))
#define SENDER(n) (1 << (STARTERS + ENDERS + PAUSERS + (n)))
init
{
    byte i;
    atomic {
        for (i : 0 .. STARTERS - 1) { run Starter(STARTER(i)) }
        for (i : 0 .. ENDERS - 1) { run Ender(ENDER(i), false) }
        for (i : 0 .. PAUSERS - 1) { run Pauser(PAUSER(i)) }
        for (i : 0 .. SENDERS * ENVELOPES - 1) {
            references[i % ENVELOPES]++;
            run Sender(SENDER(i), i % ENVELOPES)
        }
        i = 0
    }
    /* All is quiet: workers sleep, and threads that wait for idleness. A termination ends all. */
    atomic {
        timeout ->
        assert((asleep & ~idle_waiters) == 0);
        assert(asleep == 0 || (!IS_IDLE_POOL && !HAS_ENDED));
        assert(state != STOPPING);
        assert(sleepers == 0 || QUEUED_COUNT == 0 || !HANDS_OUT);
        run Ender(ENDER(0), true)
    }
    _nr_pr == 1;
    assert((state == TERMINATED) == is_over);
    assert(state == INIT || keeps || (HOLDS_NONE && IS_ALL_RELEASED))
}
