/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_BACKEND_H
#define WEIRI_CORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/admin.h>
#include <weir/broker.h>
#include <weir/feature.h>
#include <weir/job_schedule.h>
#include <weir/policy.h>

#include "base/boot.h"
#include "base/list.h"
#include "base/time.h"
#include "jobs/core/fields.h"
#include "jobs/core/state.h"

/* A backend is one const table of functions. The public calls check arguments and the process, so a
 * backend sees only calls that make sense, from any thread of the process that opened it. */

/* The clocks of a broker; tests step them. */
struct weiri_clocks {
    int64_t (*wall)(void *arg);  /* run times */
    int64_t (*lease)(void *arg); /* leases: never set; the same clock in all processes of a boot */
    int64_t (*boot)(void *arg);  /* the same, and goes on while the machine sleeps */
    void *arg;
    char boot_name[WEIRI_BOOT_SIZE];
};

/* A struct weir_broker_options with its defaults filled in. */
struct weiri_broker_config {
    struct weir_allocator allocator;
    weir_log_fn *log;
    void *log_arg;
    size_t body_size_max;
    int64_t busy_ns;
    uint32_t flags;
    uint32_t durability; /* of an SQLite store: never the default */
    int64_t guard;
    struct weiri_clocks clocks;
    /* The table's; open() takes away from `can` what this broker cannot, and sets late_ns: how late
     * any job may be found without being buried for it; 0: any time. */
    const char *scheme;
    uint32_t can;
    int64_t late_ns;
};

/* Between two tries of what failed, at most: of each server that is away, and of each worker whose
 * job cannot be settled meanwhile. The job after an outage waits for one of each. */
#define WEIRI_RETRY_MAX_NS WEIR_MS(400)
/* How long a server may take to accept a connection. The system sends a request that was lost again
 * after pauses that double: a host that was cut off would be found late. */
#define WEIRI_CONNECT_MAX_NS WEIR_SECONDS(1)
/* How long to wait after so many failures in a row: 50 ms, doubled up to the maximum. A quarter of
 * it is at random, so that clients do not come back together. */
int64_t weiri_retry_ns(uint32_t failures);
/* Whether to tell of so many failures in a row: of the first, and ever less often. */
static inline bool weiri_retry_is_told(uint32_t failures)
{
    return (failures & (failures - 1)) == 0;
}

/* A put. Texts may be NULL. */
struct weiri_put {
    const char *tube;
    const struct weir_body *bodies;
    size_t count;
    WEIRI_TEXT_FIELDS(WEIRI_TEXT_MEMBER)
    WEIRI_PUT_FIELDS(WEIRI_TEXT_MEMBER)
    int64_t run_at_ns; /* 0: after delay_ns */
    int64_t delay_ns;
    int64_t since_ns; /* when the put was said, on the clock of leases */
    int64_t ttr_ns;
    int32_t priority;
    int64_t key_ns; /* throttle: how long the key stays at least */
    enum weir_duplicate on_duplicate;
    bool *ret_was_there;    /* whether it found its job by the put_id; NULL: not told */
    struct weiri_put *each; /* NULL, or a put of each body: all together, or none */
};

/* Has the text of an error say which body it is of, where these are not put alike. */
enum weir_status weiri_put_blame(const struct weiri_put *put, size_t body, enum weir_status status,
                                 struct weir_error *ret_error);

/* When a job runs. A delay travels as a duration, with the reading of the clock of leases at which
 * it was said (since_ns). A backend makes a time of it by its now(), once a request: it counts from
 * then, however long the request waits, and by one clock. A time that was asked for stays. */

/* When something was said, on the clock of now_ns. */
static inline int64_t weiri_said_ns(int64_t since_ns, int64_t now_ns, int64_t lease_now_ns)
{
    return weiri_time_sub(now_ns, weiri_time_since(since_ns, lease_now_ns));
}

/* No time was asked for. */
static inline bool weiri_is_at_once(const struct weiri_put *put)
{
    return put->run_at_ns == 0 && put->delay_ns == 0;
}

static inline int64_t weiri_put_when(const struct weiri_put *put, int64_t said_ns)
{
    return put->run_at_ns != 0 ? put->run_at_ns : weiri_time_add(said_ns, put->delay_ns);
}

/* Checks the time that is asked for, by the backend's now when it is said, and copies it. */
enum weir_status weiri_put_set_time(struct weiri_put *put, const struct weir_put_options *options,
                                    int64_t now_ns, struct weir_error *ret_error);

struct weiri_move;
struct weiri_plan;

