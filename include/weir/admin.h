/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ADMIN_H
#define WEIR_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * What operators do with a broker's jobs. */

/** What becomes of a job that is cancelled, whoever ends its run. */
enum weir_verdict {
    WEIR_VERDICT_BURY = 1, /**< It is buried. */
    WEIR_VERDICT_REMOVE,   /**< It is deleted. */
    WEIR_VERDICT_RETRY     /**< As after a run that failed: its attempt counts, and it comes back
                                after its delay, or is buried after its last. One that had no run
                                yet comes back. */
};

/** What weir_broker_change() does with jobs. */
enum weir_change_kind {
    /** Ends jobs that are delayed, ready or buried, deletes ended ones. With claims the id of one
     * copy of a buried job stands for all. */
    WEIR_CHANGE_REMOVE = 1,
    /** Makes buried jobs ready. Their attempts stay: one that had its last has one more. With
     * WEIR_CAN_CONTROL `states` may name others: a delayed job runs as if it was put at once; one
     * that is reserved is taken back where its lease has ended, or its worker is known not to live:
     * a lost run, whose attempt counts, and which buries it if it was the last. WEIR_EBUSY: its
     * worker lives, or may. WEIR_ECANCELED: it had a verdict, which is applied. WEIR_ESTATE: a job
     * in another state. */
    WEIR_CHANGE_KICK,
    /** Buries jobs that are delayed or ready. WEIR_ESTATE: a job that is buried already. */
    WEIR_CHANGE_BURY,
    /** Moves jobs that are delayed, ready or buried to another tube of the broker, which need not
     * have had a job. They keep all but their tube: ids, run times, keys, attempts, reasons.
     * WEIR_EBUSY: also where a job of that tube has the same key or put_id; WEIR_ESTATE: an
     * ended job. For another broker see weir_broker_move(). */
    WEIR_CHANGE_MOVE,
    /** Ends jobs, with WEIR_CAN_CONTROL: one that waits at once. One that runs is asked to end
     * within a second or so, which is WEIR_ECANCELED; whatever ends its reservation applies the
     * last verdict, without another run. A run that succeeds all the same is done. What was put by
     * its key during the run runs then. Where its worker is gone its run ends at once: it is
     * WEIR_OK if the verdict stands, and WEIR_ECANCELED if such a put follows, or a RETRY buried it
     * after its last attempt. WEIR_ESTATE: an ended job, RETRY of one that has no run, and RETRY
     * of one that was to be buried or removed, where a put meanwhile counts on that. */
    WEIR_CHANGE_CANCEL
};

/** A change of jobs. */
struct weir_change {
    enum weir_change_kind kind; /**< What is done. */
    enum weir_verdict verdict;  /**< CANCEL: what becomes of the job; 0: buried. */
    const char *tube;           /**< MOVE: to this tube. */
    /** BURY, CANCEL: who, and why; kept, cut to WEIR_REASON_SIZE, by a broker with
     * WEIR_CAN_REASONS. NULL: "an operator canceled it"; of BURY that of a failure stays, or of a
     * job that never ran: "an operator buried it". */
    const char *reason;
    int64_t start_ns;    /**< KICK: the first one runs from this time on; 0: now. */
    int64_t interval_ns; /**< KICK: each next one so much later, but for a delayed one that
                              would run before. */
    uint32_t states;     /**< KICK, REMOVE: bits 1U << state; 0: buried ones; any. */
    uint32_t is_forced;  /**< KICK: 1: also from a worker that may live. Its run goes on beside the
                              next one, and cannot be settled. */
};

