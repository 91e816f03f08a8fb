/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CONSUME_CONSUMER_H
#define WEIRI_CONSUME_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/consumer.h>
#include <weir/pool.h>

#include "base/end.h"
#include "base/event_fd.h"
#include "base/list.h"
#include "base/park.h"
#include "base/sync.h"
#include "jobs/broker.h"
#include "jobs/core/attempt.h"

/* A consumer is a pool, a list of the jobs that it has reserved, and one more thread, the fetcher.
 *
 * After its handler has returned, a worker settles its job and reserves the next in one
 * transaction. Workers that end together share a commit. Of several tubes each has its turns. So in
 * a busy tube only workers reserve jobs. The fetcher reserves jobs for free slots that no worker
 * will fill, that is after the tube was empty: it sleeps until the store notifies it. It also
 * touches reservations after a third of their TTR, all that are due in one transaction. Once a
 * second while there are any it reads the control word, and touches all where that has changed: a
 * touch tells that its job was cancelled.
 *
 * A store of servers of which each job has its own (ops->settle) settles without a transaction.
 * There a worker waits for the answer to its job's end for a moment, and leaves the rest of the end
 * to the fetcher (settle.c); free slots are claimed after that. The fetcher does not wait for
 * touches.
 *
 * There are as many slots as workers. Each slot is free or claimed: by a task, or by a transaction
 * that may reserve a job. Jobs are reserved for claimed slots only, so no job waits behind another
 * for a worker. */

/* Between two touches of a reservation for the sake of its progress. */
#define WEIRI_PROGRESS_NS WEIR_SECONDS(1)
/* Between two readings of the control word while jobs are reserved. */
#define WEIRI_CONTROL_NS WEIR_SECONDS(1)

_Static_assert(WEIR_CONSUMER_TUBES_MAX < WEIRI_MARKS_MAX, "it waits for all its tubes at once");

/* A tube that jobs are taken from. A look that found fewer ready jobs than were wanted has drained
 * it: it is left alone until its mark changes or a job becomes due. */
struct weiri_source {
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    /* Guarded by the consumer's mutex. */
    bool is_drained;
    bool is_empty;          /* then: and had no job in any state but buried */
    struct weiri_mark mark; /* from before the look */
    int64_t next_ns;        /* when a job may become ready, on the monotonic clock */
};

/* A job from its reservation until it is settled. */
struct weiri_task {
    weir_consumer *consumer;
    struct weiri_reservation *reservation;
    weir_envelope *envelope;
    /* Used by its worker, and by the fetcher once the worker left it. */
    struct weiri_run run;
    int64_t run_ns; /* the duration of the handler's call */
    struct weiri_next_action action;
    struct weiri_parker parker; /* set when the settlement of the action is told of */

    /* Guarded by the consumer's mutex. */
    struct weiri_list link;
    weir_context *context;  /* while the handler runs */
    int64_t touch_ns;       /* when to touch the reservation next */
    int64_t touched_ns;     /* when it was touched, or began */
    int progress;           /* what the next touch writes: 1 + a percentage; 0: none */
    bool is_lost;           /* the reservation has ended, or the job has another one */
    bool is_asked;          /* its run is to end: the job was cancelled */
    bool is_settled;        /* the job was settled */
    bool is_being_touched;  /* the fetcher or the backend reads the reservation, and has touch */
    bool is_being_canceled; /* the fetcher uses the context */
    bool is_canceled;
    struct weiri_settlement touch;
    /* Where the broker has ops->settle. */
    bool is_ending;     /* the settlement of the action is the backend's */
    bool is_left;       /* its worker left its end to the fetcher */
    uint32_t refusals;  /* of the end: WEIR_EUNAVAILABLE, in a row */
    int64_t give_up_ns; /* no more tries of it then; 0: before an end */
    int64_t settle_ns;  /* when to try again then */
};

