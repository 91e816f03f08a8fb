/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BROKER_H
#define WEIR_BROKER_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/log.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A broker is where jobs live. `sqlite:PATH` is a file shared by any number of processes of the
 * host; `beanstalk://NODE,NODE,...` is a cluster of beanstalkds, for many hosts.
 *
 * Every function is thread-safe except weir_broker_close(). A broker must not be used in a child
 * after fork(): WEIR_EFORKED, and nothing is touched. Nor may a child open a store where its parent
 * had one open at the fork: fork (daemon(3), too) before you open a store, or exec. Functions read
 * and write the disk, and so block. Puts of several threads share one transaction and flush.
 *
 * Every function of jobs that has a ret_error (which may be NULL) is WEIR_EINVAL where a pointer
 * that it needs is NULL, and WEIR_EFORKED in a child. A tube's name that is none is WEIR_EINVAL, or
 * WEIR_ETOOBIG; a change by a broker that only reads is WEIR_EACCESS. "Those of the storage" are
 * WEIR_EIO, WEIR_ENOSPACE, WEIR_ETIMEDOUT (other processes' locks), WEIR_ECORRUPT and WEIR_ENOMEM,
 * in a cluster WEIR_EUNAVAILABLE (too few nodes answered, and nothing was done) and WEIR_EUNKNOWN
 * (it may have been done).
 *
 * A function that receives one tube, job, attempt and so on runs on the caller's thread with no
 * lock held, once for each; what it receives is valid during the call. It returns 0 to go on,
 * anything else to end. It may take any time, and call anything but weir_broker_close().
 *
 * Where a write or flush to the disk fails, or the store's file was removed or replaced, the broker
 * acknowledges nothing any more: each call that writes is WEIR_EIO until it is closed and opened
 * anew. What it had acknowledged is kept, as far as the file is; of the call that failed, nobody
 * knows. Damaged indexes of a store are made anew from its jobs, once, and logged as an error; what
 * damage is left is WEIR_ECORRUPT. A read that fails is WEIR_EIO, too (so is a lack of
 * descriptors), but changes and ends nothing. */

/** A broker. Opaque. */
typedef struct weir_broker weir_broker;

/** How to open a broker. Zero means the default of every field. */
struct weir_broker_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    weir_log_fn *log;                /**< Optional. */
    void *log_arg;                   /**< Passed to log; borrowed until close. */
    size_t body_size_max;            /**< Largest body; 0: 16 MiB; at most WEIR_BODY_SIZE_LIMIT. */
    int64_t busy_ns;                 /**< Longest wait for other processes' locks; 0: 10 s. */
    uint32_t flags;                  /**< Of enum weir_broker_flags. */
    uint32_t durability;             /**< Of enum weir_durability. */
    int64_t guard;                   /**< The process that ends what handlers leave if this one is
                                          killed, then itself; -1: they leave nothing; 0: unknown.
                                          Tells whether jobs of this one may be taken back then. */
};

/** What an acknowledged change of an SQLite store survives. A level is this broker's: others that
 * have the same store open may have another one. WEIR_ENOTSUP in a cluster. */
enum weir_durability {
    WEIR_DURABILITY_DEFAULT = 0, /**< What the URL says, else WEIR_DURABILITY_FULL. */
    WEIR_DURABILITY_FULL, /**< The end of the process in any way, of the kernel, and of power: each
                               transaction is flushed before it is acknowledged, and with it all
                               earlier ones. */
    WEIR_DURABILITY_NORMAL, /**< The end of the process in any way. When the kernel or power ends,
                                 the last changes may be gone: all after some moment, and none
                                 before it. The store stays sound, and what brokers with FULL
                                 acknowledged stays. */
    WEIR_DURABILITY_MEMORY /**< The end of the process in any way. Nothing is flushed once the store
                                is made: when the kernel or power ends, the store may be damaged or
                                gone, with what other brokers with FULL acknowledged. For stores in
                                memory (tmpfs), and for jobs that can be made again. */
};

/** Flags of weir_broker_open(). */
enum weir_broker_flags {
    WEIR_BROKER_EXISTING = 1,  /**< Do not create what is not there: WEIR_ENOTFOUND. */
    WEIR_BROKER_READ_ONLY = 2, /**< Only look (counts, peek), without permission to write if need
                                    be; implies WEIR_BROKER_EXISTING. */
    WEIR_BROKER_SHARED = 4     /**< The file may have tables of the program's beside those of weir
                                    (weir/transaction.h); also `?shared=1` in the URL. Without it
                                    such a file is WEIR_ESCHEMA. WEIR_ENOTSUP in a cluster. */
};

