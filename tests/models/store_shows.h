/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STORE_SHOWS_H
#define WEIR_TEST_STORE_SHOWS_H

/* What a store shows of its jobs and tubes is as the reference has it. */

#include "models/store_world.h"

/* --- what the store shows --- */

struct shown {
    struct ref_job *expected;
    bool is_there;
};

static enum weir_job_state shown_state(const struct ref_job *job)
{
    bool is_due = job->state == WEIR_JOB_DELAYED && job->run_at <= world.reference.wall;
    return is_due ? WEIR_JOB_READY : job->state;
}

static bool is_text(const char *text, const char *expected)
{
    return (text == NULL) == (expected == NULL) && (text == NULL || strcmp(text, expected) == 0);
}

static int compare_job(const struct weir_job *job, void *arg)
{
    struct shown *shown = arg;
    const struct ref_job *expected = shown->expected;
    char body[BODY_SIZE];
    shown->is_there = true;
    write_body(expected->body, body);
    body[0] = expected->is_bare ? '\0' : body[0];
    CHECK_INT(job->state, ==, shown_state(expected));
    CHECK_STRING(job->tube, tubes[expected->tube]);
    CHECK(job->body_size == strlen(body) && memcmp(job->body, body, strlen(body)) == 0);
    CHECK_INT(job->run_at_ns, ==, expected->run_at);
    CHECK_INT(job->ttr_ns, ==, expected->ttr);
    CHECK_INT(job->priority, ==, expected->priority);
    CHECK_INT(job->attempts, ==, expected->attempts);
    CHECK_INT(job->fence, ==, expected->token);
    CHECK_STRING(job->reason, expected->reason);
    CHECK(is_text(job->key, keys[expected->key]));
    CHECK(is_text(job->group, groups[expected->group]));
    CHECK(expected->put_id == 0 ? strchr(job->identity, '.') != NULL
                                : is_text(job->identity, put_ids[expected->put_id]));
    bool is_done = expected->end == WEIR_RUN_DONE;
    CHECK(job->attempts == 0 || (job->last_outcome != 0) == (expected->history != 0 || is_done));
    CHECK_INT(job->end, ==, expected->end);
    CHECK_INT(job->ended_ns, ==, expected->end != 0 ? expected->lease : 0);
    CHECK_INT(job->is_suspect, ==, expected->lost >= 2 && expected->end == 0);
    if (expected->state == WEIR_JOB_RESERVED) {
        CHECK_INT(job->verdict, ==, expected->verdict);
        CHECK_INT(job->progress, ==, expected->progress);
    }
    return 0;
}

/* Whether the store has a job, which is compared then. */
static bool is_there(struct ref_job *expected)
{
    struct shown shown = {expected, false};
    char id[32];
    name_job(expected, id);
    enum weir_status status = weir_broker_peek_id(world.broker, id, compare_job, &shown, NULL);
    CHECK_STATUS(status, shown.is_there ? WEIR_OK : WEIR_ENOTFOUND);
    return shown.is_there;
}

/* Ended jobs that the policy does not keep may be deleted later, as others end. */
static void forget_trimmed(void)
{
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world.reference.jobs[i];
        if (job->number == 0 || job->state != WEIR_JOB_ENDED || is_there(job)) {
            continue;
        }
        const struct weir_tube_policy *policy = &world.reference.tubes[job->tube].policy;
        uint64_t newer = 0;
        for (int k = 0; k < JOBS; k++) {
            const struct ref_job *other = &world.reference.jobs[k];
            newer += other->number != 0 && other->tube == job->tube &&
                     other->state == WEIR_JOB_ENDED &&
                     (other->lease > job->lease ||
                      (other->lease == job->lease && other->number > job->number));
        }
        bool is_many = policy->keep_count > 0 && newer >= policy->keep_count;
        bool is_old = policy->keep_ns == WEIR_KEEP_NONE ||
                      (policy->keep_ns != WEIR_FOREVER &&
                       world.reference.wall - job->lease >= policy->keep_ns);
        CHECK(is_many || is_old); /* else one that is to be kept is lost */
        *job = (struct ref_job){.number = 0};
        world.seen[TRIMMED]++;
    }
}

