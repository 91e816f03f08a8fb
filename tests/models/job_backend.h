/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_BACKEND_H
#define WEIR_TEST_JOB_BACKEND_H

/* A back end of jobs in arrays: it loads a row with its key, and writes what a decision of
 * jobs/core says, and nothing else. Keys have rows of their own, as in a store. What the effects
 * tell of counts, totals and the history is kept as told, and compared with the rows by the test.
 */

#include <stdlib.h>

#include "models/job_reference.h"

struct stored_job {
    bool is_there;
    struct weiri_job_row row; /* without key */
    char reason[WEIR_REASON_SIZE];
    int64_t body;
    int history;
    int process;      /* that reserved it last, */
    int64_t began_ns; /* and when, on the clock of leases */
};

struct stored_key {
    int key; /* 0: none */
    int tube;
    int64_t job;
    bool is_ended; /* the job is, and the key only throttled */
    struct weiri_job_key stored;
};

struct stored_tube {
    struct weiri_tube_record record;
    int64_t counts[WEIR_JOB_ENDED + 1];
    int64_t put, done, failed, retried, expired, burials, buried_late, dropped_late;
    int64_t told_ns; /* a consumer sleeps so long, by the wall clock; INT64_MIN: it is awake */
};

struct backend {
    struct stored_job jobs[JOBS];
    struct stored_key keys[MARKS + JOBS];
    struct stored_tube tubes[TUBES];
    struct weiri_now now;
    int64_t next_number;
    int64_t inserted, deleted;
};

static const char *const group_names[GROUPS + 1] = {NULL, "north", "south"};
static const char *const key_names[KEYS + 1] = {NULL, "k1", "k2", "k3", "k4"};

static const char *const put_ids[PUT_IDS + 1] = {NULL, "p1", "p2", "p3"};