/** Changes jobs by their ids. ret_statuses receives one status for each: WEIR_OK; WEIR_ENOTFOUND
 * (never there, or ended and not kept); WEIR_EBUSY (reserved); WEIR_ESTATE (not in a state for the
 * change); of CANCEL and KICK also WEIR_ECANCELED; in a cluster also WEIR_ENOMEM and WEIR_EUNKNOWN
 * (a node with a copy did not answer, or has another job in the copy's place, which stays). Where
 * that of any id is WEIR_EUNKNOWN the call returns it too, and ret_error says which node it is of
 * the first. An SQLite store does all in one transaction, a cluster one after the other. Errors,
 * which leave ret_statuses as it was: WEIR_EINVAL (change, kind, verdict; a malformed id: nothing
 * is changed), WEIR_ETOOBIG (tube), WEIR_ERANGE (a negative time), WEIR_ENOTSUP (in a cluster MOVE,
 * CANCEL, and what KICK does beside buried jobs at once), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_change(weir_broker *broker,
                                                            const struct weir_change *change,
                                                            const char *const *ids, size_t count,
                                                            enum weir_status *ret_statuses,
                                                            struct weir_error *ret_error);

/** Pauses a tube: no job of it is reserved for duration_ns (WEIR_FOREVER: without end). It replaces
 * the pause before, so that 0 resumes. What is reserved goes on to its end, puts go on. A store
 * keeps the pause. A cluster's nodes pause for whole seconds, rounded up, and forget it when they
 * end. Jobs may be late when a pause ends (weir/policy.h, `late` of a cluster): of one that is
 * longer than they may be, the broker's log warns. Errors: WEIR_ERANGE (a negative time),
 * WEIR_ENOTFOUND (no job was ever put into the tube), those of the storage, WEIR_EUNKNOWN
 * (ret_error says which nodes did not answer). */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_pause(weir_broker *broker, const char *tube,
                                                           int64_t duration_ns,
                                                           struct weir_error *ret_error);

/** Is told by a list that it has read all jobs up to this one, which need not be there. */
typedef int weir_list_step_fn(const char *id, void *arg);

/** Which jobs to list. Zero means any, for every field. */
struct weir_job_filter {
    const char *tube;          /**< Of this tube. */
    const char *after;         /**< Behind this job, to go on with a list. */
    const void *text;          /**< With these bytes in body or reason. */
    size_t text_size;          /**< Their count. */
    int64_t created_before_ns; /**< Put before this time. */
    uint32_t attempts_min;     /**< With at least so many attempts. */
    enum weir_job_state state; /**< In this state; 0: in any but WEIR_JOB_ENDED. */
    weir_list_step_fn *step;   /**< Called with the arg of weir_broker_list(); NULL: it is not. */
    uint32_t no_bodies; /**< 1: told with body_size alone: body is NULL, headers are empty. */
    const char *id;     /**< This job, as weir_broker_peek_id(); tube to step do not count. */
    size_t first;       /**< As weir_broker_peek(); only tube and state count besides. */
};

/** Calls back for the jobs that a filter (may be NULL: all) lets through, in the order of their
 * puts. Reads some at a time, at most 10,000 jobs or 4 MiB of bodies and a job: each is as it was
 * at one moment, the whole list is not. Between two of these reads it calls the filter's step, also
 * where no job was let through; one that is ended goes on later as a list behind the id that step
 * was given. Jobs that are put meanwhile are not in it. Errors: WEIR_EINVAL (filter, malformed id),
 * WEIR_ETOOBIG (tube), WEIR_ENOTSUP (a cluster, but for id and first), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_list(weir_broker *broker,
                                                          const struct weir_job_filter *filter,
                                                          weir_job_fn *fn, void *arg,
                                                          struct weir_error *ret_error);

/** A run of a job that failed, was cancelled, ended with its worker, or after which it is done. */
struct weir_attempt {
    uint32_t number;               /**< The job's attempts then; 1 is the first. */
    enum weir_run_outcome outcome; /**< WEIR_RUN_DONE; WEIR_RUN_RETRY; WEIR_RUN_BURIED;
                                        WEIR_RUN_CANCELED; WEIR_RUN_LOST: its lease ended, for its
                                        worker is gone. */
    int64_t started_ns;            /**< When it was reserved; 0: not known. */
    int64_t ended_ns;    /**< When it was settled, or its lease was found to have ended. */
    int64_t owner;       /**< The process that had it. */
    int32_t status;      /**< Returned by the handler; 0 after WEIR_RUN_LOST. */
    int32_t exit_status; /**< Of the program that the handler ran; 0: none. */
    int32_t signal;      /**< That ended the program; 0: none. */
    const char *reason;  /**< Why it failed; of one that succeeded its result. */
    const char *tail;    /**< The end of its output; "": none. */
};

