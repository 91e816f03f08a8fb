/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs of a tube of the SQLite store: src/jobs/core/state.c, and what row.c, put.c, keys.c and exchange.c
 * of src/jobs/sqlite make of it. A transaction is one step, since the lock file excludes. Workers are
 * processes: they reserve, touch, settle, come late, and are killed; one of them lives on. All jobs
 * have the same key, and a put while the job runs lets it be, or asks for one more run. An operator
 * kicks and removes, cancels with a verdict, and takes a job back from its worker, dead or not.
 *
 * Left out: times (a lease may end, and a delayed job be due, at any moment), several tubes, bodies,
 * schedules, policies, and leases that the same process keeps from ending.
 *
 * default PUTS=3
 * default EXPIRES=2: leases that end though their worker lives
 * default KILLS=1: of two workers
 * default ORDERS=0: kicks and removals
 * default CANCELS=0: cancels and takings back
 * default FAULT=NO_FAULT
 * check jobs
 * check operator ORDERS=2 PUTS=2 EXPIRES=1
 * check control CANCELS=2 ORDERS=1 PUTS=2 EXPIRES=1
 * check quiet KILLS=0 EXPIRES=0 PUTS=6
 * check failing EXPIRES=5 PUTS=2
 * fails settles-with-an-old-token FAULT=OLD_TOKEN => holder[
 * fails touches-with-an-old-token FAULT=TOUCHES_ANY => holder[
 * fails token-stays FAULT=TOKEN_STAYS PUTS=1 => holder[
 * fails lease-ends-early FAULT=EXPIRES_EARLY => is_over[
 * fails run-is-not-repeated FAULT=FORGETS_AGAIN => !(is_owed[
 * fails run-is-repeated-twice FAULT=AGAIN_OF_ANY_RUN => is_owed[
 * fails key-outlives-its-job FAULT=KEEPS_KEY => has_key[
 * fails key-is-lost-at-a-retry FAULT=RETRY_FREES_KEY => has_key[0]
 * fails removes-a-job-that-runs FAULT=REMOVES_RESERVED ORDERS=1 => !=3
 * fails lost-run-is-no-attempt FAULT=EXPIRES_FOR_EVER EXPIRES=5 => attempts[
 * fails verdict-lost-at-the-end-of-a-lease FAULT=LOSES_VERDICT CANCELS=1 PUTS=1 => is_doomed[
 * fails verdict-lost-at-a-retry FAULT=RETRIES_DOOMED CANCELS=1 PUTS=1 => is_doomed[
 * fails verdict-of-another-fence FAULT=KEEPS_VERDICT CANCELS=1 PUTS=2 => asked[
 * fails count-is-lost FAULT=MISCOUNTS => count[
 * fails lease-never-ends FAULT=NEVER_EXPIRES => invalid end state
 */

#include "common.h"

#define ATTEMPTS_MAX 2

/* weir/job.h */
#define GONE 0
#define DELAYED 1
#define READY 2
#define RESERVED 3
#define BURIED 4

/* Two rows of the store. A new job in an old row has other tokens, as it has another id there. */
byte state[2], attempts[2], token[2], again[2];
byte verdict[2]; /* on the reservation */
#define BURY 1
#define REMOVE 2
#define RETRY 3
byte key;      /* the job that has it, from 1 */
byte count[5]; /* of the tube */

/* Books: what was promised, apart from the store's own state. */
bool is_over[2]; /* the lease has ended */
bool is_owed[2]; /* a put during the run that no later run has covered */
bool has_key[2]; /* it was put with the key, and is not done, removed or buried */
byte holder[2];  /* the worker of the last reservation */
byte kicks[2];   /* runs beyond ATTEMPTS_MAX that an operator asked for */
byte asked[2];   /* the token that the job had when it was cancelled last */
bool is_doomed[2]; /* it was cancelled for good, and is not to run again */
byte dead;       /* the worker that was killed */
byte cancels = CANCELS;
byte puts = PUTS, expires = EXPIRES, kills = KILLS, orders = ORDERS;

#define WAITS(j) (state[j] == DELAYED || state[j] == READY)
#define IS_LIVE(j) (WAITS(j) || state[j] == RESERVED)
#define HAS_EXPIRED(j) \
    (state[j] == RESERVED && (is_over[j] || PLANTED(EXPIRES_EARLY)) && !PLANTED(NEVER_EXPIRES))
#define RUNS_AGAIN(j) \
    (!PLANTED(FORGETS_AGAIN) && again[j] != 0 && (again[j] == token[j] || PLANTED(AGAIN_OF_ANY_RUN)))
#define HAS_VERDICT(j) (verdict[j] == BURY || verdict[j] == REMOVE)
#define IS_ALL_OVER (puts == 0 && orders == 0 && !IS_LIVE(0) && !IS_LIVE(1))

/* weiri_row_step(): the counts follow the state. */
inline turn_to(j, to)
{
    assert(state[j] == GONE || count[state[j]] > 0);
    count[state[j]] = count[state[j]] - (state[j] != GONE);
    count[to] = count[to] + (to != GONE && !(PLANTED(MISCOUNTS) && to == READY));
    verdict[j] = (PLANTED(KEEPS_VERDICT) -> verdict[j] : 0);
    state[j] = to
}

/* finish_step(): a job that has ended or is buried has no key. */
inline finish(j, to)
{
    turn_to(j, to);
    has_key[j] = false;
    key = (key == j + 1 && !PLANTED(KEEPS_KEY) -> 0 : key);
    again[j] = 0;
    is_doomed[j] = is_doomed[j] && to != GONE;
    attempts[j] = (to == GONE -> 0 : attempts[j]);
    kicks[j] = (to == GONE -> 0 : kicks[j])
}

/* The last run has ended: WEIRI_JOB_RENEW where a put asked for it during that run. */
inline end(j, to)
{
    if
    :: RUNS_AGAIN(j) ->
        assert(is_owed[j]);
        is_doomed[j] = false;
        attempts[j] = 0;
        kicks[j] = 0;
        turn_to(j, READY)
    :: else ->
        assert(!is_owed[j]);
        finish(j, to)
    fi
}

/* lose(): the run is lost, and its verdict applied. */
inline lose(j)
{
    if
    :: verdict[j] == BURY && !PLANTED(LOSES_VERDICT) -> assert(asked[j] == token[j]); end(j, BURIED)
    :: verdict[j] == REMOVE && !PLANTED(LOSES_VERDICT) -> assert(asked[j] == token[j]); end(j, GONE)
    :: else ->
        if
        :: attempts[j] >= ATTEMPTS_MAX && !PLANTED(EXPIRES_FOR_EVER) -> end(j, BURIED)
        :: else -> turn_to(j, READY)
        fi
    fi
}

/* promote() */
inline expire(j)
{
    if
    :: HAS_EXPIRED(j) -> assert(is_over[j]); lose(j)
    :: else
    fi
}

inline take(j)
{
    assert(!is_doomed[j]);
    turn_to(j, RESERVED);
    attempts[j]++;
    assert(attempts[j] <= ATTEMPTS_MAX + kicks[j]);
    token[j] = token[j] + !PLANTED(TOKEN_STAYS);
    holder[j] = self;
    is_over[j] = false;
    is_owed[j] = false;
    held = token[j];
    mine = j + 1
}

/* reserve(): any job that waits; which of the delayed ones is due is a matter of time. */
inline reserve()
{
    expire(0);
    expire(1);
    if
    :: WAITS(0) -> take(0)
    :: WAITS(1) -> take(1)
    :: !WAITS(0) && !WAITS(1)
    fi
}

/* settle(): the lease may have ended; what counts is that no other worker has the job. */
inline settle(j)
{
    if
    :: state[j] == RESERVED && (token[j] == held || PLANTED(OLD_TOKEN)) ->
        assert(holder[j] == self);
        if
        :: end(j, GONE) /* it has succeeded, whatever was asked */
        :: verdict[j] == BURY -> assert(asked[j] == token[j]); end(j, BURIED)
        :: verdict[j] == REMOVE -> assert(asked[j] == token[j]); end(j, GONE)
        :: attempts[j] < ATTEMPTS_MAX && (!HAS_VERDICT(j) || PLANTED(RETRIES_DOOMED)) ->
            turn_to(j, DELAYED);
            key = (PLANTED(RETRY_FREES_KEY) -> 0 : key)
        :: attempts[j] >= ATTEMPTS_MAX && !HAS_VERDICT(j) -> end(j, BURIED)
        fi
    :: else /* WEIR_ELEASELOST */
    fi
}

inline touch(j)
{
    if
    :: state[j] == RESERVED && (token[j] == held || PLANTED(TOUCHES_ANY)) ->
        assert(holder[j] == self);
        is_over[j] = false
    :: else
    fi
}

proctype Worker(byte self)
{
    byte mine, held; /* the job that it runs, from 1, and the reservation's token */
    do
    :: atomic { mine == 0 && (WAITS(0) || WAITS(1) || HAS_EXPIRED(0) || HAS_EXPIRED(1)) ->
        reserve()
       }
    :: atomic { mine != 0 -> settle(mine - 1); mine = 0; held = 0 }
    :: atomic { mine != 0 && is_over[mine - 1] -> touch(mine - 1) }
    :: atomic { kills > 0 -> kills--; dead = self; break }
    :: atomic { mine == 0 && IS_ALL_OVER -> break }
    od
}

/* A lease ends when its worker is dead, or was suspended for too long. */
inline end_lease(j)
{
    state[j] == RESERVED && !is_over[j] && (expires > 0 || holder[j] == dead) ->
    expires = expires - (holder[j] != dead);
    is_over[j] = true
}

proctype Clock()
{
    do
    :: atomic { end_lease(0) }
    :: atomic { end_lease(1) }
    :: atomic { IS_ALL_OVER -> break }
    od
}

/* weiri_put_run() without a job that has the key */
inline add(j)
{
    turn_to(j, DELAYED);
    key = j + 1;
    has_key[j] = true;
    assert(!(has_key[0] && has_key[1]))
}

proctype Producer()
{
    do
    :: atomic { puts > 0 && key == 0 && state[0] == GONE -> puts--; add(0) }
    :: atomic { puts > 0 && key == 0 && state[1] == GONE -> puts--; add(1) }
    :: atomic { puts > 0 && key == 0 && state[0] != GONE && state[1] != GONE -> puts-- }
    :: atomic { puts > 0 && key != 0 -> /* WEIR_DUPLICATE_KEEP; WEIR_DUPLICATE_AGAIN */
        assert(has_key[key - 1]);
        puts--;
        if
        :: true
        :: state[key - 1] == RESERVED -> again[key - 1] = token[key - 1]; is_owed[key - 1] = true
        fi
       }
    :: atomic { puts == 0 -> break }
    od
}

/* An operator's change of a job; there may be none for it. */
inline order(j)
{
    if
    :: state[j] == BURIED -> turn_to(j, READY); kicks[j]++; is_doomed[j] = false
    :: state[j] != GONE && (state[j] != RESERVED || PLANTED(REMOVES_RESERVED)) ->
        assert(state[j] != RESERVED);
        is_owed[j] = false;
        finish(j, GONE)
    :: true
    fi
}

/* A cancel of a job, or its taking back; there may be none for it. */
inline control(j)
{
    if
    :: state[j] == RESERVED ->
        if
        :: verdict[j] = BURY; is_doomed[j] = true
        :: verdict[j] = REMOVE; is_doomed[j] = true
        :: verdict[j] = RETRY; is_doomed[j] = false
        fi;
        asked[j] = token[j]
    :: state[j] == RESERVED -> lose(j)
    :: WAITS(j) ->
        is_owed[j] = false;
        if
        :: finish(j, BURIED)
        :: finish(j, GONE)
        fi
    :: true
    fi
}

proctype Operator()
{
    do
    :: atomic { cancels > 0 -> cancels--; control(0) }
    :: atomic { cancels > 0 -> cancels--; control(1) }
    :: atomic { orders > 0 -> orders--; order(0) }
    :: atomic { orders > 0 -> orders--; order(1) }
    :: atomic { orders == 0 && cancels == 0 -> break }
    od
}

init
{
    atomic { run Clock(); run Producer(); run Operator(); run Worker(1); run Worker(2) }
    _nr_pr == 1;
    /* Nothing is left that somebody should have done. */
    assert(IS_ALL_OVER);
    assert(count[DELAYED] == 0 && count[READY] == 0 && count[RESERVED] == 0)
}