/* The share of a tube among several with weights. */
struct weiri_share {
    uint32_t weight;
    bool may;       /* it is a candidate */
    int64_t credit; /* starts at 0 */
};

enum weiri_consumer_state {
    WEIRI_CONSUMER_NEW,
    WEIRI_CONSUMER_RUNNING, /* or starting */
    WEIRI_CONSUMER_ENDED    /* no job is reserved, all workers have ended */
};

struct weir_consumer {
    /* Immutable. */
    weir_broker *broker;
    struct weir_allocator allocator;
    struct weir_consumer_options options; /* with defaults filled in */
    size_t source_count;
    bool is_until_empty;
    bool has_control;
    int64_t interval_ns; /* between the beginnings of two runs; 0: none */
    weir_pool *pool;

    struct weiri_thread fetcher;
    /* Used by the fetcher alone. */
    struct weiri_mark marks[WEIRI_MARKS_MAX]; /* of the sources, and of emptiness */
    uint32_t failures;                        /* failed transactions in a row */
    bool was_woken; /* a wait was ended, and it has neither looked nor passed that on */

    struct weiri_mutex mutex;
    struct weiri_cond notified; /* for the fetcher */
    struct weiri_cond changed;  /* for all other threads */
    /* Guarded by the mutex. */
    enum weiri_consumer_state state WEIRI_GUARDED_BY(mutex);
    struct weiri_list tasks WEIRI_GUARDED_BY(mutex);
    size_t claimed WEIRI_GUARDED_BY(mutex);
    uint32_t control WEIRI_GUARDED_BY(mutex); /* the word, from before tasks were touched for it */
    struct weiri_source sources[WEIR_CONSUMER_TUBES_MAX]; /* the names are immutable */
    struct weiri_share shares[WEIR_CONSUMER_TUBES_MAX] WEIRI_GUARDED_BY(mutex);
    int64_t start_ns WEIRI_GUARDED_BY(mutex);     /* when the next run may begin */
    bool is_over WEIRI_GUARDED_BY(mutex);         /* it reserves nothing more */
    struct weiri_end end WEIRI_GUARDED_BY(mutex); /* then */
    bool is_notified WEIRI_GUARDED_BY(mutex);     /* the fetcher must check the state again */
    bool is_waiting WEIRI_GUARDED_BY(mutex);      /* the fetcher waits in the broker */
    size_t settling WEIRI_GUARDED_BY(mutex);      /* settlements that the backend is to tell of */
    int64_t wake_ns WEIRI_GUARDED_BY(mutex);      /* the end of the fetcher's sleep at the latest */
    enum weir_status end_status WEIRI_GUARDED_BY(mutex);
    struct weir_error end_error WEIRI_GUARDED_BY(mutex);
    struct weiri_event_fd fd WEIRI_GUARDED_BY(mutex); /* weir_consumer_fd() */

    /* Statistics. Relaxed: they order nothing. */
    _Atomic uint64_t exchanges;   /* transactions of the fetcher, and touches that it began */
    _Atomic uint64_t long_sleeps; /* sleeps that lasted for WEIRI_WAIT_MAX_NS */
};

/* Its address is the key of the task in the context of its run. */
extern const char weiri_task_key;

/* Leave to begin runs, at the consumer's rate: at most wanted. What is not used is given back. */
size_t weiri_rate_take_locked(weir_consumer *consumer, size_t wanted)
    WEIRI_REQUIRES(consumer->mutex);
void weiri_rate_give_back(weir_consumer *consumer, size_t count);

/* Takes a turn among tubes with weights: smooth weighted round robin. At each turn every candidate
 * gains its weight, and the one that is picked pays the sum of all. It has at least the average
 * credit, so that none is a whole turn ahead of its share, and turns are spread. Returns the one
 * that is picked; count: there is none. */
size_t weiri_share_pick(struct weiri_share *shares, size_t count);

