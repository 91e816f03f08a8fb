/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_JOB_H
#define WEIRI_CORE_JOB_H

#include "jobs/core/backend.h"
#include "jobs/core/state.h"

/* What a put, the end of a run, a look and an operator make of a job. A back end loads a row, a
 * decision changes it, and the back end writes what has changed. All are plain functions, without
 * clock, lock, memory or disk. Facts change by weiri_job_apply() alone (state.h).
 *
 * A decision sees what earlier ones of its transaction wrote. One that does not succeed, or finds
 * nothing to do, returns WEIRI_NOTHING, and the row is as it was. */

/* Two clocks: the end of a lease is never compared with the wall clock, which may be set. */
struct weiri_now {
    int64_t wall_ns;
    int64_t lease_ns;
};

/* The key of a row's job. */
struct weiri_job_key {
    bool is_there;
    int64_t until_ns;    /* of a put: one that throttles does nothing before; 0: no throttle */
    uint64_t again;      /* the token of the run that another is to follow; 0: none */
    int64_t again_at_ns; /* from then on, with these words */
    WEIRI_ROW_FIELDS(WEIRI_TEXT_MEMBER)
};

/* A job as it is stored, with its key. */
struct weiri_job_row {
    int64_t number;
    int64_t tube;
    struct weiri_job_facts facts;
    int32_t priority;
    int progress; /* in percent; -1: none was told */
    int64_t created_ns;
    int64_t started_ns;
    int64_t owner;
    int64_t worker;            /* the back end's: more of that process; 0: not known */
    enum weir_run_outcome end; /* of one that has ended */
    /* Borrowed. */
    const char *reason;                 /* NULL: not loaded */
    WEIRI_ROW_FIELDS(WEIRI_TEXT_MEMBER) /* NULL: none, or not loaded */
    struct weiri_job_key key;
};

/* What the decisions need of a tube. Zero is a new one. */
struct weiri_tube_record {
    int64_t last_ns;         /* the run time of the last ready job of the priority at hand */
    int64_t paused_until_ns; /* 0: it is not paused */
    struct weir_tube_policy policy;
};

/* Who reserves. */
struct weiri_taker {
    int64_t owner;
    int64_t worker;
    uint32_t attempts_max;
    uint64_t era; /* the least token that it gives */
};

/* What is to be done with the row. */
enum weiri_write {
    WEIRI_NOTHING,
    WEIRI_INSERT,
    WEIRI_UPDATE,
    WEIRI_DELETE
};

/* What else follows a decision, which sets all of it. */
struct weiri_effects {
    enum weir_status status; /* other than WEIR_OK: WEIRI_NOTHING */
    /* The tube's counts: one less of from, one more of to, which may be equal. Both are
     * WEIRI_JOB_GONE with WEIRI_NOTHING; from is that of a new job, to of one that is deleted. */
    enum weir_job_state from;
    enum weir_job_state to;
    /* The tube's totals: one more of each. */
    bool put;
    bool done;
    bool failed; /* its run ended without success, and was not given back */
    bool retried;
    bool expired; /* its run was lost */
    /* Who waits for jobs looks again: now; at a time of the wall clock, and of that of leases, or
     * before; 0: neither. */
    bool wakes;
    int64_t wakes_at_ns;
    int64_t lease_ends_ns;

    bool is_started;       /* started, owner, worker and progress are those of a new run */
    bool runs_again;       /* again and again_at_ns of row->key are written, with writes_put its
                              words as well, and nothing else of the row */
    bool takes_again;      /* the words are those of the put during the run */
    bool frees_key;        /* the row has none any more */
    bool writes_put;       /* body, what is told beside it, words, priority and TTR are those
                              of the put, and its identity is a new one; with runs_again
                              those of the row, priority and TTR stay */
    bool forgets_attempts; /* those of a job that goes on, as a new one, are deleted */
    bool is_canceled;      /* of an end, or a renewal: it had a verdict; of a cancel: its run is to
                              end, or has ended with another result. Told as WEIR_ECANCELED */
    bool tells_holder;     /* who has the job is to renew it soon */
    struct weiri_run_end kept; /* the history keeps this run; outcome 0: it does not */
    enum weir_status burial;   /* told to who looks: the job was buried for its body
                                  (WEIR_ECORRUPT), late (WEIR_EPAST), or for its lease
                                  (WEIR_ELEASELOST); 0: nothing is told */
    bool is_late;              /* the policy's counts: buried, or dropped */
    enum weir_run_outcome end; /* how it has ended, as a row that may be kept (weir/policy.h); 0: it
                              has not, or is to leave no trace */
    const char *reason;        /* NULL: as it was; may be words */
    char words[96];
};

/* Shows a row's facts in a job. */
void weiri_job_show(struct weir_job *job, const struct weiri_job_facts *facts);