/** Receives one attempt. */
typedef int weir_attempt_fn(const struct weir_attempt *attempt, void *arg);

/** Calls back for the attempts of a job that failed, the first one first. Kept are the first and
 * the last ones, at most WEIR_ATTEMPTS_MAX, until the job is done or removed, also after a kick;
 * what ended on a full disk is not. They are written with the change that they tell of. Errors:
 * WEIR_EINVAL (malformed id), WEIR_ENOTFOUND, WEIR_ENOTSUP (a cluster), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_attempts(weir_broker *broker, const char *id,
                                                              weir_attempt_fn *fn, void *arg,
                                                              struct weir_error *ret_error);

/** Tells whether a job with an id was ever put: one that weir_broker_peek_id() does not find has
 * ended or was removed then, and otherwise never was there. Errors: WEIR_EINVAL (malformed id),
 * WEIR_ENOTSUP (a cluster does not know), and those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_was_put(weir_broker *broker, const char *id,
                                                             bool *ret_was_put,
                                                             struct weir_error *ret_error);

/** Why a job does not run now. */
enum weir_why_reason {
    WEIR_WHY_TIME = 1, /**< Its run time, or that of its next run after a failure, has not come. */
    WEIR_WHY_PAUSED,   /**< Its tube is paused. */
    WEIR_WHY_WORKER,   /**< No worker has taken it yet. */
    WEIR_WHY_RESERVED, /**< It runs, or its worker died. */
    WEIR_WHY_BURIED,   /**< It was set aside. */
    WEIR_WHY_GROUP,    /**< As many of its group run as the policy of its tube allows. */
    WEIR_WHY_DONE      /**< It has ended. */
};

/** The answer of weir_broker_why(). */
struct weir_why {
    enum weir_why_reason reason; /**< Why. */
    enum weir_job_state state;   /**< The job's state. */
    int64_t start_ns; /**< When it can start: at once where that has passed; WEIR_FOREVER: when its
                           tube is resumed. Of a reserved job: when it is taken back; 0: not known.
                           Of a buried one 0: when it is kicked; of one of a full group 0: when a
                           run of it ends; of an ended one 0: never. */
    int64_t owner;    /**< The process that has it; 0: none, or not known. */
    char text[512];   /**< The same in words, with what its last run said. */
};

/** Tells why a job does not run, and when it can. Of a cluster it is one copy that is told of.
 * Errors: WEIR_EINVAL (malformed id), WEIR_ENOTFOUND, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_why(weir_broker *broker, const char *id,
                                                         struct weir_why *ret_why,
                                                         struct weir_error *ret_error);

/** What a server of a cluster is. */
enum weir_node_kind {
    WEIR_NODE_BEANSTALKD = 1, /**< Keeps jobs. */
    WEIR_NODE_REDIS           /**< Keeps claims. */
};

/** How a server of a cluster is. */
enum weir_node_state {
    WEIR_NODE_UP = 1,   /**< It answered. */
    WEIR_NODE_DRAINING, /**< It answered, and takes no jobs: it is in drain mode. */
    WEIR_NODE_AWAY      /**< It did not answer; all numbers are 0. */
};

/** "up", "draining", "away"; "?" for anything else. */
WEIR_API const char *weir_node_state_name(enum weir_node_state state);

/** A server of a cluster. Of a Redis all members after answer_ns are 0 or "". */
struct weir_node {
    const char *name;           /**< Its endpoint as in the URL, without user and password. */
    enum weir_node_kind kind;   /**< What it is. */
    enum weir_node_state state; /**< How it is. */
    const char *why;            /**< Why it is away; "" where it is not. */
    int64_t answer_ns;          /**< How long it took to answer. */
    const char *version;        /**< Of the server. */
    int64_t uptime_ns;          /**< Since its start. */
    uint64_t job_size_max;      /**< Its limit on jobs, run time included. */
    uint32_t has_binlog;        /**< 1: jobs survive its end. A binlog ends at its first error. */
    uint32_t connections;       /**< Of all clients. */
    uint64_t binlog_files;      /**< From the oldest one that is needed to the current one. */
    uint64_t binlog_records;    /**< Written since its start. */
    uint64_t delayed;           /**< Jobs of all tubes. */
    uint64_t ready;             /**< Jobs of all tubes. */
    uint64_t reserved;          /**< Jobs of all tubes. */
    uint64_t buried;            /**< Jobs of all tubes. */
};