/* What an operator changes beside jobs: of a tube, or with SCHEDULES a schedule. WEIR_ENOTFOUND:
 * there is none of the name, which a policy and a put would make. */
enum weiri_edit_kind {
    WEIRI_TUBE_PAUSE,
    WEIRI_TUBE_POLICY, /* with POLICIES */
    WEIRI_SCHEDULE_PUT,
    WEIRI_SCHEDULE_CHANGE
};
struct weiri_edit {
    enum weiri_edit_kind kind;
    const char *name;
    int64_t pause_ns; /* nothing is reserved for so long; WEIR_FOREVER: until resumed; 0: resumes */
    const struct weir_tube_policy *policy; /* a change that is to be merged (jobs/core/job.h) */
    /* A put's. The options are checked, with their defaults: cron, zone are not NULL. */
    const struct weir_job_schedule_options *schedule;
    const struct weiri_plan *plan;
    enum weir_schedule_change change; /* a change's */
    struct weir_job_id *ret_id;       /* of a run's job; NULL: not told */
};

/* Which jobs are told, and to whom. */
struct weiri_listing {
    /* With an id: WEIR_ENOTFOUND where that is not there. With first: in the order in which they
     * run. Else with LIST: the job that fn is told is that of a struct weiri_reservation, which fn
     * may take out of its list, and WEIRI_JOB_WAITING is a state, too. */
    struct weir_job_filter filter;
    weir_job_fn *fn;
    void *arg;
};

/* Care for a whole store: with BACKUP, or with REPAIR. */
enum weiri_care_kind {
    WEIRI_CARE_BACKUP,
    WEIRI_CARE_REPAIR,
    WEIRI_CARE_SHRINK
};
struct weiri_care {
    enum weiri_care_kind kind;
    const char *path; /* of a backup: the new file */
    /* Results, where the call succeeds. */
    struct weir_repair_counts counts; /* of a repair */
    uint64_t before;                  /* of a shrink: sizes */
    uint64_t after;
};

/* Of the jobs that are listed: delayed or ready. */
#define WEIRI_JOB_WAITING ((enum weir_job_state)(WEIR_JOB_ENDED + 1))

/* An event for jobs: an operator's, or a move's. */
struct weiri_change {
    enum weiri_job_event event; /* remove, kick, set aside or cancel; reschedule, moved away */
    enum weir_verdict verdict;  /* cancel */
    const char *const *ids;     /* NULL: a kick of the tube's buried jobs, at most count */
    /* NULL, or each as it was listed: with another identity, run time or tube it is not found */
    const struct weir_job *const *listed;
    size_t count;
    const char *reason;  /* set aside, cancel; NULL: none */
    int64_t run_at_ns;   /* reschedule, kick: of the first id; a kick: 0: now */
    int64_t interval_ns; /* kick: each id so much later than the one before */
    uint32_t states;     /* kick: of weiri_decide_kick(); with that of a reserved job it is
                            taken back from a worker that is gone, or if is_forced from any */
    bool is_forced;
    const char *tube;  /* not NULL, with ids: instead of an event the jobs move to this tube */
    size_t *ret_count; /* without ids: how many, where it is known; NULL: not told */
    /* Results, where the call succeeds, or says WEIR_EUNKNOWN: WEIR_OK, WEIR_ENOTFOUND, WEIR_EBUSY
     * (reserved), WEIR_ESTATE (not in a state for the event), WEIR_ECANCELED (cancel: of effects
     * that say is_canceled), WEIR_EUNKNOWN (ret_error says more). */
    enum weir_status *statuses;
};

/* A reserved job. One block of the broker's memory: weiri_reservation_free(). */
struct weiri_reservation {
    struct weiri_list link; /* its holder's */
    struct weiri_list kept; /* the backend's */
    struct weir_job job;
    size_t size;             /* of the block */
    int64_t number;          /* the backend's: of the job */
    void *backend;           /* what else the backend knows of it; NULL: nothing */
    bool is_alone;           /* the backend's: of a suspect (weiri_suspects) */
    int64_t new_until_ns;    /* on the clock of leases */
    enum weir_status status; /* why the backend buried it; WEIR_ECORRUPT: for its damaged body */
};

/* What the history of a job keeps of a run that failed. */
struct weiri_run_end {
    enum weir_run_outcome outcome; /* 0: it keeps nothing of this run */
    int status;                    /* the handler's */
    int exit_status;               /* 0: none */
    int signal;                    /* 0: none */
    const char *tail;              /* NULL: none */
};