/* Shows a row as it is now: a job that is due is ready; what is of a reservation is shown of a
 * reserved job alone, its end by the wall clock. A lease of an earlier boot, which is further away
 * than the TTR, has ended, though no writer has noticed yet. */
void weiri_row_show(struct weir_job *job, const struct weiri_job_row *row, struct weiri_now now);

/* The reason of a job that was buried for its body, or is shown with a damaged one. */
extern const char weiri_damage_reason[];

/* Applies an event, and tells its effects on top of those that are set. What the decisions below
 * are made of. */
enum weiri_write weiri_row_apply(struct weiri_job_row *row, const struct weiri_job_step *step,
                                 struct weiri_now now, struct weiri_effects *effects);

/* What becomes of a put whose key a job has: a plain function of the mode and of that job. */
enum weiri_duplicate_action {
    WEIRI_DUPLICATE_PUT,     /* the key is free: a job is put, and has it */
    WEIRI_DUPLICATE_REFUSE,  /* nothing changes, and the put fails */
    WEIRI_DUPLICATE_NOTHING, /* nothing changes */
    WEIRI_DUPLICATE_EARLIER, /* the job has the earlier of both run times */
    WEIRI_DUPLICATE_RENEW,   /* the job becomes the new one */
    WEIRI_DUPLICATE_AFTER    /* the job runs once more after this run, as the new one */
};

/* older is the job that had the key last; one that is due is ready. Its state is 0 where it has
 * ended: is_throttled tells whether its key is not free yet. Who keeps a job that a verdict ends is
 * run after it. */
enum weiri_duplicate_action weiri_duplicate_decide(enum weir_duplicate mode,
                                                   const struct weiri_job_facts *older,
                                                   bool is_throttled);

/* A put of one job to run at run_at_ns: an event of the job that has or had its key. row is that
 * job with its key; all zero: there is none, or the put has no key; facts.state is WEIRI_JOB_GONE
 * where only a throttled key is left. The run time of a put at once is not before the last one of
 * the tube, so that these run in the order of their puts, also where the wall clock was set back.
 * During a run it is not after now. WEIRI_INSERT: row is a new job without a number. Else
 * row->number is the result of the put. WEIR_EBUSY: it has the key. */
enum weiri_write weiri_decide_put(struct weiri_job_row *row, const struct weiri_put *put,
                                  int64_t run_at_ns, const struct weiri_tube_record *tube,
                                  struct weiri_now now, struct weiri_effects *ret_effects);

/* What a holder tells of its reservation. tube is asked for its policy. A put during the run
 * follows it: what would end the job, or bury it, has it run again as the put asked, and what
 * brings it back brings it back not before the put's time. A verdict decides on all ends but
 * success. WEIR_ELEASELOST: the job has another reservation, or none. */
enum weiri_write weiri_decide_settle(struct weiri_job_row *row,
                                     const struct weiri_settlement *settlement,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects);

/* A reservation whose lease has passed; its verdict is applied. The job has so many attempts, or
 * those that its worker allows, if these are fewer. One that is kept by this process is touched
 * instead: the process was suspended, or its threads got no processor. WEIR_ESTATE: the job is not
 * reserved, or its lease has not passed, whatever was put meanwhile. */
enum weiri_write weiri_decide_expire(struct weiri_job_row *row, uint32_t attempts_max, bool is_kept,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects);

/* A verdict, which whoever ends the reservation applies; the last one counts. One whose worker is
 * gone, or whose lease has passed at now, ends here, as a lost run: now is when the caller began to
 * wait for its turn, since the holder may wait, too. WEIR_ESTATE: a retry of a job that has no run,
 * or it is ended. reason NULL: "an operator canceled it". */
enum weiri_write weiri_decide_cancel(struct weiri_job_row *row, enum weir_verdict verdict,
                                     const char *reason, bool is_kept, bool is_gone,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects);

/* A lost run, with its verdict, before the end of its lease. WEIR_EBUSY:
 * the worker may live, and it is not forced; WEIR_ESTATE: the job is not reserved. */
enum weiri_write weiri_decide_take_back(struct weiri_job_row *row, bool is_gone, bool is_forced,
                                        const struct weiri_tube_record *tube, struct weiri_now now,
                                        struct weiri_effects *ret_effects);

/* A kick: to run at slot_ns, or where that has passed, now. One that was delayed and is ready then
 * runs as if it was put at once: the tube's last_ns is not before its run time. A slot never puts
 * off one that is delayed. states are those of jobs that are kicked: buried, delayed; 0: buried.
 * WEIR_EBUSY: it is reserved; WEIR_ESTATE: it is in another state. */
enum weiri_write weiri_decide_kick(struct weiri_job_row *row, uint32_t states, int64_t slot_ns,
                                   const struct weiri_tube_record *tube, struct weiri_now now,
                                   struct weiri_effects *ret_effects);