/** Receives one server. */
typedef int weir_node_fn(const struct weir_node *node, void *arg);

/** Asks every server of a cluster how it is, and calls back for each in the order of the URL. One
 * that does not answer within the URL's time_limit is WEIR_NODE_AWAY, and no error. An SQLite store
 * has no servers: there is no call. Errors: WEIR_EINVAL, WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_nodes(weir_broker *broker, weir_node_fn *fn,
                                                           void *arg, struct weir_error *ret_error);

/** How much a finding matters. */
enum weir_finding_level {
    WEIR_FINDING_NOTE = 1, /**< Good to know; nothing is wrong. */
    WEIR_FINDING_PROBLEM   /**< Something to act on. */
};

/** "note", "problem"; "?" for anything else. */
WEIR_API const char *weir_finding_level_name(enum weir_finding_level level);

/** A finding of weir_broker_check(). All texts are one line without control characters. */
struct weir_finding {
    const char *name;    /**< The check; a word that stays the same: "integrity", "sqlite", "lock",
                              "disk", "log", "clock"; of a cluster "node", "drain", "binlog",
                              "version", "redis". */
    const char *subject; /**< What it is about: a file, a server. */
    const char *text;    /**< What was found. */
    const char *advice;  /**< What to do about it. */
    enum weir_finding_level level; /**< How much it matters. */
};

/** Receives one finding. */
typedef int weir_finding_fn(const struct weir_finding *finding, void *arg);

/** Checks a broker as a whole and calls back for each finding, such as damage; changes nothing. Of
 * an SQLite store it reads all, bodies too, beside those who use it; the log grows meanwhile. It
 * waits for the store's lock for the time limit of weir_broker_open() where others have it. A
 * cluster's servers are asked twice, a second apart. Errors: WEIR_EINVAL, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_check(weir_broker *broker, weir_finding_fn *fn,
                                                           void *arg, struct weir_error *ret_error);

/** Copies an SQLite store, of one moment, to a new file of mode 0600, which is whole and on stable
 * storage at the end. Others may go on to use the store; a long copy keeps its log from being
 * emptied meanwhile. The copy is a store: `sqlite:PATH` opens it. Its reservations end when it is
 * opened, since the workers have the jobs of the original: what ran at that moment runs again from
 * the copy. Errors: WEIR_EINVAL (a path that is not a store's), WEIR_EBUSY (the path exists:
 * nothing is overwritten), WEIR_ENOTFOUND (the folder), WEIR_EACCESS, WEIR_ECORRUPT (damage in the
 * store, or a log without its store at the path), WEIR_ENOSPACE, WEIR_EIO, WEIR_ENOTSUP (a cluster;
 * a network file system), WEIR_ENOMEM. On failure nothing is left. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_backup(weir_broker *broker, const char *path,
                                                            struct weir_error *ret_error);

/** What weir_broker_repair() found. */
struct weir_repair_counts {
    uint64_t jobs;    /**< Jobs that were checked. */
    uint64_t damaged; /**< Of them those in no known state, and those whose bodies are damaged: they
                           are buried, the second unless a worker has them, or they are ended.
                           And those with a number out of bounds (attempts, TTR and the like), which
                           becomes 0 or its default: they go on. */
    uint64_t orphans; /**< Bodies and attempts without a job, which were deleted. */
};

