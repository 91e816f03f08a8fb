/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Every call in every case. Each must do what its contract says, and the same in a queue with a
 * touch function, which takes the lock for every add. */
#include <stdint.h>

#include <weir/snapshot.h>

#include "queue/case_calls.h"

/* Additional properties of a queue. */
enum mode {
    PLAIN,
    WATCHED, /* an event loop has its descriptor */
    RANKED,
    TIMED,
    PENDING, /* another item waits */
    SUPERSEDING,
    MODES
};

static const char *const mode_names[MODES] = {"plain", "watched", "ranked",
                                              "timed", "pending", "superseding"};

/* One combination of all. */
struct one {
    enum kind kind;
    enum mode mode;
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

/* The result of one->call by its contract; false: it would block. */
static bool expect(const struct one *one, struct world *world, enum weir_status *ret_status,
                   size_t *ret_first)
{
    const struct state *state = one->state;
    bool is_item = key_of(world, SUBJECT).size == WEIR_KEY_ITEM;
    *ret_first = NOBODY;
    switch (one->call->what) {
    case ADDS:
    case WAITS:
        *ret_status = state->add == WEIR_EBUSY && !is_item ? WEIR_OK : state->add;
        return true;
    case ASKS:
        *ret_status = state->add == WEIR_EBUSY && is_item ? WEIR_EBUSY : WEIR_OK;
        return true;
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
    if (*ret_status == WEIR_ETIMEDOUT) {
        *ret_status = one->call->nothing;
        return one->call->nothing != WEIR_OK;
    }
    if (*ret_status == WEIR_ECANCELED && one->call->nothing == WEIR_ETIMEDOUT) {
        *ret_status = WEIR_ETIMEDOUT; /* it never blocks, and so is not ended */
    }
    return true;
}

static void see_add(struct weir_key key, void *arg)
{
    (void)key;
    (void)arg;
}

/* Makes a world before the call under test. */
static void make_world(const struct one *one, struct world *world, bool tells)
{
    memset(world, 0, sizeof(*world));
    world->kind = one->kind;
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.flags = one->mode == RANKED        ? WEIR_QUEUE_PRIORITIES
                    : one->mode == TIMED       ? WEIR_QUEUE_AGES
                    : one->mode == SUPERSEDING ? WEIR_QUEUE_SUPERSEDE
                                               : 0;
    options.touch = tells ? see_add : NULL;
    CHECK_STATUS(weir_queue_new(&options, &world->queue, NULL), WEIR_OK);
    if (one->mode == WATCHED) {
        int fd;
        CHECK_STATUS(weir_queue_fd(world->queue, &fd), WEIR_OK);
    } else if (one->mode == PENDING) {
        CHECK_STATUS(weir_queue_add_after(world->queue, key_of(world, LATER), WEIR_SECONDS(3600)),
                     WEIR_OK);
    }
    one->state->prepare(world);
}

static void make_call(const struct one *one, struct world *world, struct outcome *ret_outcome)
{
    *ret_outcome = (struct outcome){.status = WEIR_OK};
    one->call->make(world, ret_outcome);
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

/* Drains both worlds. They must yield the same items. */
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
        status = weir_queue_get(worlds[0].queue, 0, &works[0]);
        check_equal(one, "a later get", status, weir_queue_get(worlds[1].queue, 0, &works[1]));
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

/* The subject's place after a successful call, by its contract. */
static void check_place(const struct one *one, enum weir_place before, enum weir_place place)
{
    bool was_processing = before == WEIR_PLACE_PROCESSING || before == WEIR_PLACE_DIRTY;
    if (one->call->what == ADDS) {
        check_equal(one, "the place", place, was_processing ? WEIR_PLACE_DIRTY : WEIR_PLACE_QUEUED);
    } else if (one->call->what == WAITS || one->call->make == call_lookup) {
        check_equal(one, "the place", place, before);
    } else if (one->call->make == call_cancel) {
        check_equal(one, "the place", place,
                    was_processing ? WEIR_PLACE_PROCESSING : WEIR_PLACE_IDLE);
    }
}

/* Makes the call unless it would block for ever. Returns whether it was made. */
static bool check_one(const struct one *one)
{
    static struct world worlds[2]; /* the second one has a touch function */
    enum weir_status status = WEIR_OK;
    size_t first = NOBODY;
    make_world(one, &worlds[0], false);
    make_world(one, &worlds[1], true);
    bool is_made = expect(one, &worlds[0], &status, &first);
    if (is_made) {
        struct outcome outcomes[2];
        enum weir_place before = place_of(&worlds[0], SUBJECT);
        for (size_t side = 0; side < 2; side++) {
            make_call(one, &worlds[side], &outcomes[side]);
            check_equal(one, "status", (long long)outcomes[side].status, (long long)status);
            if (first != NOBODY) {
                check_equal(one, "gotten", (long long)outcomes[side].numbers[0], (long long)first);
            }
        }
        check_same(one, outcomes);
        enum weir_place place = place_of(&worlds[0], SUBJECT);
        check_equal(one, "the place", place, place_of(&worlds[1], SUBJECT));
        if (status == WEIR_OK) {
            check_place(one, before, place);
        }
        check_counts(one, worlds);
    }
    drain(one, worlds);
    free_worlds(worlds);
    return is_made;
}

TEST(contracts, "every call in every case comes to what its contract says")
{
    size_t count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int mode = 0; mode < MODES; mode++) {
            for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
                for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++) {
                    count += check_one(
                        &(struct one){(enum kind)kind, (enum mode)mode, &states[i], &calls[j]});
                }
            }
        }
    }
    CHECK_INT(count, >, 8000);
}