/* Which of count names a text is; 0: it is NULL. */
static inline int name_number(const char *const *names, int count, const char *text)
{
    for (int i = 1; i <= count; i++) {
        if (text != NULL && strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    CHECK(text == NULL);
    return 0;
}

static inline int group_number(const char *group)
{
    return name_number(group_names, GROUPS, group);
}

static inline int put_id_number(const char *put_id)
{
    return name_number(put_ids, PUT_IDS, put_id);
}

static inline struct stored_job *stored_find(struct backend *backend, int64_t number)
{
    for (int i = 0; i < JOBS; i++) {
        if (backend->jobs[i].is_there && backend->jobs[i].row.number == number) {
            return &backend->jobs[i];
        }
    }
    return NULL;
}

static inline struct stored_key *key_in_tube(struct backend *backend, int tube, int key)
{
    for (size_t i = 0; i < MARKS + JOBS; i++) {
        if (backend->keys[i].key == key && key != 0 && backend->keys[i].tube == tube) {
            return &backend->keys[i];
        }
    }
    return NULL;
}

static inline struct stored_key *key_of_job(struct backend *backend, int64_t number)
{
    for (size_t i = 0; i < MARKS + JOBS; i++) {
        if (backend->keys[i].key != 0 && backend->keys[i].job == number &&
            !backend->keys[i].is_ended) {
            return &backend->keys[i];
        }
    }
    return NULL;
}

/* A row with its key. */
static inline struct weiri_job_row stored_load(struct backend *backend,
                                               const struct stored_job *job)
{
    struct weiri_job_row row = job->row;
    const struct stored_key *key = key_of_job(backend, row.number);
    row.reason = job->reason;
    if (key != NULL) {
        row.key = key->stored;
    }
    return row;
}

/* What a put meets: the job that has or had its key. */
static inline struct weiri_job_row stored_load_holder(struct backend *backend, int tube, int key)
{
    struct weiri_job_row row = {.tube = tube};
    const struct stored_key *found = key_in_tube(backend, tube, key);
    if (found == NULL) {
        return row;
    }
    if (!found->is_ended) {
        struct stored_job *job = stored_find(backend, found->job);
        CHECK(job != NULL); /* no key outlives its job, but one that is throttled */
        return stored_load(backend, job);
    }
    row.number = found->job;
    row.key = found->stored;
    return row;
}

/* key: of a put that adds the row, or 0. */
static inline void write_key(struct backend *backend, const struct weiri_job_row *row, int key,
                             const struct weiri_effects *effects)
{
    struct stored_key *own = key_of_job(backend, row->number);
    if (key != 0) {
        struct stored_key *there = key_in_tube(backend, (int)row->tube, key);
        CHECK(there == NULL || there->is_ended); /* never two jobs with one key */
        struct stored_key *free_one = backend->keys;
        while (free_one->key != 0) {
            free_one++;
        }
        *(there == NULL ? free_one : there) =
            (struct stored_key){key, (int)row->tube, row->number, false, row->key};
    } else if (effects->frees_key) {
        CHECK(own != NULL);
        own->is_ended = own->stored.until_ns != 0; /* as ref_release_key() */
        own->key = own->is_ended ? own->key : 0;
    } else if (effects->runs_again) {
        CHECK(own != NULL);
        own->stored = row->key;
    } else if (own != NULL && own->tube != row->tube) {
        struct stored_key *there = key_in_tube(backend, (int)row->tube, own->key);
        CHECK(there == NULL || there->is_ended);
        if (there != NULL) {
            there->key = 0;
        }
        own->tube = (int)row->tube;
    }
}

static inline void write_row(struct stored_job *job, const struct weiri_job_row *row,
                             const struct weiri_effects *effects, bool is_new)
{
    bool is_of_put = is_new || effects->writes_put;
    job->row.tube = row->tube;
    job->row.facts = row->facts;
    job->row.progress = row->progress;
    job->row.end = effects->end != 0 ? effects->end : job->row.end;
    job->row.priority = is_of_put ? row->priority : job->row.priority;
    job->row.group = is_of_put || effects->takes_again ? row->group : job->row.group;
    job->row.put_id = is_of_put || effects->takes_again ? row->put_id : job->row.put_id;
    job->row.owner = effects->is_started ? row->owner : job->row.owner;
    job->row.started_ns = effects->is_started ? row->started_ns : job->row.started_ns;
    if (effects->reason != NULL) {
        (void)snprintf(job->reason, sizeof(job->reason), "%s", effects->reason);
    }
}

static inline void write_totals(struct backend *backend, int from, int to, bool is_gone,
                                const struct weiri_effects *effects)
{
    struct stored_tube *tube = &backend->tubes[to];
    bool is_dropped = effects->end == WEIR_RUN_DROPPED;
    backend->tubes[from].counts[effects->from]--;
    tube->counts[is_gone ? WEIRI_JOB_GONE : effects->to]++;
    tube->put += effects->put;
    tube->done += effects->done;
    tube->failed += effects->failed;
    tube->burials += effects->to == WEIR_JOB_BURIED && effects->from != WEIR_JOB_BURIED;
    tube->retried += effects->retried;
    tube->expired += effects->expired;
    tube->dropped_late += effects->is_late && is_dropped;
    tube->buried_late += effects->is_late && !is_dropped;
}

/* Who sleeps for jobs of the tube is awake where an effect says so, and it matters. */
static inline void write_wakes(struct backend *backend, struct stored_tube *tube,
                               const struct weiri_effects *effects)
{
    int64_t lease_ends_ns = effects->lease_ends_ns - backend->now.lease_ns + backend->now.wall_ns;
    bool wakes = effects->wakes ||
                 (effects->wakes_at_ns != 0 && effects->wakes_at_ns < tube->told_ns) ||
                 (effects->lease_ends_ns != 0 && lease_ends_ns < tube->told_ns);
    tube->told_ns = wakes ? INT64_MIN : tube->told_ns;
}

/* Writes what a decision says of a row that was loaded (job NULL: of a new one). put is NULL where
 * the event is none. */
static inline int64_t stored_write(struct backend *backend, struct stored_job *job,
                                   struct weiri_job_row *row, enum weiri_write write,
                                   const struct weiri_effects *effects, const struct ref_put *put)
{
    if (write == WEIRI_NOTHING) {
        return row->number;
    }
    CHECK_STATUS(effects->status, WEIR_OK);
    bool is_new = write == WEIRI_INSERT;
    if (is_new) {
        CHECK(put != NULL);
        job = backend->jobs;
        while (job->is_there) {
            job++;
        }
        row->number = backend->next_number++;
        *job = (struct stored_job){.is_there = true, .row = *row};
        job->row.key = (struct weiri_job_key){.is_there = false};
        backend->inserted++;
    }
    CHECK(job != NULL);
    int from = (int)job->row.tube;
    bool is_gone =
        write == WEIRI_DELETE ||
        (effects->end != 0 && backend->tubes[from].record.policy.keep_ns == WEIR_KEEP_NONE);
    write_totals(backend, from, (int)row->tube, is_gone, effects);
    write_wakes(backend, &backend->tubes[row->tube], effects);
    write_key(backend, row, is_new ? put->key : 0, effects);
    if (!effects->runs_again) {
        write_row(job, row, effects, is_new);
    }
    if (is_new || effects->writes_put) {
        CHECK(put != NULL);
        job->body = put->body;
    }
    job->history = effects->forgets_attempts ? 0 : job->history;
    job->history += effects->kept.outcome != 0;
    if (is_gone) {
        job->is_there = false;
        backend->deleted++;
    }
    return row->number;
}

/* How many jobs of a group are reserved. */
static inline uint64_t stored_running(const struct backend *backend, int tube, const char *group)
{
    uint64_t running = 0;
    for (int i = 0; i < JOBS && group != NULL; i++) {
        const struct stored_job *job = &backend->jobs[i];
        running += job->is_there && job->row.tube == tube && job->row.group != NULL &&
                   job->row.facts.state == WEIR_JOB_RESERVED && strcmp(job->row.group, group) == 0;
    }
    return running;
}

/* The run time of the tube's last ready job of a priority, but for suspects; 0: there is none. */
static inline int64_t stored_last(const struct backend *backend, int64_t tube, int32_t priority)
{
    int64_t last = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct weiri_job_row *row = &backend->jobs[i].row;
        bool is_one = backend->jobs[i].is_there && row->tube == tube && row->priority == priority &&
                      row->facts.state == WEIR_JOB_READY && row->facts.lost < 2;
        last = is_one && row->facts.run_at_ns > last ? row->facts.run_at_ns : last;
    }
    return last;
}

/* What the tube's indexes have. */
static inline struct weiri_firsts stored_firsts(const struct backend *backend, int tube)
{
    struct weiri_firsts firsts = {
        .delayed_ns = WEIR_FOREVER,
        .lease_ns = WEIR_FOREVER,
        .firing_ns = WEIR_FOREVER,
    };
    for (int i = 0; i < JOBS; i++) {
        const struct weiri_job_facts *facts = &backend->jobs[i].row.facts;
        bool is_here = backend->jobs[i].is_there && backend->jobs[i].row.tube == tube;
        if (is_here && facts->state == WEIR_JOB_DELAYED &&
            facts->run_at_ns > backend->now.wall_ns) {
            firsts.delayed_ns = weiri_time_earlier(firsts.delayed_ns, facts->run_at_ns);
        } else if (is_here && facts->state == WEIR_JOB_RESERVED) {
            firsts.lease_ns = weiri_time_earlier(firsts.lease_ns, facts->lease_ns);
        }
    }
    return firsts;
}

#endif
