/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STORE_WORLD_H
#define WEIR_TEST_STORE_WORLD_H

/* What the random steps of the model of a store share: the store on two stepped clocks, the
 * reference, and what holders have of their reservations. */

#include "jobs/sqlite/store.h"

#include "models/job_draws.h"
#include "models/job_rules.h"
#include "support/jobs.h"

enum {
    HELD = 24,
    BODY_SIZE = 4000, /* of a large body, which has a row of its own */
};
#define SUSPECT_NS WEIR_SECONDS(60)

static const char *const tubes[TUBES] = {"a", "b", "c"};
static const char *const keys[KEYS + 1] = {NULL, "k1", "k2", "k3", "k4"};
static const char *const groups[GROUPS + 1] = {NULL, "north", "south"};
static const char *const put_ids[PUT_IDS + 1] = {NULL, "p1", "p2", "p3"};

/* What must have happened, so that the steps are worth it. */
enum event {
    ADDED,
    JOINED,
    REFUSED,
    REPEATED,
    OTHER_BODY,
    TAKEN,
    PASSED_OVER,
    LEFT,
    SETTLED,
    STALE,
    FOLLOWED,
    JUDGED,
    LOST,
    KEPT,
    LATE,
    ARCHIVED,
    TRIMMED,
    CANCELED,
    TAKEN_BACK,
    KICKED,
    REFILED,
    KEY_TAKEN,
    REOPENED,
    FOLLOWED_BACK,
    EVENTS
};

static const char *const event_names[EVENTS] = {
    "added",       "joined", "refused", "repeated",  "other body", "taken",
    "passed over", "left",   "settled", "stale",     "followed",   "judged",
    "lost",        "kept",   "late",    "archived",  "trimmed",    "canceled",
    "taken back",  "kicked", "refiled", "key taken", "reopened",   "followed back",
};

/* What a holder has of its reservation, also after it ended. */
struct held {
    struct weiri_reservation *reservation; /* NULL: none */
    bool is_kept;
    bool is_suspect, is_alone;
    int64_t new_until;
};

static struct {
    struct jobs_clocks clocks;
    weir_broker *broker;
    struct reference reference;
    struct held held[HELD];
    int boot;
    int64_t ahead; /* the wall clock of that of the boot, as the store has it */
    bool is_noted; /* of this boot */
    int64_t bodies;
    int awaited_tube; /* of a suspect that waits to run alone */
    int64_t awaited_until;
    uint64_t seen[EVENTS];
} world;

/* The body of a put: one of eight is large. */
static void write_body(int64_t body, char text[BODY_SIZE])
{
    (void)snprintf(text, BODY_SIZE, "%0*" PRId64, body % 8 == 0 ? BODY_SIZE - 1 : 1, body);
}

static struct ref_job *any_job(void)
{
    int first = below(JOBS);
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world.reference.jobs[(first + i) % JOBS];
        if (job->number != 0) {
            return job;
        }
    }
    return NULL;
}

static void name_job(const struct ref_job *job, char text[32])
{
    (void)snprintf(text, 32, "%" PRId64, job->number);
}

/* --- holders --- */

static bool is_kept(const struct ref_job *job)
{
    bool is = false;
    for (int i = 0; i < HELD; i++) {
        const struct held *held = &world.held[i];
        is = is || (held->is_kept && held->reservation->number == job->number &&
                    held->reservation->job.fence == job->token);
    }
    return is;
}

/* The store follows the wall clock, before it looks, or may write a delayed job: what was due
 * before it was set back is ready. */
static void follow(bool is_look)
{
    struct reference *reference = &world.reference;
    int64_t ahead = reference->wall - reference->lease;
    int64_t back = world.is_noted ? world.ahead - ahead : 0;
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &reference->jobs[i];
        if (job->number != 0 && job->state == WEIR_JOB_DELAYED && job->run_at > reference->wall &&
            job->run_at < reference->wall + back) {
            job->state = WEIR_JOB_READY;
            world.seen[FOLLOWED_BACK]++;
        }
    }
    if (!world.is_noted || back > 0 || (is_look && back < 0)) {
        world.ahead = ahead;
        world.is_noted = true;
    }
}

/* A reservation of before; NULL: there is none. */
static struct held *any_held(void)
{
    int first = below(HELD);
    for (int i = 0; i < HELD; i++) {
        struct held *held = &world.held[(first + i) % HELD];
        if (held->reservation != NULL) {
            return held;
        }
    }
    return NULL;
}

static void let_go(struct held *held)
{
    if (held->is_kept) {
        world.broker->ops->let_go(world.broker->store, held->reservation);
        held->is_kept = false;
    }
}

static void drop(struct held *held)
{
    if (held->reservation != NULL) {
        let_go(held);
        jobs_free_one(world.broker, held->reservation);
        held->reservation = NULL;
    }
}

static enum weir_status change(const struct ref_job *job, const struct weir_change *asked)
{
    char text[32];
    const char *id = text;
    enum weir_status status;
    name_job(job, text);
    CHECK_STATUS(weir_broker_change(world.broker, asked, &id, 1, &status, NULL), WEIR_OK);
    return status;
}

#endif