/** Makes a store sound, as far as its jobs can be read: makes all indexes and counts anew, deletes
 * what belongs to no job, and buries jobs whose bodies are damaged, or that are in no known state.
 * Others may go on meanwhile. At the end it writes the store anew, as weir_broker_shrink() does;
 * where that fails, such as for lack of space, the rest has been done. Where the jobs themselves
 * cannot be read it is WEIR_ECORRUPT, and nothing has changed. Errors: WEIR_EINVAL, WEIR_ENOTSUP (a
 * cluster), WEIR_EACCESS, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_repair(weir_broker *broker,
                                                            struct weir_repair_counts *ret_counts,
                                                            struct weir_error *ret_error);

/** Gives the space of deleted jobs back to the disk, which a store otherwise keeps and uses again.
 * Writes the store anew, so it needs as much space again, in its folder and in that for temporary
 * files, and others that write wait: to their busy_ns. Readers may put the end off to the next
 * checkpoint. ret_before, ret_after (may be NULL): the bytes of its file, without those of its log.
 * Errors: as weir_broker_repair(). */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_shrink(weir_broker *broker,
                                                            uint64_t *ret_before,
                                                            uint64_t *ret_after,
                                                            struct weir_error *ret_error);

/** Counts of a move: found is the sum of the others. Of a cluster it counts copies, so that a job
 * with three copies is found three times, moved once and repeated twice. */
struct weir_move_counts {
    uint64_t found;    /**< Delayed and ready jobs of the source that the move came to. */
    uint64_t moved;    /**< Put into the target, and deleted from the source. */
    uint64_t repeated; /**< Deleted from the source: the target has them, or they were done. */
    uint64_t left;     /**< In the source as before; the source's log says why. */
    uint64_t both;     /**< Put into the target, perhaps, and not deleted from the source. */
};

/** What a move has just done. */
enum weir_move_step {
    WEIR_MOVE_READ = 1, /**< Read or reserved jobs of the source. */
    WEIR_MOVE_PUT,      /**< Put a job into the target, durably. */
    WEIR_MOVE_REMOVED   /**< Deleted jobs from the source. */
};

/** Tells of each step of a move; returns 0 to go on, anything else to end it before the next job.
 * On the caller's thread, with no lock held. */
typedef int weir_move_fn(enum weir_move_step step, const struct weir_move_counts *counts,
                         void *arg);

/** Moves the jobs of a tube that are delayed or ready when it begins. Reserved and buried ones
 * stay. Each job is put into the target durably before it is deleted from the source, so that none
 * is lost whenever the move ends or is killed; up to 64 jobs of a store, and one of a cluster, are
 * in both then. A move that is repeated knows such a job again: an SQLite target keeps one, but
 * where a worker has done it meanwhile, it runs again. A cluster with claims runs it once, one
 * without may run it again.
 *
 * Body, run time, priority and TTR are kept; so is the identity, as put_id, but by a cluster. A job
 * is left where another one has that with another body. The id is a new one, attempts begin anew,
 * and keys are left. Jobs of SQLite stores may have equal bodies and run times, so each that goes
 * to a cluster gets its number in nanoseconds and, by its store, up to 100 ms added to its run
 * time; from cluster to cluster a job gets up to 1 ms. A job that is overdue by more than half of
 * the target's `late` gets the present as its run time, from a store to a cluster in the source
 * first: it would be late there. From cluster to cluster it does not. So does a ready job whose run
 * time lies ahead, since the clock was set back: it would be delayed.
 *
 * One move at a time leaves an SQLite store, and none of another store enters it: WEIR_EBUSY, with
 * the process' name. Workers may go on. A job of a store that one of them takes, or a put or an
 * operator changes, after it was put into the target is taken back from there, and left; if that is
 * too late, it is counted in both, and may run twice. One reserved in a cluster stays.
 *
 * Jobs on a source node that does not answer are not moved (WEIR_EUNKNOWN, after the others were).
 * With claims its copies of jobs that were moved are deleted within `remember`, or by another move;
 * later, and without claims, they are jobs again. Without claims a job also runs again where a
 * worker of the target is done with it before its last copy was moved.
 *
 * Blocks. Thread-safe. fn (may be NULL) is told of each step. ret_counts (may be NULL) receives the
 * counts, after a failure too. Errors: WEIR_EINVAL (one broker or one store as source and target),
 * WEIR_EBUSY (see above), and those of the storage of either broker; the move has ended there. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_move(weir_broker *from, weir_broker *to,
                                                          const char *tube, weir_move_fn *fn,
                                                          void *arg,
                                                          struct weir_move_counts *ret_counts,
                                                          struct weir_error *ret_error);

WEIR_END_DECLS

#endif
