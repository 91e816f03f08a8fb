/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Every call in every case. Most calls have short cuts (queue/quick.h), which are compiled into
 * each of them and for each state of the lock. Here each is made in all cases that a short cut
 * tells apart, and must come to what its contract says, and to what it comes to in a queue that
 * takes none, because it tells somebody of adds. */
#include <stdint.h>

#include <weir/snapshot.h>

#include "queue/bias_trap.h"
#include "queue/case_calls.h"

/* What a queue has besides, so that it is not quiet. */
enum mode {
    QUIET,
    WATCHED, /* an event loop has its descriptor: plain, but not calm */
    RANKED,  /* calm, but not plain */
    TIMED,   /* calm, but not plain */
    PENDING, /* neither */
    MODES
};

static const char *const mode_names[MODES] = {"quiet", "watched", "ranked", "timed", "pending"};

/* Whose the lock is when the call under test comes. */
enum lock {
    OWN,       /* biased to the caller */
    STRANGERS, /* biased to another thread */
    SHARED,    /* biased to none */
    OPEN,      /* and so that all may look at it */
    LOST       /* biased to the caller until between its two looks */
};

/* One combination of all. */
struct one {
    enum kind kind;
    enum mode mode;
    enum lock lock;
    const struct state *state;
    const struct call *call;
};

static const char *const kind_names[KINDS] = {"embedded", "short", "long", "mixed"};

static void check_equal(const struct one *one, const char *what, long long got, long long wanted)
{
    if (got != wanted) {
        test_fail(__FILE__, __LINE__, "%s, %s, %s, %s: %s is %lld, not %lld", one->call->name,
                  one->state->name, kind_names[one->kind], mode_names[one->mode], what, got,
                  wanted);
    }
}

/* What one->call comes to by its contract; false: it would wait. */
static bool expect(const struct one *one, struct world *world, enum weir_status *ret_status,
                   size_t *ret_first)
{
    const struct state *state = one->state;
    bool is_item = key_of(world, SUBJECT).size == WEIR_KEY_ITEM;
    *ret_first = NOBODY;
    switch (one->call->what) {
    case ADDS:
        *ret_status = state->add == WEIR_EBUSY && !is_item ? WEIR_OK : state->add;
        return is_item || !one->call->is_for_items;
    case ENDS:
        *ret_status = state->done;
        return true;
    case GETS:
        *ret_status = state->get;
        *ret_first = state->first;
        break;
    case ENDS_AND_GETS:
        *ret_status = state->done_get;
        *ret_first = state->first_after_done;
        break;
    }
    if (*ret_status == WEIR_EAGAIN) {
        *ret_status = one->call->nothing;
        return one->call->nothing != WEIR_OK;
    }
    return true;
}

static void see_add(struct weir_key key, void *arg)
{
    (void)key;
    (void)arg;
}

/* A world before the call under test. */
struct making {
    struct world *world;
    const struct one *one;
    bool is_general;
};

static void make_world(void *arg)
{
    const struct making *making = arg;
    const struct one *one = making->one;
    struct world *world = making->world;
    memset(world, 0, sizeof(*world));
    world->kind = one->kind;
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.flags = one->mode == RANKED  ? WEIR_QUEUE_PRIORITIES
                    : one->mode == TIMED ? WEIR_QUEUE_AGES
                                         : 0;
    if (making->is_general) {
        options.touch = see_add;
    } else if (one->lock == LOST) {
        options.allocator.alloc = alloc_in_trap;
        options.allocator.release = release_in_trap;
    }
    CHECK_STATUS(weir_queue_new(&options, &world->queue), WEIR_OK);
    if (!making->is_general && one->lock == OPEN) {
        CHECK_STATUS(weiri_lock_init(&world->queue->lock, false), WEIR_OK);
    }
    if (one->mode == WATCHED) {
        int fd;
        CHECK_STATUS(weir_queue_fd(world->queue, &fd), WEIR_OK);
    } else if (one->mode == PENDING) {
        CHECK_STATUS(weir_queue_add_after(world->queue, key_of(world, LATER), WEIR_SECONDS(3600)),
                     WEIR_OK);
    }
    one->state->prepare(world);
}

static void look(void *queue)
{
    (void)weir_queue_len(queue);
}

