/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The mutex and the condition of src/base/sync.c, each access to a word a step: any number of locks
 * and unlocks, and waits for a value that other threads change. Memory is sequentially consistent
 * here. What the mutex guards is visible in C11's memory too: the word changes by acquire where the
 * mutex is taken, and by release where it is given back. No sleep has the bound of base/wait.h.
 *
 * default ROUNDS=2: of each thread that does not wait
 * default WAITERS=0
 * default SPURIOUS=1: sleeps that end for no reason
 * default FAULT=NO_FAULT
 * check mutex ROUNDS=MANY
 * check condition WAITERS=2
 * check spurious WAITERS=1 SPURIOUS=2
 * fails both-lock FAULT=NO_COMPARE ROUNDS=MANY => holders==0
 * fails sleeper-leaves-no-mark FAULT=TAKES_AS_ONE ROUNDS=MANY => invalid end state
 * fails unlock-wakes-nobody FAULT=NO_WAKE ROUNDS=MANY => invalid end state
 * fails waiter-reads-late FAULT=LATE_READ WAITERS=1 => invalid end state
 * fails signal-is-not-counted FAULT=NO_COUNT WAITERS=1 => invalid end state
 * fails signal-for-two FAULT=SIGNAL_ONE WAITERS=2 => invalid end state
 */

#include "common.h"

#define THREADS 3

/* sync.h: struct weiri_mutex, struct weiri_cond */
byte state, signals;

byte asleep_on_mutex; /* threads that the kernel has asleep: a bit each */
byte asleep_on_signals, spurious = SPURIOUS, holders;
byte value; /* what waiters wait for: guarded by the mutex */

/* futex.c: the kernel wakes any one sleeper. */
inline wake_one(sleepers)
{
    if
    :: (sleepers & 1) != 0 -> sleepers = sleepers & ~1
    :: (sleepers & 2) != 0 -> sleepers = sleepers & ~2
    :: (sleepers & 4) != 0 -> sleepers = sleepers & ~4
    :: sleepers == 0
    fi
}

inline sleep_on(sleepers, is_as_expected)
{
    atomic {
        if
        :: is_as_expected -> sleepers = sleepers | self
        :: else
        fi
    }
    atomic {
        (sleepers & self) == 0 || spurious > 0 ->
        spurious = spurious - ((sleepers & self) != 0);
        sleepers = sleepers & ~self
    }
}

/* weiri_mutex_lock(), weiri_mutex_wait(); its tries with pauses are one more of the first. */
inline lock()
{
    atomic { seen = state; state = (seen == 0 -> 1 : seen) }
    seen = (PLANTED(NO_COMPARE) -> 0 : seen);
    do
    :: seen == 0 -> break
    :: else ->
        atomic { seen = state; state = (seen == 0 && PLANTED(TAKES_AS_ONE) -> 1 : 2) }
        if
        :: seen != 0 -> sleep_on(asleep_on_mutex, state == 2)
        :: else
        fi
    od;
    atomic { assert(holders == 0); holders++ }
}

/* weiri_mutex_unlock(): the exchange, and the system call */
inline unlock()
{
    holders--;
    atomic { seen = state; state = 0 }
    if
    :: seen == 2 && !PLANTED(NO_WAKE) -> atomic { wake_one(asleep_on_mutex) }
    :: else
    fi;
    seen = 0
}

/* weiri_cond_wait() */
inline cond_wait()
{
    before = signals;
    unlock();
    before = (PLANTED(LATE_READ) -> signals : before);
    sleep_on(asleep_on_signals, signals == before);
    before = 0;
    lock()
}

/* weiri_cond_broadcast(); weiri_cond_signal() */
inline notify()
{
    signals = signals + !PLANTED(NO_COUNT);
    if
    :: PLANTED(SIGNAL_ONE) -> atomic { wake_one(asleep_on_signals) }
    :: else -> asleep_on_signals = 0
    fi
}

/* Locks and unlocks, and changes the value once where others wait for it. */
proctype Thread(byte self)
{
    byte seen, rounds = ROUNDS;
    do
    :: rounds > 0 ->
        rounds = rounds - (rounds != MANY);
        lock();
        if
        :: value < WAITERS -> value = WAITERS; notify()
        :: else
        fi;
        unlock()
    :: rounds == 0 || ROUNDS == MANY -> break
    od
}

proctype Waiter(byte self)
{
    byte seen, before;
    lock();
    do
    :: value < WAITERS -> cond_wait()
    :: else -> break
    od;
    unlock()
}

init
{
    byte i;
    atomic {
        for (i : 0 .. WAITERS - 1) { run Waiter(1 << i) }
        for (i : WAITERS .. THREADS - 1) { run Thread(1 << i) }
    }
    _nr_pr == 1;
    assert(state == 0)
}
