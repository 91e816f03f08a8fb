/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_JOB_H
#define WEIR_JOB_H

#include <stddef.h>
#include <stdint.h>

#include <weir/duration.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A job: a body of bytes in a tube, kept by a broker until its handler has succeeded. Times of jobs
 * are wall-clock nanoseconds since the Unix epoch. Reservations last for a duration: setting the
 * wall clock neither ends nor keeps them. Set back by a day at most, it leaves due what was due. */

#define WEIR_TUBE_SIZE_MAX 200 /**< Most bytes of a tube's name. */
#define WEIR_JOB_ID_SIZE 1024  /**< Size of a job's id as text, its NUL included. */
/** Size of a buried job's reason as text, its NUL included; longer ones are cut. */
#define WEIR_REASON_SIZE 256
/** Size of a run's last output as text, its NUL included; the start of a longer one is cut. */
#define WEIR_TAIL_SIZE 1024
#define WEIR_ATTEMPTS_MAX 20                     /**< Most attempts that are kept of a job. */
#define WEIR_KEY_SIZE_MAX 200                    /**< Most bytes of a job's key. */
#define WEIR_HEADERS_SIZE_MAX 4096               /**< Most bytes of a job's headers. */
#define WEIR_HEADER_NAME_MAX 64                  /**< Most bytes of the name of one. */
#define WEIR_GROUP_SIZE_MAX 200                  /**< Most bytes of a job's group. */
#define WEIR_PUT_ID_SIZE_MAX 240                 /**< Most bytes of a put's id. */
#define WEIR_BODY_SIZE_LIMIT ((size_t)512 << 20) /**< Largest body. */

/** Where a job is in its life. */
enum weir_job_state {
    WEIR_JOB_DELAYED = 1, /**< Its run time has not come. */
    WEIR_JOB_READY,       /**< May be reserved. */
    WEIR_JOB_RESERVED,    /**< In a worker's hand until its TTR ends. */
    WEIR_JOB_BURIED,      /**< Set aside until kicked or removed: the dead letters. */
    WEIR_JOB_ENDED        /**< Over, and kept to be looked at (weir/policy.h). */
};

/** "delayed", "ready", "reserved", "buried", "ended"; "?" for anything else. */
WEIR_API const char *weir_job_state_name(enum weir_job_state state);

/** How a job's run ended, or a job. */
enum weir_run_outcome {
    WEIR_RUN_DONE = 1, /**< Succeeded: the job has ended. */
    WEIR_RUN_RETRY,    /**< Failed; comes back after a delay. */
    WEIR_RUN_BURIED,   /**< Failed for good: set aside, or run again by a put during the run. */
    WEIR_RUN_LOST,     /**< The reservation had ended, or the store failed: it will run again. */
    WEIR_RUN_RETURNED, /**< Stopped, or could not begin: given back. */
    WEIR_RUN_CANCELED, /**< Ended on request: buried, deleted or retried as its verdict says. */
    WEIR_RUN_REMOVED,  /**< Of a job alone: it was removed. */
    WEIR_RUN_DROPPED   /**< Of a job alone: it was late, and its tube drops those. */
};

/** "done", "retry", "buried", "lost", "returned", "canceled", "removed", "dropped"; "?" else. */
WEIR_API const char *weir_job_outcome_name(enum weir_run_outcome outcome);

/** A job's name: a decimal number in SQLite; `endpoint/tube/number` joined by `,` in a cluster,
 * where the number 0 is of a node that was sent the job and has not told whether it took it. Each
 * number is followed by a dot and a tag of eight digits, by which another job in the place of this
 * one is not taken for it; a cluster also takes ids without, as go-queue makes them. A job that is
 * longer than the broker reads is meant only by an id without, as peeks and the log show it. A copy
 * on a node that the broker's URL does not name counts as on one that does not answer. */
struct weir_job_id {
    char text[WEIR_JOB_ID_SIZE]; /**< NUL-terminated. */
};

/** A job as a handler or a peek sees it. All pointers are borrowed and valid as long as the call
 * that gave the job says. */
