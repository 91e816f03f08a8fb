/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Three envelopes of one group, of which one runs at a time: whatever else happens, none overlaps
 * another one, and each is run or dropped. */

#define MEMBERS 3

static struct {
    weir_envelope *envelopes[MEMBERS];
    int running;
    int runs[MEMBERS];
    int released;
} group;

static int take_part(weir_context *context, void *payload)
{
    int number = (int)((weir_envelope **)payload - group.envelopes);
    (void)context;
    CHECK_INT(group.running++, ==, 0);
    weiri_sync_point();
    group.runs[number]++;
    group.running--;
    return WEIR_OK;
}

static void note_release(void *payload)
{
    (void)payload;
    group.released++;
}

/* On a manual clock that stands still. */
static void group_init(size_t workers)
{
    memset(&world, 0, sizeof(world));
    memset(&group, 0, sizeof(group));
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &world.clock), WEIR_OK);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.workers = workers;
    options.group_limit = 1;
    CHECK_STATUS(weir_pool_new(&options, &world.pool, NULL), WEIR_OK);
    for (int i = 0; i < MEMBERS; i++) {
        struct weir_envelope_options of_envelope = {0};
        of_envelope.allocator = *test_allocator();
        of_envelope.invoke = take_part;
        of_envelope.release = note_release;
        of_envelope.payload = &group.envelopes[i];
        of_envelope.group = weir_key_bytes("g", 1);
        CHECK_STATUS(weir_envelope_new(&of_envelope, &group.envelopes[i], NULL), WEIR_OK);
    }
}

static void group_fini(void)
{
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_INT(counts_of(world.pool).queued, ==, 0);
    weir_pool_free(world.pool);
    weir_clock_free(world.clock);
    for (int i = 0; i < MEMBERS; i++) {
        weir_envelope_unref(group.envelopes[i]);
    }
    CHECK_INT(group.released, ==, MEMBERS);
}

static void send_last(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_send(world.pool, group.envelopes[2]), WEIR_OK);
}

static void one_at_a_time(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    group_init(2);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_last);
    CHECK_STATUS(weir_pool_send(world.pool, group.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(world.pool, group.envelopes[1]), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_INT(group.runs[i], ==, 1);
    }
    group_fini();
}

TEST(one_at_a_time, "of a group no more run at once than may, and a drain runs those that wait")
{
    explorer_must_pass(one_at_a_time, NULL, NULL);
}

static void cancel_two(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, group.envelopes[0], WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(world.pool, group.envelopes[1], 0, NULL), WEIR_OK);
}

/* Members are taken out wherever they stand, while the pool runs, and then stops or drains. */
static void taken_out(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    group_init(2);
    CHECK_STATUS(weir_pool_send_all(world.pool, group.envelopes, MEMBERS), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&canceler, "canceler", cancel_two);
    bool is_stop = explorer_choose(2) == 0;
    CHECK_STATUS(is_stop ? weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER)
                         : weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER),
                 WEIR_OK);
    weiri_thread_join(&canceler);
    CHECK(is_stop || group.runs[2] == 1);
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.runs + counts.dropped, ==, MEMBERS);
    group_fini();
}

TEST(taken_out, "members of a group are cancelled, stopped and drained wherever they stand")
{
    explorer_must_pass(taken_out, NULL, NULL);
}

static enum weir_status end_group(uint32_t mode, uint32_t flags)
{
    return weir_pool_end(world.pool, mode, flags, WEIR_FOREVER);
}

