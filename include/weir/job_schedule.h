/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_JOB_SCHEDULE_H
#define WEIR_JOB_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Schedules of jobs: entries of an SQLite store that put a job into a tube at each of their
 * firings, which are those of a cron expression (weir/cron.h) or of a fixed rate.
 *
 * Each firing puts one job, whichever and however many processes there are, and whatever kills
 * them. Firings are made by the consumers of the tube: when the time comes, if a worker is free,
 * else when one becomes free or a lease is renewed. While there is no consumer none is made.
 * Firings that have passed by then are missed, and there is a policy for them.
 *
 * The run time of a job is that of its firing. Firings are times of the system's wall clock. If it
 * is set back, no firing comes again; if it is set forward, those between are missed.
 *
 * All functions are thread-safe, and WEIR_ENOTSUP on a cluster: beanstalkd keeps no entries. */

#define WEIR_SCHEDULE_ZONE_SIZE_MAX 200   /**< Most bytes of the name of a schedule's zone. */
#define WEIR_SCHEDULE_CRON_SIZE_MAX 1000  /**< Most bytes of a schedule's cron expression. */
#define WEIR_SCHEDULE_CATCH_UP_LIMIT 1000 /**< The largest catch_up_max of a schedule of jobs. */

/** What becomes of firings that were missed. The one that is due now is among them. */
enum weir_missed {
    WEIR_MISSED_ONCE = 0, /**< One job for all of them, at the latest one. */
    WEIR_MISSED_SKIP,     /**< The latest one only, if it is late by at most tolerance_ns. */
    WEIR_MISSED_ALL       /**< A job for each, at most the latest catch_up_max of them. */
};

/** "once", "skip", "all"; "?" for anything else. */
WEIR_API const char *weir_missed_name(enum weir_missed missed);

/** Flags of a schedule. */
enum weir_job_schedule_flags {
    WEIR_SCHEDULE_NO_OVERLAP = 1 /**< No firing puts a job while that of the last one is delayed,
                                      ready or reserved: such firings are skipped. */
};

/** A schedule to be kept. Zero means the default of every field but those that are required.
 * Everything is borrowed during the call. */
struct weir_job_schedule_options {
    const char *name; /**< Required; borrowed; unique in the store; as a tube's. */
    const char *tube; /**< Required; borrowed. */
    const char *cron; /**< The firings, with seconds in six fields; borrowed; NULL: interval_ns. */
    const char *zone; /**< The zone of cron where that names none; borrowed; NULL: the system's. */
    int64_t interval_ns; /**< Between firings; at least 100 ms; 0: those of cron. */
    int64_t first_at_ns; /**< The first firing, or with cron the earliest time of it; 0: interval_ns
                              from now, or the next firing of cron. */
    struct weir_body body;   /**< Of each job; without options. */
    int64_t ttr_ns;          /**< Of each job; 0: 60 s; at least 100 ms. */
    int32_t priority;        /**< Of each job. */
    enum weir_missed missed; /**< What becomes of missed firings. */
    int64_t tolerance_ns;    /**< Of WEIR_MISSED_SKIP; 0: a minute. */
    uint32_t catch_up_max; /**< Of WEIR_MISSED_ALL; 0: 100; at most WEIR_SCHEDULE_CATCH_UP_LIMIT. */
    uint32_t flags;        /**< Of enum weir_job_schedule_flags. */
};

/** A schedule as it is kept. */
struct weir_job_schedule {
    const char *name;                   /**< Its name. */
    const char *tube;                   /**< Its tube. */
    const char *cron;                   /**< "": it has a rate. */
    const char *zone;                   /**< "": the system's. */
    const void *body;                   /**< Not NULL. */
    size_t body_size;                   /**< Its bytes. */
    int64_t interval_ns;                /**< 0: it has an expression. */
    int64_t ttr_ns;                     /**< Of its jobs. */
    int32_t priority;                   /**< Of its jobs. */
    enum weir_missed missed;            /**< What becomes of missed firings. */
    int64_t tolerance_ns;               /**< Of WEIR_MISSED_SKIP. */
    uint32_t catch_up_max;              /**< Of WEIR_MISSED_ALL. */
    uint32_t flags;                     /**< Of enum weir_job_schedule_flags. */
    int64_t next_ns;                    /**< The next firing; WEIR_FOREVER: there is none. */
    int64_t last_ns;                    /**< Run time of the last job that it put; 0: none yet. */
    const char *last_id;                /**< That job, which may have ended; "": none yet. */
    int64_t last_ended_ns;              /**< When that ended or was buried; 0: it was not. */
    enum weir_run_outcome last_outcome; /**< How; one that was moved away: removed. */
    uint64_t fired;                     /**< Jobs put, ever. */
    uint64_t skipped;    /**< Firings given up, ever; at most 10,000 are counted at a time. */
    uint32_t is_paused;  /**< 1: it puts no job. */
    const char *problem; /**< Why the store paused it, as its zone is gone; "": it did not. */
};

/** Makes a schedule, or changes the one of this name whole. If cron, zone, interval_ns and
 * first_at_ns say nothing new, its next firing stays; so do its counts and a pause. Durable on
 * return. Consumers need not be started again. Errors: WEIR_EINVAL (options, name, tube, an
 * expression, both cron and interval_ns or neither), WEIR_ETOOBIG (name, tube, cron, zone, body),
 * WEIR_ERANGE (a negative number, or a small or large one; firings less than 100 ms apart),
 * WEIR_ENOTFOUND (the zone), WEIR_ENOTSUP, WEIR_EACCESS (read-only), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_schedule_put(
    weir_broker *broker, const struct weir_job_schedule_options *options,
    struct weir_error *ret_error);

/** What weir_broker_schedule_change() does with a schedule. */
enum weir_schedule_change {
    /** Removes it. Jobs that it put stay. */
    WEIR_SCHEDULE_REMOVE = 1,
    /** Pauses it. Its firings pass without a job, and are counted as skipped when it is resumed. */
    WEIR_SCHEDULE_PAUSE,
    /** Resumes it, paused or not, with its first firing from now on: also one whose next firing is
     * far away because the clock was wrong for a while. */
    WEIR_SCHEDULE_RESUME,
    /** Puts a job of it to run at once, whether or not it is paused or its last job has ended. Its
     * firings stay as they are. */
    WEIR_SCHEDULE_RUN
};

/** Changes a schedule. ret_id, which may be NULL, receives the job of a RUN. Errors: WEIR_EINVAL
 * (name, kind), WEIR_ENOTFOUND, WEIR_ENOTSUP, WEIR_EACCESS (read-only), those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_schedule_change(weir_broker *broker,
                                                                     const char *name,
                                                                     enum weir_schedule_change kind,
                                                                     struct weir_job_id *ret_id,
                                                                     struct weir_error *ret_error);

/** Receives one schedule. */
typedef int weir_job_schedule_fn(const struct weir_job_schedule *schedule, void *arg);

/** Calls back for the schedules of a store, or the one of a name (NULL: all), in the order of their
 * names. Reads one at a time. Changes nothing. Errors: WEIR_EINVAL, WEIR_ENOTFOUND (a name),
 * WEIR_ENOTSUP, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_schedules(weir_broker *broker,
                                                               const char *name,
                                                               weir_job_schedule_fn *fn, void *arg,
                                                               struct weir_error *ret_error);

WEIR_END_DECLS

#endif