struct weir_job {
    const char *id;     /**< Its name. */
    const char *tube;   /**< Its tube. */
    const void *body;   /**< The user's bytes; NULL where a look leaves them out. */
    size_t body_size;   /**< Their count; 0 of a job that has ended, unless it is archived. */
    int64_t created_ns; /**< When it was put. */
    int64_t run_at_ns;  /**< When it may run, or may run again. Of a job put to run at once it is
                             not before that of an earlier one of its tube. Of a cluster: up to 1 ms
                             after what was asked for, or before a put to run at once. */
    int64_t ttr_ns;     /**< How long one reservation lasts without a touch. */
    int32_t priority;   /**< Smaller is more urgent; 0 is usual. */
    uint32_t attempts;  /**< Reservations so far, this one included. */
    enum weir_job_state state;          /**< Where it is. */
    enum weir_run_outcome last_outcome; /**< Of a look: how its last attempt ended; 0: not known. */
    const char *reason; /**< Why it was buried, or failed or ended last; its result if done. */
    int64_t reserved_until_ns; /**< Of a look at a reserved job: its reservation's end; else 0. */
    int64_t owner;             /**< The same: the process that has it; 0: not known. */
    uint32_t owner_life;       /**< The same: 1: it lives; 2: neither it nor what ends its programs
                                    does; 0: not known, as of other hosts and namespaces. */
    uint64_t fence;  /**< Of an SQLite store: the number of its last reservation. It rises with each
                          reservation, also over power cuts; 0: it had none. Of a cluster: 0. */
    const char *key; /**< Of an SQLite store: its key; NULL: none. */
    int64_t started_ns; /**< Of a look at a job that runs or is done: when that began; else 0. */
    int32_t progress;   /**< Of one that is reserved: what its handler told last; -1: nothing. */
    uint32_t verdict;   /**< The same: it is asked to end, by this enum weir_verdict; else 0. */
    int64_t ended_ns;   /**< Of a look at a job that has ended: when; else 0. */
    enum weir_run_outcome end; /**< The same: how; else 0. */
    uint32_t is_suspect; /**< Of an SQLite store: 1: its last runs ended with their worker, so that
                              a broker reserves one such job in a minute, and beside no other one
                              in its last attempt; else 0. */
    const char *headers; /**< Of an SQLite store: its headers, lines NAME=VALUE that end in newlines
                              (weir_job_header()); "": none. NULL: not known. */
    const char *group;   /**< Of an SQLite store: its group; NULL: none. */
    /** A name of the work, for effects that are to happen once: a key for a service that does a
     * request once, or kept beside the effect, in one transaction. It is the put_id, if the job has
     * one. Equal for all copies of a job, all its attempts, and after kicks, returns and moves, but
     * one to a cluster. No other job has it, of this store, of one restored from a backup, or of
     * another. A put by key that gives the job another body or asks for one more run gives it a new
     * one; what follows it is put with a put_id of its own, such as this with a suffix: this finds
     * the job itself where it is a put_id. At most 240 bytes of visible ASCII; "": of a job whose
     * body was not read. Of a cluster: equal bodies of a tube for one nanosecond are one job to
     * Redis, and have one. */
    const char *identity;
};

/** Checks headers: lines NAME=VALUE, each ended by a newline. A name has 1 to 64 bytes out of a-z,
 * 0-9 and -, and stands once; a value has any bytes but newlines and NULs; all have at most
 * WEIR_HEADERS_SIZE_MAX. "" is valid. Errors: WEIR_EINVAL (NULL, a line that is none, a name twice,
 * no newline at the end), WEIR_ETOOBIG. ret_offset (may be NULL): where the fault is. */
WEIR_API WEIR_NODISCARD enum weir_status weir_headers_check(const char *headers,
                                                            size_t *ret_offset);

/** The value of a job's header, of *ret_size bytes (ret_size may be NULL), not NUL-terminated.
 * Valid as long as the job. NULL: it has none of this name, or job or name is NULL. */
WEIR_API const char *weir_job_header(const struct weir_job *job, const char *name,
                                     size_t *ret_size);

/** Checks a tube's name: 1 to 200 bytes out of A-Z, a-z, 0-9 and - + / ; . $ _ ( ), the first of
 * them no hyphen. Errors: WEIR_EINVAL (NULL, empty, a byte that is not allowed), WEIR_ETOOBIG.
 * ret_offset (may be NULL) receives the offset of the first offending byte. */
WEIR_API WEIR_NODISCARD enum weir_status weir_tube_check(const char *tube, size_t *ret_offset);

WEIR_END_DECLS

#endif
