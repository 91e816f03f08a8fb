/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Random puts, looks, runs and changes on a store, on two stepped clocks, and the same on the naive
 * reference of the models (tests/models/job_reference.h), whose rules are those of the public
 * headers. After each step what the call said, and every count, listing and job that the store
 * shows, is as the reference has it. */
#include "models/store_looks.h"
#include "models/store_puts.h"
#include "support/sanitizer.h"

/* --- operators --- */

static void do_remove(void)
{
    struct ref_job *job = any_present_job();
    if (job != NULL) {
        remove_job(job);
    }
}

static void do_bury(void)
{
    struct ref_job *job = any_present_job();
    const struct weir_change asked = {.kind = WEIR_CHANGE_BURY,
                                      .reason = below(2) == 0 ? "asked" : NULL};
    const struct weiri_job_step step = {.event = WEIRI_JOB_SET_ASIDE};
    if (job != NULL) {
        CHECK_STATUS(change(job, &asked), ref_change(&world.reference, job, &step, asked.reason));
    }
}

static void do_kick(void)
{
    struct ref_job *job = any_present_job();
    bool takes_buried = below(4) != 0;
    bool takes_delayed = !takes_buried || below(2) == 0;
    int64_t slot = below(2) == 0 ? 0 : world.reference.wall + units(30) - 5 * UNIT;
    uint32_t states =
        (takes_buried ? 1U << WEIR_JOB_BURIED : 0) | (takes_delayed ? 1U << WEIR_JOB_DELAYED : 0);
    const struct weir_change asked = {
        .kind = WEIR_CHANGE_KICK, .start_ns = slot, .states = takes_delayed ? states : 0};
    if (job == NULL) {
        return;
    }
    enum weir_status status = change(job, &asked);
    CHECK_STATUS(status, ref_kick(&world.reference, job, takes_buried, takes_delayed, slot));
    world.seen[KICKED] += status == WEIR_OK;
}