/** Opens a broker. options may be NULL.
 *
 * `sqlite:PATH`: the file is made where it does not exist (mode 0600; its folder must exist).
 * Beside it are PATH.lock (with its mode and, if root makes it, owner), PATH-shm, and PATH-wal, a
 * part of the store that a worker's last close removes. After PATH may follow `?durability=full`,
 * `normal` or `memory` (options->durability comes before it), and `?shared=1` (WEIR_BROKER_SHARED),
 * joined by `&`. Errors: WEIR_EINVAL (URL, options, path), WEIR_ENOTFOUND (folder; file that must
 * exist), WEIR_EACCESS (no permission, read-only, a symbolic link, hard links), WEIR_ESCHEMA (not
 * ours, or of another version), WEIR_ECORRUPT (damaged; its log is missing, or is another store's),
 * WEIR_ENOSPACE, WEIR_ETIMEDOUT (other processes' locks), WEIR_ENOTSUP (a network file system; a
 * file mounted without its folder), WEIR_EFORKED (a child of a process that had a store open),
 * WEIR_EIO, WEIR_ENOMEM, WEIR_ERANGE, WEIR_ETOOBIG (options). On failure nothing changes.
 *
 * `beanstalk://NODE,NODE,.../?NAME=VALUE&...`: a cluster of beanstalkds. A node is HOST, HOST:PORT
 * (11300), [IPV6]:PORT, or a unix socket's path with its slashes written %2F; there are at most 64,
 * at least 2, and none twice, unless replicas is 1. Two names of one beanstalkd count as one. Each
 * part behind the question mark may be left out:
 * - `replicas`: copies of a job; 3, or as many as there are nodes;
 * - `min_written`: so many nodes must take a job; 2, or 1 where replicas is 1;
 * - `claims`: a Redis that lets the copies of a job run once (see below); none: each runs;
 * - `claims_away`: while Redis is away jobs `wait`, or `run` unclaimed, so that each copy may run;
 * - `time_limit`: of each step of the network; 5 s;
 * - `late`: a job that is found later after its run time, and was never tried, is buried, though
 *   consumers were busy, a pause or an outage of Redis held it back; 0: none is; dq's is 30
 *   minutes;
 * - `lease`: a claim that is not renewed lasts for the TTR and so long; 5 s;
 * - `remember`: for so long claims know that a job is done, or removed, so that a copy on a node
 *   that was away does not run; a day; 2 minutes at least, as copies are put off for one;
 * - `hmac_key_file`: jobs carry a MAC by the first key of this file, and one that has none by any
 *   of its keys is buried, but where a line is `-`. Without it they carry none, and one that does
 *   is buried.
 *
 * Connects in the background: a node that is away is no error here. Errors: WEIR_EINVAL (the text
 * has the piece and its offset), WEIR_ERANGE (remember), WEIR_ENOTSUP (TLS, options of a store), of
 * hmac_key_file WEIR_ENOTFOUND, WEIR_EACCESS and WEIR_EIO; WEIR_ETHREAD, WEIR_EIO (no descriptors),
 * WEIR_ENOMEM.
 *
 * claims is `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`,
 * `redis+unix://[USER[:PASSWORD]@]/PATH[?DATABASE]`,
 * `redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT],.../NAME[/DATABASE]` (the master that sentinels
 * call NAME; they are told the same password) or
 * `redis+cluster://[USER[:PASSWORD]@]HOST[:PORT],...` (some nodes of a Redis Cluster; others are
 * found), with at most 16 hosts. `rediss:` (TLS) is WEIR_ENOTSUP.
 *
 * Each line of hmac_key_file is a key of 16 to 255 bytes, or `-` for none, at most four. It is read
 * when the broker is opened. The MAC covers tube, run time and body. go-queue's consumers see it as
 * the beginning of a body, so a tube with MACs is weir's alone.
 *
 * After a put that was WEIR_EUNKNOWN: with claims it is safe to put the same bodies into the same
 * tube again at the same run_at_ns while that lies ahead; all that had options of their own. Each
 * tube adds less than a millisecond of its own, so that equal jobs of several tubes are different
 * ones. Counts are of copies, on the nodes that answered. Peeks show the first job of each state of
 * each node. What beanstalkd cannot do is WEIR_ENOTSUP: to show reserved jobs, and priorities below
 * -2. TTRs are whole seconds, rounded up. Why a job was buried is shown with claims only. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_open(const char *url,
                                                          const struct weir_broker_options *options,
                                                          weir_broker **ret_broker,
                                                          struct weir_error *ret_error);

/** Closes a broker. Takes NULL. No other thread may be in a call on it. Errors: WEIR_EBUSY (a
 * producer, consumer or transaction of it is open), WEIR_EFORKED; then nothing changed. */
