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
#include <weir/queue.h>

#include "base/forked.h"
#include "base/sync.h"
#include "pool/context.h"
#include "pool/envelope.h"
#include "pool/outcome.h"
#include "pool/reserve.h"
#include "pool/scope.h"
#include "queue/groups.h"

/* A pool is threads on a queue. Which envelopes it holds, how many, and whether it accepts more is
 * known by that queue and by nothing else; the pool adds the threads and their life (design notes:
 * docs/internals/pool.md).
 *
 * Locks: the pool's mutex guards its life-cycle, the scope's mutex its sleeping tasks; a clock's
 * may be held when the scope's is taken. No other two are ever held at once, and none while a task,
 * a callback or the queue is called. */

#define WEIRI_WORKERS_MAX 4096

/* Where a worker's thread waits until all are made. */
enum weiri_gate {
    WEIRI_GATE_OPEN,
    WEIRI_GATE_SHUT,
    WEIRI_GATE_ABORTED
};

/* What a worker counts. The first are the outcomes of runs, each of which has one. */
enum weiri_count {
    WEIRI_COUNT_OUTCOMES = WEIRI_STOPPED + 1, /* how many they are */
    WEIRI_COUNT_LATE = WEIRI_COUNT_OUTCOMES,
    WEIRI_COUNT_RETRIES,
    WEIRI_COUNT_EXHAUSTED,
    WEIRI_COUNT_HOOK_ERRORS,
    WEIRI_COUNT_SKIPPED,
    WEIRI_COUNTS
};

struct weiri_worker {
    weir_pool *pool;
    struct weiri_thread thread;
    weir_context context;
    /* Written by the worker alone, summed by whoever asks. */
    _Atomic uint64_t counts[WEIRI_COUNTS];
    _Atomic(struct weiri_worker *) next; /* in the pool's list (pool/workers.h) */
    struct weiri_pace pace;
    /* Guarded by the pool's mutex. */
    enum weiri_gate gate;
    bool has_thread; /* one was made, and has not been joined */
    bool has_left;   /* and it ends, and is to be joined */
    /* The thread is past the gate and has not left its loop. Only then its identity may be asked
     * for: the system gives that of an ended thread to new ones. */
    bool is_working;
};

struct weir_pool {
    /* Immutable after weir_pool_new(). */
    struct weir_allocator allocator;
    weir_log_fn *log;
    void *log_arg;
    uint32_t when_full; /* enum weir_when_full */
    uint64_t mark;      /* of the process that made it */
    uint64_t number; /* of this pool in the process, from 1: names it in the envelopes' flights */
    weir_dropped_fn *tell_dropped; /* NULL: nobody is told */
    void *dropped_arg;
    weir_queue *queue;
    struct weiri_pool_source *source; /* NULL: it has no metrics */
    struct weir_stamp *stamps;        /* NULL: none */
    size_t stamp_count;
    int64_t hook_min_ns;
    uint32_t hook_fraction; /* per mille */
    bool timeouts_fail;
    weir_overdue_fn *overdue; /* NULL: nobody is told */
    void *overdue_arg;
    _Atomic uint64_t overdue_runs; /* written by the watchdog's thread alone */
    bool has_ordered_groups;
    struct weiri_groups groups; /* the queue's, where it has some */

    _Atomic(struct weiri_worker *) first; /* of the records of workers (pool/workers.h) */
    _Atomic size_t worker_count; /* how many it runs with, or will; written with the mutex held */

    struct weiri_scope scope; /* cancelled by a stop */
    weir_scope *base;         /* NULL: it is in none */
    struct weiri_membership membership;
    atomic_size_t awaiting;   /* cancellations that wait for the end of a run */
    _Atomic uint64_t dropped; /* what the queue does not count */

    struct weiri_mutex mutex;
    struct weiri_cond changed; /* the state */
    struct weiri_reserve reserve;
    /* Guarded by the mutex. */
    enum weir_pool_state state WEIRI_GUARDED_BY(mutex);
    bool is_changing
        WEIRI_GUARDED_BY(mutex);             /* one thread has the state in hand: all others wait */
    bool is_joining WEIRI_GUARDED_BY(mutex); /* one thread joins those that have left */
    bool is_stop WEIRI_GUARDED_BY(mutex);    /* this end, or the last one, was a stop's too */
    bool keeps WEIRI_GUARDED_BY(mutex);      /* and all whose it is want to keep what is left */
    bool is_terminating WEIRI_GUARDED_BY(mutex);
    bool has_run WEIRI_GUARDED_BY(mutex); /* since the last end, so that this one is logged */
    enum weir_drop_reason reason WEIRI_GUARDED_BY(mutex); /* of what this end drops */
    /* While it runs or stops: workers that have not left, and threads that are closing it. Who
     * takes the last one away ends the end. */
    size_t busy WEIRI_GUARDED_BY(mutex);
    size_t waiting WEIRI_GUARDED_BY(mutex); /* threads that wait for the end: no start before */
    uint64_t dropped_before WEIRI_GUARDED_BY(mutex); /* what was, at the end before */
};