static void do_kick_tube(void)
{
    int tube = below(TUBES);
    size_t count = (size_t)below(3);
    size_t kicked = 99;
    size_t expected = 0;
    for (; expected < count; expected++) {
        struct ref_job *first = NULL;
        for (int i = 0; i < JOBS; i++) {
            struct ref_job *job = &world.reference.jobs[i];
            bool is = job->number != 0 && job->tube == tube && job->state == WEIR_JOB_BURIED;
            first = is && (first == NULL || job->number < first->number) ? job : first;
        }
        if (first == NULL) {
            break;
        }
        CHECK_STATUS(ref_kick(&world.reference, first, true, false, 0), WEIR_OK);
    }
    CHECK_STATUS(weir_broker_kick(world.broker, tubes[tube], count, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, expected);
}

/* A reservation of an earlier boot has no worker. */
static bool is_gone(const struct ref_job *job)
{
    return job->state == WEIR_JOB_RESERVED && job->lease == 0 && !is_kept(job);
}

static void do_cancel(void)
{
    struct ref_job *job = any_present_job();
    const struct weir_change asked = {.kind = WEIR_CHANGE_CANCEL,
                                      .verdict = (enum weir_verdict)(WEIR_VERDICT_BURY + below(3)),
                                      .reason = below(3) == 0 ? NULL : "canceled by anna"};
    if (job == NULL) {
        return;
    }
    enum weir_status status = change(job, &asked);
    CHECK_STATUS(status, ref_cancel(&world.reference, job, asked.verdict, asked.reason,
                                    is_kept(job), is_gone(job), world.reference.lease));
    world.seen[CANCELED] += status == WEIR_ECANCELED;
}

static void do_take_back(void)
{
    struct ref_job *job = any_present_job();
    bool is_forced = below(2) == 0;
    const struct weir_change asked = {
        .kind = WEIR_CHANGE_KICK, .states = 1U << WEIR_JOB_RESERVED, .is_forced = is_forced};
    if (job == NULL) {
        return;
    }
    bool has_passed = !is_kept(job) && job->lease <= world.reference.lease;
    enum weir_verdict verdict = job->verdict;
    enum weir_status status = change(job, &asked);
    enum weir_status expected =
        ref_take_back(&world.reference, job, is_gone(job), is_forced || has_passed);
    CHECK_STATUS(status, expected == WEIR_OK && verdict != 0 ? WEIR_ECANCELED : expected);
    world.seen[TAKEN_BACK] += expected == WEIR_OK;
}

static void do_refile(void)
{
    struct ref_job *job = any_present_job();
    int tube = below(TUBES);
    bool is_same;
    int count = 0;
    if (job == NULL) {
        return;
    }
    const struct weir_change asked = {.kind = WEIR_CHANGE_MOVE, .tube = tubes[tube]};
    if (job->tube != tube && job->state != WEIR_JOB_RESERVED && job->state != WEIR_JOB_ENDED) {
        (void)find_of_put(tube, job->put_id, job->body, &is_same, &count);
    }
    enum weir_status status = change(job, &asked);
    CHECK_STATUS(status, count > 0 ? WEIR_EBUSY : ref_refile(&world.reference, job, tube));
    world.seen[REFILED] += status == WEIR_OK;
    world.seen[KEY_TAKEN] += status == WEIR_EBUSY;
}

static void set_policy(int tube, const struct weir_tube_policy *policy)
{
    forget_trimmed();
    CHECK_STATUS(weir_broker_set_policy(world.broker, tubes[tube], policy, NULL), WEIR_OK);
    world.reference.tubes[tube].policy = *policy;
    int64_t kept = ref_count(&world.reference, tube, WEIR_JOB_ENDED);
    ref_trim(&world.reference, tube);
    world.seen[TRIMMED] += kept > ref_count(&world.reference, tube, WEIR_JOB_ENDED);
    compare(true); /* what it does not keep is gone */
}

static void do_policy(void)
{
    struct weir_tube_policy policy = {
        .keep_ns = below(3) == 0   ? WEIR_KEEP_NONE
                   : below(4) == 0 ? WEIR_FOREVER
                                   : UNIT + units(100),
        .keep_count = 1 + (uint64_t)below(4),
        .archive = (uint32_t)below(2),
        .late = (uint32_t)below(WEIR_LATE_DROP + 1),
        .group_limit = (uint32_t)below(4),
    };
    policy.late_ns = policy.late == WEIR_LATE_RUN ? 0 : UNIT + units(60);
    set_policy(below(TUBES), &policy);
}

static void do_pause(void)
{
    int tube = below(TUBES);
    int64_t ns = below(2) == 0 ? 0 : units(50);
    CHECK_STATUS(weir_broker_pause(world.broker, tubes[tube], ns, NULL), WEIR_OK);
    world.reference.tubes[tube].paused_until = ns == 0 ? 0 : world.reference.wall + ns;
}

/* --- time --- */

static void step_clocks(int64_t wall_ns, int64_t lease_ns)
{
    forget_trimmed();
    jobs_wall_step(&world.clocks.wall, wall_ns);
    jobs_wall_step(&world.clocks.lease, lease_ns);
    world.reference.wall += wall_ns;
    world.reference.lease += lease_ns;
}

static void do_wait(void)
{
    int64_t ns = units(8);
    step_clocks(ns, ns);
}

static void do_set_clock(void)
{
    step_clocks(units(40) - 20 * UNIT, 0);
}

/* Opens it in another boot. */
static void begin_boot(void)
{
    int64_t now = (world.reference.wall - WEIR_SECONDS(1577836800)) / WEIR_US(1);
    uint64_t least = world.reference.era + 60000000;
    world.reference.era = now > (int64_t)least ? (uint64_t)now : least;
    world.boot++;
    world.is_noted = false;
}

static void open_store(void)
{
    char boot[16];
    (void)snprintf(boot, sizeof(boot), "boot %d", world.boot);
    world.broker = jobs_store_open_on("jobs.db", &world.clocks, boot);
    /* Durability is not tested here, and thousands of flushes would take most of the time. */
    struct weiri_store *store = world.broker->store;
    CHECK_INT(sqlite3_exec(store->writer.db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), ==,
              SQLITE_OK);
}

/* Another boot has no reservations. A repair finds nothing to mend in what was written. */
static void do_reopen(void)
{
    struct weir_repair_counts counts;
    for (int i = 0; i < HELD; i++) {
        drop(&world.held[i]);
    }
    weir_broker_close(world.broker);
    if (below(2) == 0) {
        begin_boot();
        for (int i = 0; i < JOBS; i++) {
            struct ref_job *job = &world.reference.jobs[i];
            job->lease = job->state == WEIR_JOB_RESERVED ? 0 : job->lease;
        }
    }
    world.awaited_until = 0;
    open_store();
    CHECK_STATUS(weir_broker_repair(world.broker, &counts, NULL), WEIR_OK);
    CHECK_INT(counts.damaged, ==, 0);
    CHECK_INT(counts.orphans, ==, 0);
    world.seen[REOPENED]++;
}

static void step(void)
{
    static void (*const steps[])(void) = {
        do_put,    do_put,    do_put,    do_put,    do_put,    do_put,       do_put,
        do_look,   do_look,   do_look,   do_look,   do_settle, do_settle,    do_settle,
        do_settle, do_settle, do_let_go, do_remove, do_bury,   do_kick,      do_cancel,
        do_refile, do_wait,   do_wait,   do_wait,   do_wait,   do_take_back,
    };
    int dice = below(600);
    if (dice < 4) {
        do_reopen();
    } else if (dice < 10) {
        do_set_clock();
    } else if (dice < 18) {
        do_policy();
    } else if (dice < 26) {
        do_pause();
    } else if (dice < 32) {
        do_kick_tube();
    } else {
        steps[(size_t)dice % (sizeof(steps) / sizeof(steps[0]))]();
    }
}

TEST(random_operations, "a store is as a naive reference has it, after every one of thousands of "
                        "puts, looks, runs and changes")
{
    jobs_wall_step(&world.clocks.wall, JOBS_WALL_START);
    jobs_wall_step(&world.clocks.lease, WEIR_SECONDS(5000));
    world.reference.wall = JOBS_WALL_START;
    world.reference.lease = WEIR_SECONDS(5000);
    world.reference.next_number = 1;
    begin_boot();
    open_store();
    for (int tube = 0; tube < TUBES; tube++) {
        const struct weir_tube_policy few = {.keep_ns = WEIR_FOREVER, .keep_count = 3};
        CHECK_STATUS(weir_broker_set_policy(world.broker, tubes[tube], &few, NULL), WEIR_OK);
        world.reference.tubes[tube].policy = few;
    }
    /* One thread: ThreadSanitizer has nothing to find, and is slow. */
    uint64_t steps = test_scaled(TEST_TSAN == 1 ? 3000 : 8000);
    for (uint64_t i = 0; i < steps; i++) {
        step();
        compare(i % 8 == 0);
    }
    for (int i = 0; i < HELD; i++) {
        drop(&world.held[i]);
    }
    weir_broker_close(world.broker);
    (void)printf("%llu steps:", (unsigned long long)steps);
    for (int i = 0; i < EVENTS; i++) {
        (void)printf(" %s %llu", event_names[i], (unsigned long long)world.seen[i]);
        CHECK_INT(world.seen[i], >, 0); /* else the steps do not reach it */
    }
    (void)printf("\n");
}
