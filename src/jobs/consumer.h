/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_JOBS_CONSUMER_H
#define WEIRI_JOBS_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/consumer.h>
#include <weir/pool.h>

#include "base/list.h"
#include "base/sync.h"
#include "jobs/broker.h"

/* A consumer is a pool, a list of the jobs it has in hand, and one thread more, the keeper.
 *
 * A worker whose handler has ended makes one trip to the store: it settles its job and reserves the
 * next, and workers that end together share a commit. So in a busy tube nobody else fetches. The
 * keeper fetches when slots are free that no worker will fill, that is when the tube was empty a
 * moment ago: it sleeps until the store rings. And it touches, in one trip for all, the
 * reservations of which a third of the TTR has passed.
 *
 * Every slot (there are as many as workers) is free or claimed: by a task, or by a trip under way
 * that may bring one. Only claimed slots are fetched for, so no job waits behind another for a
 * worker. */

/* A job in hand, from its reservation until what became of it is settled. */
struct weiri_task {
    weir_consumer *consumer;
    struct weiri_reservation *reservation;
    weir_envelope *envelope;
    int64_t run_ns; /* its worker's: how long the handler ran */
    bool was_run;   /* its worker's */

    /* Guarded by the consumer's mutex. */
    struct weiri_list link;
    weir_context *context;  /* while the handler runs */
    int64_t touch_ns;       /* when to touch the reservation next */
    bool is_lost;           /* the reservation is another's now */
    bool is_settled;        /* it is nobody's any more */
    bool is_being_touched;  /* the keeper reads the reservation */
    bool is_being_canceled; /* the keeper uses the context */
    bool is_canceled;
};

enum weiri_consumer_state {
    WEIRI_CONSUMER_NEW,
    WEIRI_CONSUMER_STARTING, /* the keeper waits for the pool */
    WEIRI_CONSUMER_RUNNING,
    WEIRI_CONSUMER_ENDED /* nothing is in hand, all workers have ended */
};

struct weir_consumer {
    /* Immutable. */
    weir_broker *broker;
    struct weir_allocator allocator;
    struct weir_consumer_options options; /* with defaults filled in */
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    weir_pool *pool;

    struct weiri_thread keeper;
    /* The keeper's. */
    struct weiri_settlement *touches; /* one for each slot */
    struct weiri_task **touched;
    uint32_t failures; /* of its trips, in a row */

    struct weiri_mutex mutex;
    struct weiri_cond called;  /* for the keeper */
    struct weiri_cond changed; /* for everybody else */
    /* Guarded by the mutex. */
    enum weiri_consumer_state state WEIRI_GUARDED_BY(mutex);
    struct weiri_list tasks WEIRI_GUARDED_BY(mutex);
    size_t claimed WEIRI_GUARDED_BY(mutex);
    uint32_t stops WEIRI_GUARDED_BY(mutex);
    bool is_over WEIRI_GUARDED_BY(mutex);      /* fetch nothing more: stopped, empty, or failed */
    bool is_called WEIRI_GUARDED_BY(mutex);    /* the keeper has something to look at */
    bool is_listening WEIRI_GUARDED_BY(mutex); /* the keeper sleeps until the store rings */
    int64_t wake_ns WEIRI_GUARDED_BY(mutex);   /* when it will look by itself at the latest */
    enum weir_status end_status WEIRI_GUARDED_BY(mutex);
    struct weir_error end_error WEIRI_GUARDED_BY(mutex);

    /* Statistics. Relaxed: nothing follows from them. */
    _Atomic uint64_t trips;   /* the keeper's, to the store */
    _Atomic uint64_t relooks; /* sleeps that lasted for WEIRI_WAIT_MAX_NS */
    _Atomic uint64_t missed;  /* of these, how many then found a job: a bell that did not ring */
};

/* The keeper's thread; the argument is the consumer. */
void weiri_keeper_main(void *consumer);
/* Makes the keeper look. Returns whether it must be rung for as well, without the mutex:
 * weiri_keeper_ring(). */
bool weiri_keeper_call_locked(weir_consumer *consumer) WEIRI_REQUIRES(consumer->mutex);
void weiri_keeper_ring(weir_consumer *consumer);

/* Ends the consumer: nothing more is fetched. The first reason stays. */
void weiri_consumer_end(weir_consumer *consumer, enum weir_status status,
                        const struct weir_error *error);

/* Will the same call perhaps succeed later? */
bool weiri_consumer_is_transient(enum weir_status status);
/* How long to wait after so many failures in a row. */
int64_t weiri_consumer_backoff(uint32_t failures);

/* Gives reserved jobs to the pool, and what cannot be given back to the store. Takes the list.
 * claims is how many slots were claimed for them; those that are not needed are free then. False:
 * memory was lacking for some. */
bool weiri_tasks_start(weir_consumer *consumer, struct weiri_list *reserved, size_t claims);

#endif