/* An event for a reservation. */
struct weiri_settlement {
    const struct weiri_reservation *reservation;
    enum weiri_job_event event; /* touch, done, release, return or bury */
    int64_t delay_ns;           /* release, return: of a return 0 leaves the run time */
    int64_t since_ns;           /* when that was said, on the clock of leases */
    int progress;               /* touch: 1 + a percentage; 0: as it was */
    const char *reason;         /* release, bury, done of an ended job; NULL: as it was */
    struct weiri_run_end end;   /* release and bury */
    enum weir_status
        status; /* result: WEIR_OK, WEIR_ECANCELED (effects.is_canceled), WEIR_ELEASELOST */
    /* Of settle(): called once, with no lock held, on a thread of the backend's. */
    void (*done)(struct weiri_settlement *settlement);
    struct weiri_settlement *next; /* in the same exchange; NULL: it is the last */
};

/* The most marks of a wait. */
#define WEIRI_MARKS_MAX 65
/* How often waits for a tube have been ended so far. With CONTROL those of this channel are ended
 * when any tube becomes empty. */
#define WEIRI_CHANNEL_EMPTIED 1
struct weiri_mark {
    const char *tube;
    unsigned channel; /* the back end's */
    uint32_t mark;
};

/* Settles some reservations, then makes others, in one transaction. */
struct weiri_exchange {
    const char *tube;
    struct weiri_settlement *settlements; /* the first; NULL: there is none */
    size_t wanted;                        /* 0: next_in_ns and is_empty are not determined */
    uint32_t attempts_max;     /* ended reservations of jobs with so many attempts are buried */
    bool is_keeping;           /* the holder touches what it reserves here until it lets it go */
    bool is_watching;          /* it will ask again until is_empty is true */
    bool is_hasty;             /* a worker's: is_empty is not asked for over a network */
    struct weiri_list *buried; /* NULL, or an empty list: receives what the backend buried here,
                                  as reservations without bodies, also where the call fails */

    /* Results, where the call succeeds. */
    struct weiri_list reserved; /* of struct weiri_reservation; at most wanted */
    size_t reserved_count;
    struct weiri_mark mark; /* of the tube, from before the look */
    int64_t next_in_ns; /* how long after looked_ns a job may become ready; WEIR_FOREVER: unknown */
    int64_t looked_ns;  /* a reading of weiri_monotonic_now(), before what follows the look */
    bool is_empty;      /* no job is delayed, ready or reserved */
};

/* A check of a broker, and who is told of its findings. */
struct weiri_check {
    weir_finding_fn *fn;
    void *arg;
    bool is_over; /* fn wants no more */
};

