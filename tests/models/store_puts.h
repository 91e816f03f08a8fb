/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STORE_PUTS_H
#define WEIR_TEST_STORE_PUTS_H

/* Steps of the model of a store: puts, and removals, which make room for them. */

#include "models/store_shows.h"

/* --- changes --- */

/* An ended job may be gone. */
static struct ref_job *any_present_job(void)
{
    forget_trimmed();
    struct ref_job *job = any_job();
    if (job != NULL) {
        follow(false);
    }
    return job;
}

static void remove_job(struct ref_job *job)
{
    const struct weir_change asked = {.kind = WEIR_CHANGE_REMOVE};
    const struct weiri_job_step step = {.event = WEIRI_JOB_REMOVE};
    follow(false);
    CHECK_STATUS(change(job, &asked), ref_change(&world.reference, job, &step, NULL));
}

/* Room for a job: some go where there is none. */
static void make_room(void)
{
    forget_trimmed();
    bool is_needed = ref_room(&world.reference) == 0;
    for (int i = 0; i < 2 * JOBS && is_needed; i++) { /* what is removed is kept once more */
        struct ref_job *job = &world.reference.jobs[i % JOBS];
        if (below(2) == 0 && job->number != 0) {
            remove_job(job);
            forget_trimmed(); /* others may go with it */
        }
    }
}

/* --- puts --- */

/* Whether a job counts as the one of a put_id; ret_is_same: with this body. */
static bool is_of_put(const struct ref_job *job, int tube, int put_id, int64_t body,
                      bool *ret_is_same)
{
    int64_t since = world.reference.wall - WEIR_SECONDS(PUT_ID_S);
    if (job->number == 0 || job->tube != tube || put_id == 0) {
        return false;
    }
    *ret_is_same = body == job->body || (job->put_id == put_id && job->runs_again);
    return (job->put_id == put_id &&
            (job->end == 0 || (job->end == WEIR_RUN_DONE && job->lease > since))) ||
           (job->runs_again && job->again_put_id == put_id);
}

/* The only job of a put_id in a tube; NULL: none. */
static struct ref_job *find_of_put(int tube, int put_id, int64_t body, bool *ret_is_same,
                                   int *ret_count)
{
    struct ref_job *found = NULL;
    *ret_count = 0;
    for (int i = 0; i < JOBS; i++) {
        bool is_same;
        struct ref_job *job = &world.reference.jobs[i];
        if (is_of_put(job, tube, put_id, body, &is_same)) {
            found = job;
            *ret_is_same = is_same;
            *ret_count += 1;
        }
    }
    return found;
}

/* Throttles whose time has passed are deleted by a put that takes a key: a clock that is set back
 * does not bring them back. */
static void forget_throttles(void)
{
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world.reference.jobs[i];
        job->key_until = job->key_until <= world.reference.wall ? 0 : job->key_until;
    }
    for (int i = 0; i < MARKS; i++) {
        struct ref_mark *mark = &world.reference.marks[i];
        mark->key = mark->until <= world.reference.wall ? 0 : mark->key;
    }
}

static enum weir_status expect_put(const struct ref_put *put, int64_t *ret_number)
{
    bool is_same = false;
    int count;
    const struct ref_job *same = find_of_put(put->tube, put->put_id, put->body, &is_same, &count);
    if (same != NULL) {
        world.seen[is_same ? REPEATED : OTHER_BODY]++;
        *ret_number = same->number;
        return is_same ? WEIR_OK : WEIR_ESTATE;
    }
    int64_t next = world.reference.next_number;
    enum weir_status status = ref_put(&world.reference, put, ret_number);
    bool is_added = status == WEIR_OK && *ret_number == next;
    if (is_added && put->key != 0) {
        forget_throttles();
    }
    world.seen[status != WEIR_OK ? REFUSED : is_added ? ADDED : JOINED]++;
    return status;
}

static void do_put(void)
{
    bool at_once = below(3) == 0;
    bool is_keyed = below(5) < 3;
    int64_t delay = units(40) - 5 * UNIT;
    int64_t wall = world.reference.wall;
    struct ref_put put = {
        .tube = below(TUBES),
        .key = is_keyed ? 1 + below(KEYS) : 0,
        .group = below(GROUPS + 1),
        .put_id = below(2) == 0 ? 0 : 1 + below(PUT_IDS),
        .mode =
            is_keyed ? (enum weir_duplicate)below(WEIR_DUPLICATE_AGAIN + 1) : WEIR_DUPLICATE_REFUSE,
        .priority = below(3) - 1,
        .run_at = at_once || delay < 0 ? wall : wall + delay,
        .ttr = UNIT + units(20),
        .body = ++world.bodies,
        .at_once = at_once || delay < 0,
    };
    bool is_same;
    int count;
    make_room();
    const struct ref_job *same = find_of_put(put.tube, put.put_id, put.body, &is_same, &count);
    if (count > 1 || ref_room(&world.reference) == 0) {
        return; /* a clock that was set back lets the put_id of a job that has ended count again */
    }
    put.body = same != NULL && below(2) == 0 ? same->body : put.body;
    put.key_ns = put.mode == WEIR_DUPLICATE_THROTTLE ? 1 + units(60) : 0;
    bool is_delay = !put.at_once && delay > 0 && below(2) == 0;
    const struct weir_put_options options = {
        .run_at_ns = at_once || is_delay ? 0 : wall + delay,
        .delay_ns = is_delay ? delay : 0,
        .ttr_ns = put.ttr,
        .priority = put.priority,
        .flags = WEIR_PUT_PAST_OK,
        .key = keys[put.key],
        .key_ns = put.key_ns,
        .on_duplicate = put.mode,
        .group = groups[put.group],
        .put_id = put_ids[put.put_id],
    };
    char text[BODY_SIZE];
    struct weir_job_id id;
    int64_t expected = 0;
    write_body(put.body, text);
    follow(false);
    const struct weir_body body = {text, strlen(text), NULL};
    enum weir_status status =
        weir_broker_put(world.broker, tubes[put.tube], &body, 1, &options, &id, NULL);
    CHECK_STATUS(status, expect_put(&put, &expected));
    if (status == WEIR_OK) {
        CHECK_INT(strtoll(id.text, NULL, 10), ==, expected);
    }
}

#endif