/* An event that is no holder's: due, kick, remove, set aside, reschedule. reason NULL: as it was.
 * WEIR_EBUSY: the job is reserved. WEIR_ESTATE: not in a state for the event. */
enum weiri_write weiri_decide_change(struct weiri_job_row *row, const struct weiri_job_step *step,
                                     const char *reason, struct weiri_now now,
                                     struct weiri_effects *ret_effects);

/* Whether a job may move to another tube, which is_taken tells to have its key or its put_id.
 * WEIRI_UPDATE: row->tube is the new one, and the key's; from is a count of the old one, to of the
 * new one. WEIR_EBUSY: it is reserved, or that is taken there; WEIR_ESTATE: it is ended. */
enum weiri_write weiri_decide_refile(struct weiri_job_row *row, int64_t tube, bool is_taken,
                                     struct weiri_effects *ret_effects);

/* A job that was picked from those that are ready, in their order; a delayed one that is due, too.
 * Such a suspect becomes ready, no more: it takes its turn with the others. A damaged body buries a
 * job, before anything else is asked. A late one, which was never reserved, is buried or dropped,
 * also where its group is full. WEIRI_NOTHING with WEIR_OK: its group has running jobs, as many as
 * the policy allows; those of this transaction count. Else it is reserved for the taker. */
enum weiri_write weiri_decide_reserve(struct weiri_job_row *row, bool is_sound, uint64_t running,
                                      const struct weiri_tube_record *tube,
                                      const struct weiri_taker *taker, struct weiri_now now,
                                      struct weiri_effects *ret_effects);

/* Applies a change to the policy that a tube has, as weir_broker_set_policy() says: in the
 * transaction that writes, so that no change made meanwhile is lost. WEIR_EINVAL: the members of
 * the result contradict each other, and the policy is as it was. */
enum weir_status weiri_policy_merge(struct weir_tube_policy *policy,
                                    const struct weir_tube_policy *change,
                                    struct weir_error *ret_error);

/* The suspects that a process has reserved, in any tube. */
struct weiri_suspects {
    bool is_there;
    bool is_alone;     /* one of them runs alone */
    bool is_awaited;   /* one of another tube is to run alone, and waits for that */
    int64_t new_in_ns; /* so long the newest one is new: in its first minute; 0: none is */
};
#define WEIRI_SUSPECT_NEW_NS WEIR_SECONDS(60)

/* Whether a run of a suspect, of this number, is alone: its last one, so that it is not buried for
 * what another did, and each after the third that was lost. */
static inline bool weiri_runs_alone(const struct weiri_job_facts *job, uint32_t attempt,
                                    uint32_t attempts_max)
{
    return attempt >= attempts_max || job->lost > 2;
}

/* Whether the first suspect of a tube may begin: beside those that are not new, or alone. One that
 * has to wait for that lets no other begin before it. */
bool weiri_suspect_begins(const struct weiri_suspects *here, const struct weiri_job_facts *job,
                          uint32_t attempts_max);

/* What a tube has after a look that took all that it could. */
struct weiri_firsts {
    /* The first of each in its order; WEIR_FOREVER: none. A delayed job that is due was left. */
    int64_t delayed_ns;
    int64_t lease_ns;
    int64_t firing_ns;
    int64_t suspect_in_ns; /* a suspect is left, and may begin then; 0: none is left */
};

/* In how long to look next (WEIR_FOREVER: nothing is known to come). Leases count in their own
 * time. Ready ones may be left: where a suspect waits, for a minute at most, since who has the
 * others may not tell of their end. */
int64_t weiri_next_look(const struct weiri_firsts *firsts, const struct weiri_tube_record *tube,
                        struct weiri_now now);

/* Whether the end of a job also deletes rows of others of its tube that have ended: that of one in
 * 128. Jobs that are put into tubes in turn have numbers of one remainder in each, so that the
 * numbers are mixed. */
bool weiri_end_trims(int64_t number);

#define WEIRI_KEEP_DEFAULT WEIR_SECONDS(7 * 24 * 3600)

/* Jobs that ended then, or before, are kept no longer. */
int64_t weiri_keep_until(const struct weir_tube_policy *policy, int64_t now_ns);

/* The jobs of a group that run. */
struct weiri_running {
    const char *group;
    uint32_t count;
    char ids[128]; /* of the first of them: " (17, 20)"; "": none runs */
};

/* Adds a reserved job, if it is of the group. */
void weiri_running_add(struct weiri_running *running, const struct weir_job *job);

/* Why a job does not run, by what is known of its tube: a plain function. group_limit is that of
 * the tube's policy. running is asked only of a job that waits and has a group. */
void weiri_why_explain(const struct weir_job *job, int64_t paused_until_ns, uint32_t group_limit,
                       const struct weiri_running *running, struct weir_why *ret_why);

#endif
