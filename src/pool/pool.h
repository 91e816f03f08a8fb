/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_H
#define WEIRI_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/lifecycle.h>
#include <weir/pool.h>

#include "base/clock.h"
#include "base/end.h"
#include "base/event_fd.h"
#include "base/forked.h"
#include "base/park.h"
#include "base/sync.h"
#include "base/waiters.h"
#include "context/context.h"
#include "context/scope.h"
#include "metrics/registry.h"
#include "pool/envelope.h"
#include "queue/core.h"

/* A pool: a queue's core, threads that run the envelopes, and their life, under one mutex
 * (docs/internals/pool.md).
 *
 * The core alone knows which envelopes the pool holds and where each is. An envelope is in flight
 * while the core holds it. The rest are a few fields, and predicates over both.
 *
 * Of the user's functions only the allocator is called with the mutex held. Order of locks: a
 * manual clock's mutex or a registry's may be held when it is taken; none is taken inside. */

#define WEIRI_WORKERS_MAX 4096

/* The caller holds the mutex of the argument pool. */
#define WEIRI_POOL_LOCKED WEIRI_REQUIRES(pool->mutex)

/* A thread of the pool, or the record of one that was. Records are freed with the pool. */
struct weiri_worker {
    weir_pool *pool;
    struct weiri_thread thread;
    weir_context context;
    struct weiri_worker *next;

    /* Guarded by the pool's mutex. */
    bool has_thread;     /* a thread was started and has not been joined */
    bool is_refused;     /* the start or resize that made the thread failed: it leaves at once */
    bool has_left;       /* the thread ends, and is to be joined */
    uintptr_t thread_id; /* while it works; 0: it does not */
    /* The run under way, until the return of all that is called because of its end. */
    weir_envelope *envelope;
    uint64_t ticket;  /* 0: there is none */
    bool is_recalled; /* weir_pool_cancel() cancelled this run: no retry, no next firing */
    uint32_t lost;    /* pending runs that the cancel removed */
};

/* A send of count envelopes, all or none. */
struct weiri_send {
    weir_envelope *const *envelopes;
    size_t count;
    int64_t time_ns;  /* WEIRI_AT_ONCE */
    int64_t limit_ns; /* of the wait for capacity */
    uint32_t when_full;
    /* While the thread waits for capacity, in the pool's list senders. */
    struct weiri_list link;
    struct weiri_parker parker;
    size_t held; /* pool.core.held at its last try; a lower value wakes it */
    bool is_woken;
};

struct weir_pool {
    /* Immutable after weir_pool_new(). */
    struct weir_pool_options options; /* checked, with defaults */
    uint64_t process;                 /* the mark of the process that made it (base/forked.h) */
    char *own_name;                   /* what the options point at, if the pool owns it */
    struct weir_stamp *own_stamps;
    struct weiri_watchdog watchdog; /* there is none without overdue_ns */
    struct weiri_membership membership;
    struct weiri_clock_user clock_user;
    bool is_published; /* in options.metrics */
    struct weiri_source queue_source;
    struct weiri_source pool_source;

    /* Whether a send of a one-off envelope that is queued or dirty changes nothing. Written with
     * the mutex held, read without. */
    atomic_bool coalesces;

    struct weiri_mutex mutex;
    struct weiri_contexts contexts;                /* with the same mutex */
    struct weiri_cond changed;                     /* see weiri_pool_wait_locked() */
    size_t observers WEIRI_GUARDED_BY(mutex);      /* threads that wait for changed */
    size_t idle_observers WEIRI_GUARDED_BY(mutex); /* those that wait until the pool is idle */
    size_t run_observers WEIRI_GUARDED_BY(mutex);  /* those that wait for the end of a run */

    struct weiri_core core WEIRI_GUARDED_BY(mutex);
    struct weiri_queue_sample meter WEIRI_GUARDED_BY(mutex);
    struct weir_pool_counts counts WEIRI_GUARDED_BY(mutex); /* without its first four members */
    int64_t now_ns WEIRI_GUARDED_BY(mutex);                 /* the latest reading of the clock */
    /* Of the waiting envelopes, those that wait for their schedules alone (pool/recur.c). One that
     * is queued or runs may be in the wrong count; it is counted again when it is idle. */
    size_t scheduled WEIRI_GUARDED_BY(mutex);

    /* Groups (pool/group.h). */
    struct weiri_table groups WEIRI_GUARDED_BY(mutex);
    struct weiri_list aside WEIRI_GUARDED_BY(mutex);    /* queued, not in the ring; oldest first */
    struct weiri_list admitted WEIRI_GUARDED_BY(mutex); /* of these, those with a slot */
    size_t admitted_count WEIRI_GUARDED_BY(mutex);