/* Checks what a caller brought as a pool: WEIR_EINVAL, or WEIR_EFORKED in a child. */
WEIR_NODISCARD static inline enum weir_status weiri_pool_check(const weir_pool *pool)
{
    if (pool == NULL) {
        return WEIR_EINVAL;
    }
    return weiri_forked_since(pool->mark) ? WEIR_EFORKED : WEIR_OK;
}

/* What a worker's thread does; arg is its struct weiri_worker. */
void weiri_worker_main(void *arg);

static inline void weiri_count_more(struct weiri_worker *worker, enum weiri_count what,
                                    uint64_t more)
{
    uint64_t count = atomic_load_explicit(&worker->counts[what], memory_order_relaxed);
    weiri_sync_point();
    atomic_store_explicit(&worker->counts[what], count + more, memory_order_relaxed);
}

static inline void weiri_count(struct weiri_worker *worker, enum weiri_count what)
{
    weiri_count_more(worker, what, 1);
}

/* What it means that an envelope leaves the queue with the end of a run. */
enum weiri_ending {
    WEIRI_ENDS,           /* that is as it should be, unless a cancellation took a send away */
    WEIRI_ENDS_FAILED,    /* it is dropped, as decided */
    WEIRI_ENDS_EXHAUSTED, /* the same, against the decision */
    WEIRI_ENDS_NO_MEMORY, /* it was to come back, and could not */
    WEIRI_ENDS_CLOSED,    /* it was to come back, which the end of the pool forbade */
    WEIRI_ENDS_PENDING    /* it was to come back, which only a cancellation can forbid or undo */
};

/* Runs an envelope once, in the order that weir/envelope.h gives. */
enum weiri_ending weiri_run(struct weiri_worker *worker, weir_envelope *envelope);

/* Tells the user of an envelope that has left with the end of a run, and was dropped; WEIRI_ENDS:
 * by a cancellation. */
void weiri_pool_tell_ending(weir_pool *pool, weir_envelope *envelope, enum weiri_ending ending);

/* Forgets what an envelope has come to: its row of failures, here and in the limiter, and where in
 * its schedule it was. For who drops it and has its flight still to give back. */
void weiri_pool_forget(weir_pool *pool, weir_envelope *envelope);

/* Gives the pool, which has a scope and no workers, the watchdog that its options ask for, if they
 * do. WEIR_ENOMEM, WEIR_ETHREAD. */
WEIR_NODISCARD enum weir_status weiri_pool_watch(weir_pool *pool,
                                                 const struct weir_pool_options *options);
/* Takes it away again; there are no workers any more. */
void weiri_pool_unwatch(weir_pool *pool);

/* Gives the pool, whose queue there is, its name in the registry of its options, if they have one.
 * WEIR_ENOMEM, WEIR_EBUSY (the name is taken), WEIR_EINVAL (it is empty or not UTF-8). */
WEIR_NODISCARD enum weir_status weiri_pool_measure(weir_pool *pool,
                                                   const struct weir_pool_options *options);
/* Takes it out of there again; then nobody reads it any more. */
void weiri_pool_unmeasure(weir_pool *pool);

/* The worker that the caller is, where it is one of this very pool, else NULL: to wait for others
 * there might be to wait for itself. */
struct weiri_worker *weiri_pool_self(weir_pool *pool);

/* Tells the user of an envelope that was dropped. With no lock held, and before its flight is
 * released. */
void weiri_pool_tell_drop(weir_pool *pool, weir_envelope *envelope, enum weir_drop_reason reason);

/* Counts runs that were asked for and will not be. */
static inline void weiri_pool_count_drops(weir_pool *pool, uint64_t runs)
{
    weiri_sync_point();
    atomic_fetch_add_explicit(&pool->dropped, runs, memory_order_relaxed);
}

static inline void weiri_pool_count_drop(weir_pool *pool)
{
    weiri_pool_count_drops(pool, 1);
}

/* Why what a closed pool does not keep is dropped. */
enum weir_drop_reason weiri_pool_drop_reason(weir_pool *pool);

/* Drops what the pool's queue, which is closed, is not to keep. To be called by whoever has closed
 * it, and by each worker that leaves it: what was in a worker's hand came back since. */
void weiri_pool_sweep(weir_pool *pool);

/* The calling worker, or thread that has closed the pool (NULL), is through with it. The last one
 * makes it stopped. */
void weiri_pool_leave(weir_pool *pool, struct weiri_worker *worker);

/* The parts of an end, and of a start, that lie in two files. Each is called with the mutex held,
 * and lets it go meanwhile. Waits until nobody has the state in hand. */
void weiri_pool_settle_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex);
void weiri_pool_set_state_locked(weir_pool *pool, enum weir_pool_state state)
    WEIRI_REQUIRES(pool->mutex);
struct weiri_worker *weiri_pool_self_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex);

#endif