WEIR_API enum weir_status weir_broker_close(weir_broker *broker);

/** What a put does where a job with its key is there already: one of the tube that is delayed,
 * ready or reserved. A job that is done, removed or buried has no key any more. */
enum weir_duplicate {
    WEIR_DUPLICATE_REFUSE = 0, /**< WEIR_EBUSY; ret_error names the job. */
    WEIR_DUPLICATE_REPLACE,    /**< The job has the new body, group, run time, priority and TTR, and
                                    no attempts. WEIR_EBUSY while it runs. */
    WEIR_DUPLICATE_KEEP,       /**< The job stays, with the earlier of both run times. As AGAIN of
                                    one that runs, and is to be buried or deleted by a cancel. */
    WEIR_DUPLICATE_DEBOUNCE,   /**< As REPLACE; one that runs does so once more, with the new body
                                    and group and at the new run time, after it has succeeded or
                                    would be buried: its attempts begin anew. A retry is that run:
                                    it waits for its delay and for the new run time. */
    WEIR_DUPLICATE_THROTTLE,   /**< The job stays. Its key stays until key_ns after its put, though
                                    the job has ended: a put before that does nothing. */
    WEIR_DUPLICATE_AGAIN       /**< As KEEP; one that runs does so once more, as in DEBOUNCE, at the
                                    earliest run time of the puts during the run. */
};

/** "refuse", "replace", "keep", "debounce", "throttle", "again"; "?" for anything else. */
WEIR_API const char *weir_duplicate_name(enum weir_duplicate mode);

/** How to put a job. Zero means the default of every field. Keys, headers, groups and put_ids are
 * WEIR_ENOTSUP on a cluster. */
struct weir_put_options {
    int64_t run_at_ns; /**< Wall-clock time before which it does not run; 0: at once. */
    int64_t delay_ns;  /**< Time from the call before which it does not run; not with run_at_ns. */
    int64_t ttr_ns;    /**< Length of a reservation; 0: 60 s; at least 100 ms. */
    int32_t priority;  /**< Smaller is more urgent. */
    uint32_t flags;    /**< Of enum weir_put_flags. */
    const char *key;   /**< Unique in its tube, 1 to WEIR_KEY_SIZE_MAX bytes; borrowed. NULL: none.
                            With a key one job is put. Where a job has it already and stays, ret_ids
                            receives the id of that one, which is on stable storage then. */
    int64_t key_ns;    /**< WEIR_DUPLICATE_THROTTLE: at least 1 ns; else 0. */
    enum weir_duplicate on_duplicate; /**< What to do then. */
    const char *headers; /**< Told beside the body (weir_headers_check()); borrowed, or copied by a
                              producer. NULL: none. */
    const char *group;   /**< Of its tube, 1 to WEIR_GROUP_SIZE_MAX bytes: the tube's policy may
                              limit how many jobs of a group run at once (group_limit); borrowed, or
                              copied by a producer; NULL: none. */
    const char *put_id;  /**< By which a repeat of the put of one job is known: 1 to 240 bytes of
                              visible ASCII, for ever its own, as a UUID; borrowed; NULL: none. */
};

/** Flags of a put. */
enum weir_put_flags {
    WEIR_PUT_PAST_OK = 1 /**< A run time in the past means at once, instead of WEIR_EPAST. */
};

/** A body to put. */
struct weir_body {
    const void *data;                       /**< The bytes; borrowed. */
    size_t size;                            /**< Their count. */
    const struct weir_put_options *options; /**< Its own, in a put of a broker or of a
                                                 transaction; else NULL. NULL: those of the call.
                                                 Borrowed. */
};