    struct weiri_list senders WEIRI_GUARDED_BY(mutex); /* that wait for capacity; in order */
    struct weiri_list tellers WEIRI_GUARDED_BY(mutex); /* threads that tell of ends, or log */

    struct weiri_worker *workers WEIRI_GUARDED_BY(mutex);  /* all records */
    struct weiri_waiters sleepers WEIRI_GUARDED_BY(mutex); /* workers with nothing to run */
    size_t worker_count WEIRI_GUARDED_BY(mutex);           /* that it runs with, or will */
    size_t leavers WEIRI_GUARDED_BY(mutex);  /* workers that a resize still wants to leave */
    bool is_joining WEIRI_GUARDED_BY(mutex); /* a thread joins those that have left */

    /* Life (pool/lifecycle.c). While the pool runs or stops, busy counts its workers and the
     * threads that are ending it. The last of them to leave makes it stopped. */
    enum weir_pool_state state WEIRI_GUARDED_BY(mutex);
    size_t busy WEIRI_GUARDED_BY(mutex);
    size_t working WEIRI_GUARDED_BY(mutex); /* of these, the workers */
    size_t enders WEIRI_GUARDED_BY(mutex);  /* threads that wait for the end: no start before */
    bool is_paused WEIRI_GUARDED_BY(mutex);
    struct weiri_end end WEIRI_GUARDED_BY(mutex);        /* of all requests since the last start */
    enum weir_end_mode ended_as WEIRI_GUARDED_BY(mutex); /* of those that came to workers */
    bool has_run WEIRI_GUARDED_BY(mutex);                /* started since the last such line */
    uint64_t dropped_before WEIRI_GUARDED_BY(mutex);     /* counted in that line */
    struct weiri_event_fd fd WEIRI_GUARDED_BY(mutex);    /* weir_pool_fd() */
};

/* Checks a caller's pool: WEIR_EINVAL, WEIR_EFORKED. */
WEIR_NODISCARD static inline enum weir_status weiri_pool_check(const weir_pool *pool)
{
    return pool == NULL ? WEIR_EINVAL : weiri_forked_since(pool->process) ? WEIR_EFORKED : WEIR_OK;
}

/* --- predicates --- */

/* Sends are accepted, and time passes. */
static inline bool weiri_pool_is_open_locked(const weir_pool *pool) WEIRI_POOL_LOCKED
{
    return pool->state == WEIR_POOL_STATE_INIT || pool->state == WEIR_POOL_STATE_RUNNING;
}

/* The earliest pending time; INT64_MAX: none, or time stands still. */
static inline int64_t weiri_pool_next_time_locked(const weir_pool *pool) WEIRI_POOL_LOCKED
{
    return weiri_pool_is_open_locked(pool) ? weiri_core_next_time(&pool->core) : INT64_MAX;
}

/* Queued envelopes are handed to workers. */
static inline bool weiri_pool_hands_out_locked(const weir_pool *pool) WEIRI_POOL_LOCKED
{
    return (pool->state == WEIR_POOL_STATE_RUNNING && !pool->is_paused) ||
           (pool->state == WEIR_POOL_STATE_STOPPING && pool->end.mode == WEIR_END_DRAIN);
}

_Static_assert(WEIR_ENDED_FINISHED == WEIR_ENDED_DRAINED + (int)WEIR_END_FINISH &&
                   WEIR_ENDED_STOPPED == WEIR_ENDED_DRAINED + (int)WEIR_END_STOP &&
                   WEIR_ENDED_TERMINATED == WEIR_ENDED_DRAINED + (int)WEIR_END_TERMINATE,
               "the reasons of ends have the order of their modes");

/* Why an envelope ends that an end drops. */
static inline enum weir_ended_reason weiri_pool_drop_reason_locked(const weir_pool *pool)
    WEIRI_POOL_LOCKED
{
    return (enum weir_ended_reason)(WEIR_ENDED_DRAINED + (int)pool->end.mode);
}

/* It has stopped, and all that it dropped was told. */
static inline bool weiri_pool_has_ended_locked(const weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    return !weiri_pool_is_open_locked(pool) && pool->state != WEIR_POOL_STATE_STOPPING &&
           weiri_list_is_empty(&pool->tellers);
}

/* Nothing will be run unless somebody sends it, except the next firings of periodic envelopes. */
bool weiri_pool_is_idle_locked(const weir_pool *pool) WEIRI_POOL_LOCKED;

/* Runs of the item that were asked for and have not begun: a queued or dirty place, a pending
 * time. */