/* Tells of a finding; false: no more is wanted. */
bool weiri_find(struct weiri_check *check, const char *name, enum weir_finding_level level,
                const char *subject, const char *advice, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#define WEIRI_CAN(feature) (1U << WEIR_CAN_##feature)

/* What a program does with a transaction of its own connection. */
enum weiri_transaction_step {
    WEIRI_TRANSACTION_BEGIN,
    WEIRI_TRANSACTION_CHECK, /* WEIR_ESTATE: there is none */
    WEIRI_TRANSACTION_PUT,   /* all jobs, or none */
    WEIRI_TRANSACTION_COMMIT,
    WEIRI_TRANSACTION_ROLLBACK,
    WEIRI_TRANSACTION_FREE /* rolls back; the last step */
};

struct weiri_broker_ops {
    const char *scheme;
    uint32_t can; /* WEIRI_CAN() of the features that one of its brokers may have */
    /* location: what is behind the scheme's colon, to the end of the URL. */
    enum weir_status (*open)(const char *location, struct weiri_broker_config *config,
                             void **ret_store, struct weir_error *ret_error);
    void (*close)(void *store);
    /* The time by which the backend makes run times of delays. */
    int64_t (*now)(const void *store);

    enum weir_status (*put)(void *store, const struct weiri_put *put, struct weir_job_id *ret_ids,
                            struct weir_error *ret_error);
    enum weir_status (*change)(void *store, const struct weiri_change *change,
                               struct weir_error *ret_error);
    enum weir_status (*edit)(void *store, const struct weiri_edit *edit,
                             struct weir_error *ret_error);

    enum weir_status (*list)(void *store, const struct weiri_listing *listing,
                             struct weir_error *ret_error);
    /* counts_jobs: false: names and pauses are asked alone. */
    enum weir_status (*tubes)(void *store, const char *tube, bool counts_jobs, weir_tube_fn *fn,
                              void *arg, struct weir_error *ret_error);

    /* Each of these five with the feature of its name. Of schedules the name may be NULL: all. */
    enum weir_status (*policy)(void *store, const char *tube, struct weir_tube_policy *ret_policy,
                               struct weir_tube_policy_counts *ret_counts,
                               struct weir_error *ret_error);
    enum weir_status (*schedules)(void *store, const char *name, weir_job_schedule_fn *fn,
                                  void *arg, struct weir_error *ret_error);
    enum weir_status (*attempts)(void *store, const char *id, weir_attempt_fn *fn, void *arg,
                                 struct weir_error *ret_error);
    enum weir_status (*was_put)(void *store, const char *id, bool *ret_was_put,
                                struct weir_error *ret_error);
    enum weir_status (*nodes)(void *store, weir_node_fn *fn, void *arg,
                              struct weir_error *ret_error);

    enum weir_status (*check)(void *store, struct weiri_check *check, struct weir_error *ret_error);
    enum weir_status (*care)(void *store, struct weiri_care *care, struct weir_error *ret_error);
    /* Moves jobs to another broker (jobs/core/move.h). */
    enum weir_status (*move)(void *store, struct weiri_move *move, struct weir_error *ret_error);

    /* With TRANSACTIONS: jobs in transactions of the program. */
    enum weir_status (*transaction_open)(void *store, void *connection, void **ret_transaction,
                                         struct weir_error *ret_error);
    enum weir_status (*transaction_step)(void *transaction, enum weiri_transaction_step step,
                                         const struct weiri_put *put, struct weir_job_id *ret_ids,
                                         struct weir_error *ret_error);

    /* May be called again with the same struct after it failed: nothing has happened then, but that
     * after WEIR_EIO nobody knows. */
    enum weir_status (*exchange)(void *store, struct weiri_exchange *exchange,
                                 struct weir_error *ret_error);

    /* Begins a settlement, and returns; its status may also be WEIR_EUNAVAILABLE: nothing has
     * happened, and it may be begun again. It and what it points to stay until done() is called;
     * no other one of its reservation is begun before. NULL: exchange() settles, in one transaction
     * with what it reserves; else it has no settlements. */
    void (*settle)(void *store, struct weiri_settlement *settlement);

    /* The holder of a reservation that is_keeping keeps it no longer, and may free it. Until then
     * no exchange of this store takes it for ended, whatever the wall clock says: it is touched. */
    void (*let_go)(void *store, struct weiri_reservation *reservation);

    /* Sleeping for jobs: look (exchange), and wait with the marks of what was looked at. A commit
     * in between that makes jobs of one of the tubes ready, or one due earlier than all others,
     * ends the wait at once, or so many of the waits for that tube as there are jobs: whose wait
     * was ended looks at the tube, or ends another wait for it. There are 1 to WEIRI_MARKS_MAX
     * marks. limit_ns is a reading of weiri_monotonic_now(). Returns false when the limit has
     * passed. */
    bool (*wait)(void *store, const struct weiri_mark *marks, size_t count, int64_t limit_ns);
    /* A mark as it is now. With CONTROL that of NULL rises, perhaps late, after commits that ask a
     * holder to end or take a job from it. */
    uint32_t (*mark)(void *store, const struct weiri_mark *mark);
    /* Ends at least so many waits for the tube; INT_MAX: all. */
    void (*wake)(void *store, const struct weiri_mark *mark, int count);
};

/* Declares a function as the table has it. */
#define WEIRI_OP(op, name) __typeof__(*((struct weiri_broker_ops *)NULL)->op) name

/* A broker, as a back end sees another one. */
struct weiri_side {
    const struct weiri_broker_ops *ops;
    void *store;
    const struct weiri_broker_config *config;
};

/* WEIR_ENOTSUP: the broker has not one of the features, which are WEIRI_CAN()s. Every refusal of
 * that kind comes from here. */
enum weir_status weiri_can_check(const struct weiri_broker_config *config, uint32_t needs,
                                 struct weir_error *ret_error);

void weiri_broker_log(const struct weiri_broker_config *config, enum weir_log_level level,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Makes a reservation of a job with room for a body; NULL for lack of memory. ret_body is where to
 * write it. The job's texts are copied. */
struct weiri_reservation *weiri_reservation_new(const struct weir_allocator *allocator,
                                                const struct weir_job *job, size_t body_size,
                                                void **ret_body);
void weiri_reservation_free(const struct weir_allocator *allocator,
                            struct weiri_reservation *reservation);
/* Frees all of a list, which is empty then. */
void weiri_reservations_free(const struct weir_allocator *allocator, struct weiri_list *list);

#endif