/* Makes the world of the short cuts, with its lock as it is to be. */
static void make_quick(const struct one *one, struct world *world)
{
    struct making making = {world, one, false};
    if (one->lock == STRANGERS) {
        test_join(test_start(make_world, &making));
    } else {
        make_world(&making);
    }
    if (one->lock == SHARED) {
        test_join(test_start(look, world->queue));
    }
    uint64_t bias = atomic_load(&world->queue->lock.bias);
    CHECK_INT(bias != 0, ==, one->lock == OWN || one->lock == STRANGERS || one->lock == LOST);
}

static void make_call(const struct one *one, struct world *world, bool is_trapped,
                      struct outcome *ret_outcome)
{
    *ret_outcome = (struct outcome){.status = WEIR_OK};
    if (is_trapped) {
        set_trap(world->queue);
    }
    one->call->make(world, ret_outcome);
    if (is_trapped) {
        unset_trap();
    }
    bool ends = one->call->what == ENDS || one->call->what == ENDS_AND_GETS;
    for (size_t i = 0; i < ITEMS && ends && one->state->done == WEIR_OK; i++) {
        if (world->is_held[i] && world->works[i].ticket == world->work.ticket) {
            world->is_held[i] = false;
        }
    }
}

static enum weir_place place_of(struct world *world, size_t i)
{
    struct weir_snapshot_item item;
    enum weir_status status = weir_queue_lookup(world->queue, key_of(world, i), &item);
    CHECK(status == WEIR_OK || (status == WEIR_EBUSY && world->elsewhere != NULL));
    return status == WEIR_OK ? item.place : WEIR_PLACE_IDLE;
}

/* Takes both worlds to their end: all that is in them comes out, the same of both. */
static void drain(const struct one *one, struct world *worlds)
{
    for (size_t i = 0; i < ITEMS; i++) {
        check_equal(one, "held", worlds[0].is_held[i], worlds[1].is_held[i]);
        if (worlds[0].is_held[i]) {
            done(&worlds[0], i);
            done(&worlds[1], i);
        }
    }
    for (enum weir_status status = WEIR_OK; status == WEIR_OK;) {
        struct weir_work works[2];
        status = weir_queue_try_get(worlds[0].queue, &works[0]);
        check_equal(one, "a later get", status, weir_queue_try_get(worlds[1].queue, &works[1]));
        if (status == WEIR_OK) {
            check_equal(one, "what comes later", (long long)number_of(&worlds[0], &works[0]),
                        (long long)number_of(&worlds[1], &works[1]));
            CHECK_STATUS(weir_queue_done(worlds[0].queue, &works[0]), WEIR_OK);
            CHECK_STATUS(weir_queue_done(worlds[1].queue, &works[1]), WEIR_OK);
        }
    }
}

static void check_counts(const struct one *one, struct world *worlds)
{
    struct weir_queue_counts counts[2];
    for (size_t side = 0; side < 2; side++) {
        CHECK_STATUS(weir_queue_count(worlds[side].queue, &counts[side]), WEIR_OK);
    }
    check_equal(one, "queued", (long long)counts[0].queued, (long long)counts[1].queued);
    check_equal(one, "waiting", (long long)counts[0].waiting, (long long)counts[1].waiting);
    check_equal(one, "processing", (long long)counts[0].processing,
                (long long)counts[1].processing);
}

static void free_worlds(struct world *worlds)
{
    for (size_t side = 0; side < 2; side++) {
        weir_queue_free(worlds[side].queue);
        weir_queue_free(worlds[side].elsewhere);
    }
}

static void check_same(const struct one *one, const struct outcome *outcomes)
{
    check_equal(one, "what is told besides", outcomes[0].flag, outcomes[1].flag);
    check_equal(one, "the count", (long long)outcomes[0].count, (long long)outcomes[1].count);
    for (size_t i = 0; i < outcomes[0].count; i++) {
        check_equal(one, "what was gotten", (long long)outcomes[0].numbers[i],
                    (long long)outcomes[1].numbers[i]);
    }
}