static inline uint32_t weiri_pending_runs(const struct weir_item *item)
{
    enum weir_place place = weiri_item_place(item);
    return (place == WEIR_PLACE_QUEUED || place == WEIR_PLACE_DIRTY ? 1u : 0u) +
           (item->weir_wait != 0 ? 1u : 0u);
}

/* --- the mutex (state.c) --- */

/* Locks, and queues due envelopes. */
void weiri_pool_lock(weir_pool *pool) WEIRI_ACQUIRE(pool->mutex);
/* Wakes the threads that the state has work for, and unlocks. */
void weiri_pool_unlock(weir_pool *pool) WEIRI_RELEASE(pool->mutex);
/* Wakes the threads, and sleeps once as a worker with nothing to run. */
void weiri_pool_sleep_locked(weir_pool *pool) WEIRI_POOL_LOCKED;

/* Queues an envelope that is in flight, as of now_ns, or has it wait for a time. Cannot fail: its
 * places in the ring and among the waiting ones are reserved while the core holds it. */
struct weiri_added weiri_pool_again_locked(weir_pool *pool, weir_envelope *envelope,
                                           int64_t time_ns, int64_t now_ns) WEIRI_POOL_LOCKED;

/* A step of the pool's manual clock. */
void weiri_pool_on_step(struct weiri_clock_user *user);

/* Waits for a change: another state, a pause or resume, a worker that left, a paused pool without
 * runs, the end of an observed run, idleness, the end of a join, or a thread that stopped waiting
 * for the end; at most until the clock shows limit_ns. May return for no reason. False: the limit
 * has passed. */
bool weiri_pool_wait_locked(weir_pool *pool, int64_t limit_ns) WEIRI_POOL_LOCKED;
/* Wakes a send whose answer may be another one now. */
void weiri_send_wake(struct weiri_send *send);
/* Tells the threads that wait for a change. */
void weiri_pool_announce_locked(weir_pool *pool) WEIRI_POOL_LOCKED;

/* --- the log (log.c) --- */

/* Logs one line about the pool, with its name. Not with the mutex held. */
void weiri_pool_log(weir_pool *pool, enum weir_log_level level, const char *format, ...)
    WEIR_PRINTF(3, 4);
/* Logs that the context's run panicked or crashed, with a line for each address. */
weiri_panicked_fn weiri_pool_log_panic;

/* --- workers (worker.c, threads.c) --- */

/* The calling worker of this pool; NULL: the thread is none. */
struct weiri_worker *weiri_pool_self_locked(weir_pool *pool) WEIRI_POOL_LOCKED;
/* The calling thread is a worker, or tells of ends (ended.c). The pool does not end or become idle
 * before the thread has returned, so the thread must not wait for that. */
bool weiri_pool_needs_caller_locked(weir_pool *pool) WEIRI_POOL_LOCKED;

/* The main function of a worker's thread; arg is its struct weiri_worker. */
void weiri_worker_main(void *arg);

/* Starts count threads, which wait for the mutex. WEIR_ETHREAD, WEIR_ENOMEM: none is left. The
 * mutex may be released meanwhile on failure. */
WEIR_NODISCARD enum weir_status weiri_threads_start_locked(weir_pool *pool,
                                                           size_t count) WEIRI_POOL_LOCKED;
/* Joins the threads that have left, or waits for the thread that does. True: the mutex was released
 * meanwhile. */
bool weiri_threads_join_locked(weir_pool *pool) WEIRI_POOL_LOCKED;
/* Makes records until count of them have no thread. WEIR_ENOMEM: as many as could be made. */
WEIR_NODISCARD enum weir_status weiri_workers_reserve_locked(weir_pool *pool,
                                                             size_t count) WEIRI_POOL_LOCKED;
void weiri_workers_free(weir_pool *pool);

/* --- life (end.c) --- */

/* A worker, which is not working any more, or an ending thread leaves. The last one logs the end,
 * with the mutex released meanwhile, and sets the state to stopped or terminated. */
void weiri_pool_leave_locked(weir_pool *pool) WEIRI_POOL_LOCKED;
/* Shows event loops whether the pool has ended. */
void weiri_pool_show_end_locked(weir_pool *pool) WEIRI_POOL_LOCKED;
/* The pool's scope was cancelled. */
void weiri_pool_on_cancel(struct weiri_membership *membership);

/* --- metrics (measure.c) --- */

/* Shows the pool and its queue in the registry of its options, if any. WEIR_EBUSY (the name is
 * taken), WEIR_EINVAL (it is empty or not UTF-8), WEIR_EFORKED. */
WEIR_NODISCARD enum weir_status weiri_pool_publish(weir_pool *pool, struct weir_error *ret_error);
void weiri_pool_unpublish(weir_pool *pool);

#endif