/* Members wait for their group, or have just been let in, when the pool stops. */
static void kept(void *arg)
{
    (void)arg;
    group_init(2);
    CHECK_STATUS(weir_pool_send_all(world.pool, group.envelopes, MEMBERS), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(end_group(WEIR_END_STOP, WEIR_END_KEEP), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_INT(group.runs[i], ==, 1);
    }
    group_fini();
}

TEST(kept, "members that a stop keeps, wherever they stand, are run after the next start")
{
    explorer_must_pass(kept, NULL, NULL);
}

static void send_stranger(void *arg)
{
    CHECK_STATUS(weir_pool_send(world.pool, arg), WEIR_OK);
}

/* Only the run of the envelope of no group ends the run of the first member. */
static struct {
    struct weiri_mutex mutex;
    struct weiri_cond changed;
    int runs;
} passing;

static int pass(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    weiri_mutex_lock(&passing.mutex);
    passing.runs++;
    weiri_cond_broadcast(&passing.changed);
    weiri_mutex_unlock(&passing.mutex);
    return WEIR_OK;
}

static int wait_for_pass(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    weiri_mutex_lock(&passing.mutex);
    while (passing.runs == 0) {
        weiri_cond_wait(&passing.changed);
    }
    weiri_mutex_unlock(&passing.mutex);
    return WEIR_OK;
}

static weir_envelope *new_envelope(weir_invoke_fn *invoke_fn, bool is_member)
{
    struct weir_envelope_options options = {0};
    weir_envelope *envelope;
    options.allocator = *test_allocator();
    options.invoke = invoke_fn;
    options.group = is_member ? weir_key_bytes("g", 1) : options.group;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    return envelope;
}

static void others_pass(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    group_init(2);
    passing.runs = 0;
    weiri_mutex_init(&passing.mutex);
    weiri_cond_init(&passing.changed, &passing.mutex);
    weir_envelope *blocker = new_envelope(wait_for_pass, true);
    weir_envelope *stranger = new_envelope(pass, false);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(world.pool, blocker), WEIR_OK);
    CHECK_STATUS(weir_pool_send(world.pool, group.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&sender, "sender", send_stranger, stranger), WEIR_OK);
    CHECK_STATUS(weir_pool_send(world.pool, group.envelopes[1]), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(passing.runs, ==, 1);
    CHECK_INT(group.runs[0] + group.runs[1], ==, 2);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weir_envelope_unref(blocker);
    weir_envelope_unref(stranger);
    weiri_cond_fini(&passing.changed);
    weiri_mutex_fini(&passing.mutex);
    group_fini();
}

TEST(others_pass, "what is of no group passes members that wait, and a freed slot goes to a worker "
                  "that sleeps")
{
    explorer_must_pass(others_pass, NULL, NULL);
}

static void send_last_or_none(void *arg)
{
    int *accepted = arg;
    enum weir_status status = weir_pool_send(world.pool, group.envelopes[2]);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    *accepted += status == WEIR_OK;
}

/* The one that waits for its group, or was just let in, has to leave for the third. */
static void displaced(void *arg)
{
    struct weiri_thread sender;
    struct weir_pool_options options = {0};
    int accepted = 2;
    (void)arg;
    group_init(2);
    options.workers = 2;
    options.group_limit = 1;
    options.capacity = 2;
    options.when_full = WEIR_FULL_DROP_OLDEST;
    options.allocator = *test_allocator();
    options.clock = world.clock;
    weir_pool_free(world.pool);
    CHECK_STATUS(weir_pool_new(&options, &world.pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(world.pool, group.envelopes, 2), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&sender, "sender", send_last_or_none, &accepted), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.runs, ==, group.runs[0] + group.runs[1] + group.runs[2]);
    CHECK_INT(counts.runs + counts.dropped, ==, accepted);
    group_fini();
}

TEST(displaced, "a member that waits for its group may have to leave, and leaves no slot taken")
{
    explorer_must_pass(displaced, NULL, NULL);
}

static void pause_and_resume(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
}

/* A member that was let in while the pool was paused is no more in the order of all. */
static void paused(void *arg)
{
    struct weiri_thread pauser;
    (void)arg;
    group_init(2);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&pauser, "pauser", pause_and_resume);
    CHECK_STATUS(weir_pool_send_all(world.pool, group.envelopes, MEMBERS), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&pauser);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_INT(group.runs[i], ==, 1);
    }
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    group_fini();
}

TEST(paused, "a resume has members run that were let in during the pause")
{
    explorer_must_pass(paused, NULL, NULL);
}

static void pause_and_cancel(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(world.pool, group.envelopes[1], 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
}

/* A member that was let in while the pool was paused has its group's slot when it is cancelled. */
static void cancelled(void *arg)
{
    struct weiri_thread pauser;
    (void)arg;
    group_init(2);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&pauser, "pauser", pause_and_cancel);
    CHECK_STATUS(weir_pool_send_all(world.pool, group.envelopes, MEMBERS), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&pauser);
    CHECK_INT(group.runs[0] + group.runs[2], ==, 2);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    group_fini();
}

TEST(cancelled,
     "a member that was let in during a pause, and is cancelled, leaves its slot to the next")
{
    explorer_must_pass(cancelled, NULL, NULL);
}