static bool precedes(const struct ref_job *a, const struct ref_job *b, enum weir_job_state state)
{
    if (state == WEIR_JOB_READY && a->priority != b->priority) {
        return a->priority < b->priority;
    }
    bool is_timed = state == WEIR_JOB_RESERVED || state == WEIR_JOB_ENDED;
    int64_t x = is_timed ? a->lease : state == WEIR_JOB_BURIED ? 0 : a->run_at;
    int64_t y = is_timed ? b->lease : state == WEIR_JOB_BURIED ? 0 : b->run_at;
    bool is_before = x != y ? x < y : a->number < b->number;
    return state == WEIR_JOB_ENDED ? !is_before : is_before;
}

struct listing {
    int tube;
    enum weir_job_state state;
    const struct ref_job *last;
    int64_t count;
};

/* Each is the first behind the one before. */
static int compare_listed(const struct weir_job *job, void *arg)
{
    struct listing *listing = arg;
    const struct ref_job *next = NULL;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *one = &world.reference.jobs[i];
        bool is = one->number != 0 && one->tube == listing->tube &&
                  shown_state(one) == listing->state && one != listing->last &&
                  (listing->last == NULL || precedes(listing->last, one, listing->state));
        next = is && (next == NULL || precedes(one, next, listing->state)) ? one : next;
    }
    CHECK(next != NULL);
    CHECK_INT(strtoll(job->id, NULL, 10), ==, next->number);
    listing->last = next;
    listing->count++;
    return 0;
}

static void compare_counts(int tube)
{
    const struct ref_tube *expected = &world.reference.tubes[tube];
    int64_t shown[WEIR_JOB_ENDED + 1] = {0};
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world.reference.jobs[i];
        shown[shown_state(job)] += job->number != 0 && job->tube == tube;
    }
    struct weir_tube_counts counts = jobs_counts(world.broker, tubes[tube]);
    CHECK_INT(counts.delayed, ==, shown[WEIR_JOB_DELAYED]);
    CHECK_INT(counts.ready, ==, shown[WEIR_JOB_READY]);
    CHECK_INT(counts.reserved, ==, shown[WEIR_JOB_RESERVED]);
    CHECK_INT(counts.buried, ==, shown[WEIR_JOB_BURIED]);
    CHECK_INT(counts.put, ==, expected->put);
    CHECK_INT(counts.done, ==, expected->done);
    CHECK_INT(counts.failed, ==, expected->failed);
    CHECK_INT(counts.burials, ==, expected->burials);
    CHECK_INT(counts.retried, ==, expected->retried);
    CHECK_INT(counts.expired, ==, expected->expired);
}

static void compare_lists(int tube)
{
    struct weir_tube_policy policy;
    struct weir_tube_policy_counts counts;
    CHECK_STATUS(weir_broker_policy(world.broker, tubes[tube], &policy, &counts, NULL), WEIR_OK);
    CHECK_INT(counts.ended, ==, ref_count(&world.reference, tube, WEIR_JOB_ENDED));
    CHECK_INT(counts.buried, ==, world.reference.tubes[tube].buried_late);
    CHECK_INT(counts.dropped, ==, world.reference.tubes[tube].dropped_late);
    for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_ENDED; state++) {
        struct listing listing = {tube, (enum weir_job_state)state, NULL, 0};
        int64_t expected = 0;
        CHECK_STATUS(weir_broker_peek(world.broker, tubes[tube], listing.state, SIZE_MAX,
                                      compare_listed, &listing, NULL),
                     WEIR_OK);
        for (int i = 0; i < JOBS; i++) {
            const struct ref_job *job = &world.reference.jobs[i];
            expected += job->number != 0 && job->tube == tube && shown_state(job) == listing.state;
        }
        CHECK_INT(listing.count, ==, expected);
    }
}

static void compare(bool is_thorough)
{
    for (int i = 0; i < JOBS && is_thorough; i++) {
        struct ref_job *job = &world.reference.jobs[i];
        CHECK(job->number == 0 || job->state == WEIR_JOB_ENDED || is_there(job));
    }
    if (is_thorough) {
        forget_trimmed();
    }
    for (int tube = 0; tube < TUBES; tube++) {
        compare_counts(tube);
        if (is_thorough) {
            compare_lists(tube);
        }
    }
}

#endif