/* Chooses the source to reserve one job from. Without the mutex. */
struct weiri_source *weiri_source_choose(weir_consumer *consumer);
/* Notes what a look at a source found. Without the mutex. */
void weiri_source_note(weir_consumer *consumer, struct weiri_source *source,
                       const struct weiri_exchange *exchange);

void weiri_fetcher_main(void *consumer);
/* The control word: where it is not as it was before a job was reserved, the job may have been
 * cancelled since. Without the mutex. */
uint32_t weiri_control_word(const weir_consumer *consumer);
/* Makes the fetcher check the state again, unless it waits in the broker. */
void weiri_fetcher_notify_locked(weir_consumer *consumer) WEIRI_REQUIRES(consumer->mutex);
/* The same, if that is needed, also while it waits in the broker; unlocks the mutex. */
void weiri_fetcher_notify_and_unlock(weir_consumer *consumer, bool is_needed)
    WEIRI_RELEASE(consumer->mutex);

/* What follows a touch that was made. */
void weiri_task_touched_locked(struct weiri_task *task);
/* The pool's ended function: settles the job of a task, reserves the next ones and starts them. */
weir_ended_fn weiri_task_ended;
/* Tells of a run whose job was settled with a status. Without the mutex. */
void weiri_task_report(struct weiri_task *task, enum weir_status settled);

/* How far an end has come; each includes those before it. */
enum weiri_ending {
    WEIRI_ENDING_NOT,
    WEIRI_ENDING,         /* no more jobs are reserved */
    WEIRI_ENDING_STOPPED, /* runs are cancelled, or the store has failed: nothing is tried again */
    WEIRI_ENDING_LAST     /* no job is reserved any more */
};
/* Sleeps for so long, but not on once an end has come to a level; WEIRI_ENDING_NOT: further than
 * now. Returns whether it has not. The fetcher waits for notified, all others for changed. Without
 * the mutex. */
bool weiri_consumer_pause(weir_consumer *consumer, struct weiri_cond *cond, int64_t ns,
                          enum weiri_ending least);

/* Returns a job that cannot run here for lack of memory. If that fails too, the job is ready again
 * after its TTR. Without the mutex. */
void weiri_reservation_return(weir_consumer *consumer, const struct weiri_reservation *reservation);

/* Of brokers with ops->settle (settle.c); all without the mutex. */

/* Begins the touches that the fetcher has collected. */
void weiri_touches_begin(weir_consumer *consumer, struct weiri_settlement *touches);
/* Settles the task's job, on its worker. False: the end is not known after a moment, or Redis is
 * away; the fetcher has the task then. */
bool weiri_task_settle(struct weiri_task *task);
/* Goes on with what workers left. Returns when to do so again. The fetcher's. */
int64_t weiri_left_advance(weir_consumer *consumer);

/* Ends the consumer by itself: the tubes are empty, or the store has failed. It reserves no more
 * jobs. The first reason stays. */
void weiri_consumer_close(weir_consumer *consumer, enum weir_status status,
                          const struct weir_error *error);
void weiri_consumer_set_state(weir_consumer *consumer, enum weiri_consumer_state state);

/* Whether the consumer ends with a failed call. It does not if the call may succeed later, nor for
 * damage, which may concern few of its jobs; one that is to end when the tube is empty would never
 * end then. */
bool weiri_consumer_is_ending(const weir_consumer *consumer, enum weir_status status);

/* Tells after_run of each job that the store buried, or the log where there is none, and frees
 * them. Without the mutex. */
void weiri_consumer_tell_buried(weir_consumer *consumer, struct weiri_list *buried);

/* Sends reserved jobs to the pool, and returns those that cannot be sent to the store. Takes the
 * list. claims is the number of slots that were claimed for them; unused ones become free. control
 * is from before they were reserved. False: there was no memory for some. */
bool weiri_tasks_start(weir_consumer *consumer, struct weiri_list *reserved, size_t claims,
                       uint32_t control);

#endif