/** Puts count jobs: all are on stable storage when it returns WEIR_OK, or none is. Up to 100 are
 * one transaction. More are cut into several, so that others can write in between; some may be
 * seen, and run, before all are put. After a failure those that no worker has are taken back; where
 * that fails as well it is WEIR_EIO, and if the process dies some may be left. A full disk
 * (WEIR_ENOSPACE) refuses puts only. ret_ids (may be NULL) receives count ids. options may be NULL.
 * Bodies may have options of their own, with keys, put_ids or delays: then all are one transaction,
 * however many, and an error of one has the number of its body.
 *
 * A put whose answer was lost is repeated with its put_id. Where the tube has the job of it, the
 * repeat changes nothing, whatever its other options, and has the id of that job, which is on
 * stable storage then; WEIR_ESTATE: that has another body or other headers. The job counts until it
 * is removed, or moved to another tube or broker, and for 10 minutes after it was done; where none
 * is kept (weir/policy.h) until it is done. A put_id is looked for before
 * a key. A put by key that gives a job another body, or asks for one more run, replaces its put_id,
 * also by none; another that finds a job leaves none.
 * Errors: WEIR_EINVAL (options), WEIR_ETOOBIG (a body, a text of the options), WEIR_EBUSY (key),
 * WEIR_ESTATE (put_id), WEIR_ENOTSUP, WEIR_EPAST, WEIR_ERANGE, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_put(weir_broker *broker, const char *tube,
                                                         const struct weir_body *bodies,
                                                         size_t count,
                                                         const struct weir_put_options *options,
                                                         struct weir_job_id *ret_ids,
                                                         struct weir_error *ret_error);

/** Makes up to count buried jobs of a tube ready, oldest first, in one transaction. ret_count (may
 * be NULL): how many; an unknown tube has none. Their attempts stay: one that had its last has one
 * more. In a cluster with claims all copies of a job are kicked, and its attempts begin anew.
 * Errors: those of the storage; with WEIR_EUNKNOWN ret_count is set: a node did not answer, and a
 * copy of it may stay buried there. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_kick(weir_broker *broker, const char *tube,
                                                          size_t count, size_t *ret_count,
                                                          struct weir_error *ret_error);

/** Counts of a tube. A cluster does not tell those of runs and burials: they are 0. */
struct weir_tube_counts {
    char tube[WEIR_TUBE_SIZE_MAX + 1]; /**< Its name. */
    uint64_t delayed;                  /**< Jobs whose time has not come. */
    uint64_t ready;                    /**< Jobs that may be reserved. */
    uint64_t reserved;                 /**< Jobs in workers' hands. */
    uint64_t buried;                   /**< Jobs set aside. */
    uint64_t put;                      /**< Jobs put, ever. */
    uint64_t done;                     /**< Jobs whose handler succeeded, ever. */
    uint64_t failed;                   /**< Runs that ended without success, ever. */
    uint64_t retried;                  /**< Those whose jobs were released after a failure. */
    uint64_t expired;                  /**< Those that were lost, as by the end of their TTR. */
    uint64_t burials;                  /**< Burials, ever, whatever the cause. */
    int64_t paused_until_ns;           /**< The end of its pause, or WEIR_FOREVER; 0: none. */
    int64_t ready_since_ns; /**< The first run time of its ready jobs: of those of the next one's
                                 priority, and whose delay has just ended; 0: none, or a cluster. */
};

/** Receives one tube's counts. */
typedef int weir_tube_fn(const struct weir_tube_counts *counts, void *arg);

/** Calls back for every tube in order of name, as of one moment. tube: only that one; NULL: all.
 * Jobs that are due count as ready; a reservation that has ended counts as reserved until the next
 * consumer comes by. Waits for no writer. An unknown tube is no error: there is no call, or in a
 * cluster, which forgets empty ones, one with zeros. Errors: those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_tubes(weir_broker *broker, const char *tube,
                                                           weir_tube_fn *fn, void *arg,
                                                           struct weir_error *ret_error);

/** As weir_broker_tubes(), but a store tells names and pauses alone, and counts no jobs. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_find_tubes(weir_broker *broker,
                                                                const char *tube, weir_tube_fn *fn,
                                                                void *arg,
                                                                struct weir_error *ret_error);

/** Receives one job. */
typedef int weir_job_fn(const struct weir_job *job, void *arg);

/** Calls back for up to limit jobs of a tube, in the order in which they would run (buried: oldest
 * first; ended: newest first). state 0: those of every state but the last: reserved, ready,
 * delayed, buried. Which jobs and in which order is of one moment; each is told as it is when its
 * turn comes, and left out if it is gone or in another state by then. A damaged body is shown as it
 * is, and the job's reason says so. Errors: WEIR_EINVAL (state), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_peek(weir_broker *broker, const char *tube,
                                                          enum weir_job_state state, size_t limit,
                                                          weir_job_fn *fn, void *arg,
                                                          struct weir_error *ret_error);

/** Calls back for one job. Errors: WEIR_ENOTFOUND, WEIR_EINVAL (malformed id), those of the
 * storage; WEIR_EUNKNOWN also where a node has another job in the place of this one. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_peek_id(weir_broker *broker, const char *id,
                                                             weir_job_fn *fn, void *arg,
                                                             struct weir_error *ret_error);

WEIR_END_DECLS

#endif
