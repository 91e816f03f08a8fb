/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The word of an embedded item (src/queue/item.h) between an add that is coalesced without the lock
 * and the threads that have it: what the adder wrote before must be visible to the run that covers
 * the add. Each access to the word is a step. Visibility is C11's: an acquire read sees what its
 * writer knew if it reads a release write, or a read-modify-write that follows one. A plain store
 * in between hides it. All is asked of one add; the others have the mutex any number of times.
 *
 * default CALLS=MANY: of the others
 * default FAULT=NO_FAULT
 * check one-add
 * ends no-calls CALLS=3
 * fails accepted-by-a-load FAULT=LOAD_ONLY => sees
 * fails relaxed-swap FAULT=RELAXED_SWAP => sees
 * fails start-stores FAULT=START_STORES => sees
 * fails done-stores FAULT=DONE_STORES => sees
 * fails wait-stores FAULT=WAIT_STORES => sees
 */

#include "common.h"

#define IS_PENDING(place) ((place) == QUEUED || (place) == DIRTY)

byte word;
bool carries; /* a thread that acquires the word sees what the adder wrote */
bool is_locked;
bool sees;    /* the thread that has the mutex does, and so does each that has it after */
bool is_owed; /* the add was accepted, and no run has begun since */

#define LOAD_ACQUIRE(to) to = word; sees = sees || carries
#define STORE_RELEASE(place) word = place; carries = sees
#define EXCHANGE(place) word = place; sees = sees || carries; carries = sees

inline lock()
{
    atomic { !is_locked -> is_locked = true }
}

inline unlock()
{
    is_locked = false
}

/* core.c: enqueue() */
inline enqueue()
{
    atomic { LOAD_ACQUIRE(seen) }
    atomic {
        if
        :: seen == IDLE -> STORE_RELEASE(QUEUED)
        :: seen == PROCESSING -> STORE_RELEASE(DIRTY)
        :: else
        fi
    }
}

/* add.c: weir_queue_add(), once */
proctype Adder()
{
    byte seen;
    bool has_added;
    seen = word; /* item.h: weiri_item_coalesces() */
    if
    :: IS_PENDING(seen) ->
        atomic {
            has_added = (word == seen || PLANTED(LOAD_ONLY));
            is_owed = has_added;
            carries = carries || (has_added && !PLANTED(LOAD_ONLY) && !PLANTED(RELAXED_SWAP))
        }
    :: else
    fi;
    if
    :: !has_added ->
        lock();
        sees = true;
        is_owed = true;
        enqueue();
        unlock()
    :: else
    fi
}

/* The threads that have the mutex, one at a time. */
proctype Others()
{
    byte seen, calls = CALLS;
    do
    :: calls > 0 ->
        calls = calls - (calls != MANY);
        lock();
        if
        :: enqueue()
        :: atomic { LOAD_ACQUIRE(seen) } /* core.c: wait() */
            atomic {
                if
                :: seen == IDLE || PLANTED(WAIT_STORES) -> STORE_RELEASE(seen)
                :: else
                fi
            }
        :: atomic { word == QUEUED -> /* core.c: weiri_core_start() */
            sees = sees || (carries && !PLANTED(START_STORES));
            STORE_RELEASE(PROCESSING); /* with the line before, an exchange */
            assert(!is_owed || sees); /* by the run, of which the thread's next step is part */
            is_owed = false
           }
        :: atomic { word >= PROCESSING -> LOAD_ACQUIRE(seen) } /* weiri_core_done() */
            atomic {
                if
                :: seen == DIRTY && !PLANTED(DONE_STORES) -> EXCHANGE(QUEUED)
                :: seen == DIRTY && PLANTED(DONE_STORES) -> STORE_RELEASE(QUEUED)
                :: else -> STORE_RELEASE(IDLE)
                fi
            }
        :: atomic { IS_PENDING(word) -> LOAD_ACQUIRE(seen) } /* weiri_core_cancel() */
            atomic {
                if
                :: seen == QUEUED -> STORE_RELEASE(IDLE)
                :: else -> EXCHANGE(PROCESSING)
                fi;
                is_owed = false
            }
        :: true /* another item's */
        fi;
        unlock();
        seen = 0
    :: calls == 0 || CALLS == MANY -> break
    od
}

init
{
    atomic {
        run Others();
        run Adder()
    }
}
