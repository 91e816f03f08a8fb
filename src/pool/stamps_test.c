/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/run.h"

#include "pool/script.h"

/* Stamps that write down when they are passed, inwards and outwards. */
struct mark {
    const char *in;
    const char *out;
    int times;  /* the inside is run; 1 as a rule */
    int answer; /* in place of the inside's status, where it is not WEIR_OK */
};

static int mark_stamp(weir_context *context, weir_envelope *envelope, const weir_next *next,
                      void *arg)
{
    struct script *script = weir_envelope_payload(envelope);
    const struct mark *mark = arg;
    script_note(script, mark->in);
    int status = WEIR_OK;
    for (int i = 0; i < mark->times; i++) {
        status = weir_next_run(next, context);
    }
    script_note(script, mark->out);
    return mark->answer != WEIR_OK ? mark->answer : status;
}

static void run_in(struct script *script, const struct weir_stamp *of_pool, size_t pool_count,
                   const struct weir_stamp *of_envelope, size_t envelope_count)
{
    struct weir_pool_options pool = script_pool(script);
    pool.stamps = of_pool;
    pool.stamp_count = pool_count;
    struct weir_envelope_options envelope = script_envelope(script, 0);
    envelope.stamps = of_envelope;
    envelope.stamp_count = envelope_count;
    script_start(script, &envelope, &pool);
    script_wait(script, 1);
    script_end(script, 1, 0);
}

TEST(order, "before, the pool's stamps outermost first, the envelope's, the task, and back; after")
{
    struct script script;
    script_init(&script);
    struct mark marks[] = {
        {"p1(", ")p1", 1, 0}, {"p2(", ")p2", 1, 0}, {"e1(", ")e1", 1, 0}, {"e2(", ")e2", 1, 0}};
    struct weir_stamp of_pool[] = {{mark_stamp, &marks[0]}, {mark_stamp, &marks[1]}};
    struct weir_stamp of_envelope[] = {{mark_stamp, &marks[2]}, {mark_stamp, &marks[3]}};
    run_in(&script, of_pool, 2, of_envelope, 2);
    CHECK_STRING(script.steps,
                 "before p1( p2( e1( e2( invoke )e2 )e1 )p2 )p1 after success outcome");
    script_fini(&script);
}

TEST(either_alone, "stamps of the pool alone, and of the envelope alone")
{
    struct mark mark = {"(", ")", 1, 0};
    struct weir_stamp stamp = {mark_stamp, &mark};
    for (size_t i = 0; i < 2; i++) {
        struct script script;
        script_init(&script);
        run_in(&script, &stamp, i, &stamp, 1 - i);
        CHECK_STRING(script.steps, "before ( invoke ) after success outcome");
        script_fini(&script);
    }
}

TEST(status, "the outermost stamp's answer is the run's status")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    struct mark marks[] = {{"(", ")", 1, 0}, {"[", "]", 1, WEIR_ESTOP}};
    struct weir_stamp stamps[] = {{mark_stamp, &marks[0]}, {mark_stamp, &marks[1]}};
    run_in(&script, NULL, 0, stamps, 2);
    CHECK_STRING(script.steps, "before ( [ invoke ] ) after outcome");
    CHECK_INT(script.status, ==, WEIR_ESTOP);
    script_fini(&script);
}

TEST(left_out, "a stamp that does not go on leaves the task out")
{
    struct script script;
    script_init(&script);
    struct mark marks[] = {{"(", ")", 0, WEIR_EUSER}, {"[", "]", 1, 0}};
    struct weir_stamp stamps[] = {{mark_stamp, &marks[0]}, {mark_stamp, &marks[1]}};
    run_in(&script, &stamps[0], 1, &stamps[1], 1);
    CHECK_STRING(script.steps, "before ( ) failure outcome");
    script_fini(&script);
}

TEST(again, "a stamp may run its inside more than once")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    struct mark marks[] = {{"(", ")", 2, 0}, {"[", "]", 2, 0}};
    struct weir_stamp stamps[] = {{mark_stamp, &marks[0]}, {mark_stamp, &marks[1]}};
    run_in(&script, &stamps[0], 1, &stamps[1], 1);
    CHECK_STRING(script.steps,
                 "before ( [ invoke invoke ] [ invoke invoke ] ) after success outcome");
    script_fini(&script);
}