/* Whether the call was made: it is one for this world, and does not wait. */
static bool check_one(const struct one *one)
{
    static struct world worlds[2]; /* with short cuts, and without */
    enum weir_status status = WEIR_OK;
    size_t first = NOBODY;
    make_quick(one, &worlds[0]);
    make_world(&(struct making){&worlds[1], one, true});
    bool is_made = expect(one, &worlds[0], &status, &first);
    if (is_made) {
        struct outcome outcomes[2];
        int sprung = atomic_load(&trap.sprung);
        make_call(one, &worlds[0], one->lock == LOST, &outcomes[0]);
        make_call(one, &worlds[1], false, &outcomes[1]);
        sprung = atomic_load(&trap.sprung) - sprung;
        if (sprung > 0) { /* what was lost was not used */
            check_equal(one, "entered by", worlds[0].queue->lock.entered_by, 0);
            check_equal(one, "inside", atomic_load(&worlds[0].queue->lock.inside[0]), 0);
        }
        if (one->call->what != ADDS) { /* some adds need no lock */
            check_equal(one, "the trap", sprung, one->lock == LOST);
        }
        for (size_t side = 0; side < 2; side++) {
            check_equal(one, "status", (long long)outcomes[side].status, (long long)status);
            if (first != NOBODY) {
                check_equal(one, "gotten", (long long)outcomes[side].numbers[0], (long long)first);
            }
        }
        check_same(one, outcomes);
        enum weir_place place = place_of(&worlds[0], SUBJECT);
        check_equal(one, "the place", place, place_of(&worlds[1], SUBJECT));
        if (one->call->what == ADDS && status == WEIR_OK) {
            CHECK(place == WEIR_PLACE_QUEUED || place == WEIR_PLACE_DIRTY);
        }
        check_counts(one, worlds);
    }
    drain(one, worlds);
    free_worlds(worlds);
    return is_made;
}

static void check_all(enum lock lock, enum mode modes)
{
    size_t count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (enum mode mode = QUIET; mode < modes; mode++) {
            for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
                for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++) {
                    count += check_one(
                        &(struct one){(enum kind)kind, mode, lock, &states[i], &calls[j]});
                }
            }
        }
    }
    CHECK_INT(count, >, 1000);
}

static bool has_biases(void)
{
    struct weiri_lock lock;
    CHECK_STATUS(weiri_lock_init(&lock, true), WEIR_OK);
    bool is_biased = atomic_load(&lock.bias) != 0;
    weiri_lock_fini(&lock);
    return is_biased;
}

#define TEST_LOCK(name, sentence, lock, modes)                                                     \
    TEST(name, "every call in every case comes to what it should: " sentence)                      \
    {                                                                                              \
        if (!has_biases() && (lock) != OPEN) {                                                     \
            test_skip("this kernel has no membarrier");                                            \
        }                                                                                          \
        check_all(lock, modes);                                                                    \
    }

TEST_LOCK(own, "by the only thread there is", OWN, MODES)
TEST_LOCK(strangers, "by another thread than the first", STRANGERS, RANKED)
TEST_LOCK(shared, "by one of two threads", SHARED, RANKED)
TEST_LOCK(open, "where everybody may look", OPEN, MODES)

TEST(lost, "every call in every case, when another thread comes in the midst of its entering")
{
    if (!has_biases()) {
        test_skip("this kernel has no membarrier");
    }
    make_trap();
    struct test_thread *thief = test_start(steal_bias, NULL);
    check_all(LOST, RANKED);
    remove_trap(thief);
}

TEST(joins, "an item that is queued can be added often, where everybody may look and many serve")
{
    for (int kind = 0; kind < KINDS; kind++) {
        static struct world world;
        const struct one one = {(enum kind)kind, QUIET, OPEN, &states[0], &calls[0]};
        make_world(&(struct making){&world, &one, false});
        world.queue->calls_at_once = 32; /* as where there are 64 processors */
        add_many(&world, 0, 2);
        for (int i = 0; i < 1000; i++) {
            add(&world, 1);
            CHECK_INT(weir_queue_len(world.queue), ==, 2);
        }
        get_many(&world, 0, 2);
        for (int i = 0; i < 1000; i++) {
            add(&world, 1);
            CHECK_INT(place_of(&world, 1), ==, WEIR_PLACE_DIRTY);
        }
        CHECK_INT(weir_queue_len(world.queue), ==, 0);
        done_many(&world, 0, 2);
        get(&world, 1);
        done(&world, 1);
        weir_queue_free(world.queue);
    }
}
