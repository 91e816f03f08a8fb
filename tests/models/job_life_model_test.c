/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The life of jobs: random puts, looks, runs, changes and steps of both clocks, decided by
 * jobs/core for a back end of arrays (job_backend.h) and by a naive reference (job_reference.h).
 * After each step both worlds are equal, counts and totals are those of the rows, no two jobs of a
 * tube have a key, no group runs more than it may, and nobody sleeps past what can be reserved. */
#include "models/job_steps.h"

static void compare_job(const struct ref_job *expected, const struct stored_job *job)
{
    const struct weiri_job_facts *facts = &job->row.facts;
    CHECK_INT(job->row.tube, ==, expected->tube);
    CHECK_INT(facts->state, ==, expected->state);
    CHECK_INT(facts->run_at_ns, ==, expected->run_at);
    CHECK_INT(facts->ttr_ns, ==, expected->ttr);
    CHECK_INT(facts->lease_ns, ==, expected->lease);
    CHECK_INT(facts->token, ==, expected->token);
    CHECK_INT(facts->attempts, ==, expected->attempts);
    CHECK_INT(facts->lost, ==, expected->lost);
    CHECK_INT(facts->verdict, ==, expected->verdict);
    CHECK_INT(facts->attempts_max, ==, expected->attempts_max);
    CHECK(facts->verdict == 0 || facts->state == WEIR_JOB_RESERVED);
    CHECK_INT(job->row.priority, ==, expected->priority);
    CHECK_INT(group_number(job->row.group), ==, expected->group);
    CHECK_INT(put_id_number(job->row.put_id), ==, expected->put_id);
    CHECK_INT(job->row.progress, ==, expected->progress);
    CHECK_INT(job->body, ==, expected->body);
    CHECK_INT(job->history, ==, expected->history);
    CHECK_STRING(job->reason, expected->reason);
    const struct stored_key *key = key_of_job(&world.backend, expected->number);
    CHECK_INT(key == NULL ? 0 : key->key, ==, expected->key);
    if (key != NULL) {
        bool runs_again = facts->state == WEIR_JOB_RESERVED && key->stored.again != 0 &&
                          key->stored.again == facts->token;
        CHECK_INT(key->tube, ==, expected->tube);
        CHECK_INT(key->stored.until_ns, ==, expected->key_until);
        CHECK_INT(runs_again, ==, expected->runs_again);
        if (runs_again) {
            CHECK_INT(key->stored.again_at_ns, ==, expected->again_at);
            CHECK_INT(group_number(key->stored.group), ==, expected->again_group);
            CHECK_INT(put_id_number(key->stored.put_id), ==, expected->again_put_id);
        }
    }
}

static void compare_tube(int tube)
{
    const struct stored_tube *stored = &world.backend.tubes[tube];
    const struct ref_tube *expected = &world.reference.tubes[tube];
    for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_ENDED; state++) {
        CHECK_INT(stored->counts[state], ==,
                  ref_count(&world.reference, tube, (enum weir_job_state)state));
    }
    CHECK_INT(stored->put, ==, expected->put);
    CHECK_INT(stored->done, ==, expected->done);
    CHECK_INT(stored->failed, ==, expected->failed);
    CHECK_INT(stored->burials, ==, expected->burials);
    CHECK_INT(stored->retried, ==, expected->retried);
    CHECK_INT(stored->expired, ==, expected->expired);
    CHECK_INT(stored->buried_late, ==, expected->buried_late);
    CHECK_INT(stored->dropped_late, ==, expected->dropped_late);
    /* Who sleeps was told, or has been woken. */
    CHECK_INT(stored->told_ns, <=, ref_next(&world.reference, tube, false));
}

static void compare(void)
{
    int64_t rows = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *expected = &world.reference.jobs[i];
        if (expected->number != 0) {
            const struct stored_job *job = stored_find(&world.backend, expected->number);
            CHECK(job != NULL); /* none is lost */
            compare_job(expected, job);
        }
        rows += world.backend.jobs[i].is_there;
    }
    CHECK_INT(rows, ==, JOBS - ref_room(&world.reference)); /* none is doubled */
    CHECK_INT(rows, ==, world.backend.inserted - world.backend.deleted);
    for (int tube = 0; tube < TUBES; tube++) {
        compare_tube(tube);
    }
}

static void begin(void)
{
    world.reference.wall = WEIR_SECONDS(1000000);
    world.reference.lease = WEIR_SECONDS(5000);
    world.reference.next_number = 1;
    world.backend.next_number = 1;
    world.backend.now = (struct weiri_now){world.reference.wall, world.reference.lease};
    for (int tube = 0; tube < TUBES; tube++) {
        world.backend.tubes[tube].told_ns = INT64_MIN;
        world.backend.tubes[tube].record.policy = world.reference.tubes[tube].policy =
            (struct weir_tube_policy){.keep_ns = WEIR_FOREVER, .keep_count = 3};
    }
    schedules_begin();
}

TEST(random_life, "what core decides of jobs, keys, groups, policies and schedules is as a naive "
                  "reference has it, in every one of many thousand steps")
{
    begin();
    uint64_t steps = test_scaled(150000);
    for (uint64_t i = 0; i < steps; i++) {
        step_random();
        compare();
    }
    (void)printf("%llu steps:", (unsigned long long)steps);
    for (int i = 0; i < EVENTS; i++) {
        (void)printf(" %s %llu", event_names[i], (unsigned long long)world.seen[i]);
        CHECK_INT(world.seen[i], >, 0); /* else the steps do not reach it */
    }
    (void)printf("\n");
}