TEST(copied, "the arrays are copied: what becomes of the caller's does not matter")
{
    struct script script;
    script_init(&script);
    struct mark mark = {"(", ")", 1, 0};
    struct weir_stamp stamps[] = {{mark_stamp, &mark}};
    struct weir_pool_options pool = script_pool(&script);
    pool.stamps = stamps;
    pool.stamp_count = 1;
    CHECK_STATUS(weir_pool_new(&pool, &script.pool, NULL), WEIR_OK);
    struct weir_envelope_options envelope = script_envelope(&script, 0);
    envelope.stamps = stamps;
    envelope.stamp_count = 1;
    CHECK_STATUS(weir_envelope_new(&envelope, &script.envelope, NULL), WEIR_OK);
    stamps[0] = (struct weir_stamp){0};
    CHECK_STATUS(weir_pool_start(script.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before ( ( invoke ) ) after success outcome");
    script_fini(&script);
}

/* The tests' allocator, counting. */
static atomic_int allocations;

static void *count_alloc(size_t size, void *arg)
{
    atomic_fetch_add(&allocations, 1);
    return test_allocator()->alloc(size, arg);
}

static void *count_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    atomic_fetch_add(&allocations, 1);
    return test_allocator()->resize(block, old_size, new_size, arg);
}

TEST(no_allocations, "a run with hooks, stamps, a deadline and retries takes no memory")
{
    struct script script;
    script_init(&script);
    struct mark mark = {"(", ")", 1, 0};
    struct weir_stamp stamp = {mark_stamp, &mark};
    struct weir_pool_options pool = script_pool(&script);
    pool.allocator.alloc = count_alloc;
    pool.allocator.resize = count_resize;
    pool.stamps = &stamp;
    pool.stamp_count = 1;
    struct weir_envelope_options envelope = script_envelope(&script, 0);
    envelope.allocator = pool.allocator;
    envelope.stamps = &stamp;
    envelope.stamp_count = 1;
    script.decision = 0;
    script_start(&script, &envelope, &pool);
    script_wait(&script, 1);
    int before = atomic_load(&allocations);
    CHECK_INT(before, >, 0);
    for (int run = 2; run <= 100; run += 2) {
        script.steps[0] = '\0';
        script.runs = 0;
        script.statuses[0] = WEIR_EUSER;
        CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
        script_wait(&script, run + 1);
    }
    CHECK_INT(atomic_load(&allocations), ==, before);
    script_end(&script, 101, 0);
    CHECK_INT(counts_of(script.pool).retries, ==, 50);
    script_fini(&script);
}

TEST(refused, "stamps without a function, without an array, too many")
{
    struct weir_stamp stamps[2] = {{mark_stamp, NULL}, {NULL, NULL}};
    CHECK_STATUS(weiri_stamps_check(NULL, 0, NULL), WEIR_OK);
    CHECK_STATUS(weiri_stamps_check(stamps, 0, NULL), WEIR_OK);
    CHECK_STATUS(weiri_stamps_check(stamps, 1, NULL), WEIR_OK);
    CHECK_STATUS(weiri_stamps_check(stamps, 2, NULL), WEIR_EINVAL);
    CHECK_STATUS(weiri_stamps_check(NULL, 1, NULL), WEIR_EINVAL);
    CHECK_STATUS(weiri_stamps_check(stamps, 1025, NULL), WEIR_ERANGE);
}

TEST(nulls, "to go on takes where to, and the context")
{
    CHECK_INT(weir_next_run(NULL, NULL), ==, WEIR_EINVAL);
}

/* Each envelope has a stamp of its own, which checks that it is around that envelope. */
#define ENVELOPES 8

static int own_stamp(weir_context *context, weir_envelope *envelope, const weir_next *next,
                     void *arg)
{
    CHECK(weir_envelope_payload(envelope) == arg);
    return weir_next_run(next, context);
}

static int pass(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    (void)arg;
    return weir_next_run(next, context);
}

TEST(own_stamps, "workers at once run each envelope with its own stamps, never another's (R5)")
{
    struct weir_pool_options options = {0};
    struct weir_stamp of_pool[] = {{pass, NULL}, {pass, NULL}, {pass, NULL}};
    options.allocator = *test_allocator();
    options.workers = 4;
    options.stamps = of_pool;
    options.stamp_count = 3;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    struct task tasks[ENVELOPES];
    weir_envelope *envelopes[ENVELOPES];
    for (size_t i = 0; i < ENVELOPES; i++) {
        task_init(&tasks[i]);
        struct weir_stamp own = {own_stamp, &tasks[i]};
        struct weir_envelope_options envelope = {0};
        envelope.allocator = *test_allocator();
        envelope.payload = &tasks[i];
        envelope.invoke = task_invoke;
        envelope.outcome = task_outcome;
        envelope.stamps = &own;
        envelope.stamp_count = 1;
        CHECK_STATUS(weir_envelope_new(&envelope, &envelopes[i], NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (uint64_t round = test_scaled(500); round > 0; round--) {
        for (size_t i = 0; i < ENVELOPES; i++) {
            CHECK_STATUS(weir_pool_send(pool, envelopes[i]), WEIR_OK);
        }
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (size_t i = 0; i < ENVELOPES; i++) {
        CHECK_INT(task_runs(&tasks[i]), >=, 1);
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
    weir_pool_free(pool);
}
