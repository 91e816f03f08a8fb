/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "toy.h"

#include "support/explorer/explorer.h"

/* Proof that the explorer finds what it is for: each bug of toy.h within SCHEDULES_MAX schedules,
 * and nothing where there is none. */

#define SCHEDULES_MAX 10000

/* What a scenario is told. */
struct setting {
    enum toy_bug bug;
    bool early_time; /* time may pass while somebody can run */
};

/* The world of a schedule; set up anew by each. */
static struct {
    struct toy toy;
    bool exact; /* what comes at a time comes at that very time */
    struct weiri_mutex mutex;
    struct weiri_cond progress;
    unsigned asked[TOY_KEYS]; /* adds begun */
    unsigned seen[TOY_KEYS];  /* adds begun when the last processing started */
    int64_t due[TOY_KEYS];    /* when it was to come; 0: at once */
    bool busy[TOY_KEYS];      /* somebody processes it */
    int processings;
    int holders; /* of places */
} world;

static void world_init(const struct setting *setting)
{
    memset(&world, 0, sizeof(world));
    toy_init(&world.toy, setting->bug);
    world.exact = !setting->early_time;
    weiri_mutex_init(&world.mutex);
    weiri_cond_init(&world.progress, &world.mutex);
}

static void world_fini(void)
{
    CHECK_INT(world.toy.length, ==, 0);
    weiri_cond_fini(&world.progress);
    weiri_mutex_fini(&world.mutex);
    toy_fini(&world.toy);
}

static void start_two(struct weiri_thread threads[2], const char *name, void (*run)(void *arg))
{
    static int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], name, run, &numbers[i]), WEIR_OK);
    }
}

static void join_two(struct weiri_thread threads[2])
{
    weiri_thread_join(&threads[0]);
    weiri_thread_join(&threads[1]);
}

static bool is_seen(int key)
{
    return world.seen[key] == world.asked[key] && !world.busy[key];
}

static void wait_seen(int key)
{
    weiri_mutex_lock(&world.mutex);
    while (!is_seen(key)) {
        weiri_cond_wait(&world.progress);
    }
    weiri_mutex_unlock(&world.mutex);
}

/* A drain would wake consumers that an add left asleep: all must be done before it. */
static void wait_all_seen(void)
{
    for (int key = 0; key < TOY_KEYS; key++) {
        wait_seen(key);
    }
}

static void process(int key)
{
    CHECK(!world.busy[key]);
    world.busy[key] = true;
    world.seen[key] = world.asked[key];
    world.processings++;
    explorer_note("processes %d", key);
    if (world.due[key] != 0) {
        CHECK_INT(weiri_monotonic_now(), >=, world.due[key]);
        CHECK(!world.exact || weiri_monotonic_now() == world.due[key]);
    }
    weiri_sync_point();
    world.busy[key] = false;
    toy_count_handled(&world.toy);
    toy_done(&world.toy, key);
    weiri_mutex_lock(&world.mutex);
    weiri_cond_broadcast(&world.progress);
    weiri_mutex_unlock(&world.mutex);
}

static void consume(void *arg)
{
    (void)arg;
    for (int key = toy_get(&world.toy); key >= 0; key = toy_get(&world.toy)) {
        process(key);
    }
    CHECK(world.toy.draining);
}

static void end_consumers(struct weiri_thread consumers[2])
{
    wait_all_seen();
    toy_drain(&world.toy);
    join_two(consumers);
    CHECK_INT(atomic_load(&world.toy.handled), ==, world.processings);
    world_fini();
}

static void produce(void *arg)
{
    static const int keys[2][2] = {{0, 1}, {0, 0}};
    int number = *(const int *)arg;
    for (int i = 0; i < 2; i++) {
        world.asked[keys[number][i]]++;
        CHECK(toy_add(&world.toy, keys[number][i]));
    }
}

/* Every add is followed by a processing that starts after it; no key is processed twice at once. */
static void work(void *arg)
{
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init(arg);
    start_two(consumers, "consumer", consume);
    start_two(producers, "producer", produce);
    join_two(producers);
    end_consumers(consumers);
}

static void consume_dependent(void *arg)
{
    (void)arg;
    for (int key = toy_get(&world.toy); key >= 0; key = toy_get(&world.toy)) {
        if (key == 0) {
            wait_seen(1);
        }
        process(key);
    }
}

/* One handler waits for the other: both items must reach a consumer. */
static void dependent(void *arg)
{
    struct weiri_thread consumers[2];
    world_init(arg);
    world.asked[0] = 1;
    world.asked[1] = 1;
    start_two(consumers, "consumer", consume_dependent);
    CHECK(toy_add(&world.toy, 0));
    CHECK(toy_add(&world.toy, 1));
    end_consumers(consumers);
}

static void add_at(int key, int64_t delay_ns)
{
    world.asked[key]++;
    world.due[key] = weiri_monotonic_now() + delay_ns;
    toy_add_after(&world.toy, key, delay_ns);
}

/* A time before the one that consumers sleep for. */
static void timed(void *arg)
{
    struct weiri_thread consumers[2];
    world_init(arg);
    start_two(consumers, "consumer", consume);
    add_at(0, 1000);
    add_at(1, 10);
    end_consumers(consumers);
}

static void drain(void *arg)
{
    (void)arg;
    toy_drain(&world.toy);
}

static void produce_until_drained(void *arg)
{
    int key = *(const int *)arg;
    world.asked[key] = 1;
    if (!toy_add(&world.toy, key)) {
        world.asked[key] = 0;
    }
}

/* Two drains beside producers and consumers: what was accepted is processed, and all return. */
static void two_drains(void *arg)
{
    struct weiri_thread consumers[2];
    struct weiri_thread producers[2];
    struct weiri_thread drainers[2];
    world_init(arg);
    start_two(consumers, "consumer", consume);
    start_two(producers, "producer", produce_until_drained);
    start_two(drainers, "drainer", drain);
    join_two(drainers);
    join_two(producers);
    join_two(consumers);
    CHECK(is_seen(0) && is_seen(1));
    world_fini();
}

static void hold_slot(void *arg)
{
    (void)arg;
    if (toy_take_slot(&world.toy)) {
        world.holders++;
        CHECK_INT(world.holders, <=, TOY_CAPACITY);
        weiri_sync_point();
        world.holders--;
        toy_give_slot(&world.toy);
    }
}

/* Three threads want two places. */
static void slots(void *arg)
{
    struct weiri_thread threads[2];
    world_init(arg);
    start_two(threads, "holder", hold_slot);
    hold_slot(NULL);
    join_two(threads);
    CHECK_INT(atomic_load(&world.toy.slots), ==, 0);
    world_fini();
}

static const struct {
    enum toy_bug bug;
    const char *name;
    explorer_scenario_fn *scenario;
} planted[] = {
    {TOY_NO_SIGNAL, "no signal", work},
    {TOY_IF_FOR_WHILE, "if for while", work},
    {TOY_SIGNAL_FIRST, "signal before the state changes", work},
    {TOY_SIGNAL_WHEN_EMPTY, "signal only when empty", dependent},
    {TOY_LATE_CLEAR, "dirty mark cleared late", work},
    {TOY_PROCESSING_FORGOTTEN, "processing forgotten", work},
    {TOY_DIRTY_DROPPED, "dirty mark dropped", work},
    {TOY_DRAIN_SIGNAL, "drain wakes one of two", two_drains},
    {TOY_LOCK_ORDER, "two locks, two orders", two_drains},
    {TOY_TIMER_NOT_REARMED, "timer not re-armed", timed},
    {TOY_FLAG_OUTSIDE, "flag read outside of the lock", two_drains},
    {TOY_CHECK_THEN_ACT, "check, then act", slots},
    {TOY_LOST_UPDATE, "lost update", work},
};
_Static_assert(sizeof(planted) / sizeof(planted[0]) == TOY_BUGS - 1, "every bug has a scenario");

TEST(bugs_are_found,
     "each planted bug is found within 10,000 seeded schedules, and its seed repeats it")
{
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
        struct setting setting = {planted[i].bug, false};
        const struct explorer_options options = {
            .schedules = SCHEDULES_MAX, .no_exhaustive = true, .no_early_time = true};
        struct explorer_result found;
        explorer_run(planted[i].scenario, &setting, &options, &found);
        if (!found.failed) {
            test_fail(__FILE__, __LINE__, "%s: not found in %llu schedules", planted[i].name,
                      (unsigned long long)found.schedules);
        }
        (void)printf("%-32s schedule %4llu, seed %llu: %.60s\n", planted[i].name,
                     (unsigned long long)found.schedules, (unsigned long long)found.seed,
                     found.text);
        for (int round = 0; round < 2 && !found.by_search; round++) {
            struct explorer_result again;
            explorer_replay(planted[i].scenario, &setting, &options, found.seed, false, &again);
            CHECK(again.failed);
            CHECK_STRING(again.text, found.text);
        }
    }
}

TEST(search_finds,
     "the search finds bugs that take few preemptions, and a bound keeps it from the others")
{
    static const struct {
        enum toy_bug bug;
        explorer_scenario_fn *scenario;
        unsigned preemptions;
    } rows[] = {
        {TOY_NO_SIGNAL, work, 2},
        {TOY_IF_FOR_WHILE, work, 2},
        {TOY_SIGNAL_WHEN_EMPTY, dependent, 2},
        {TOY_LATE_CLEAR, work, 2},
        {TOY_DRAIN_SIGNAL, two_drains, 2},
        {TOY_LOST_UPDATE, work, 2},
        {TOY_CHECK_THEN_ACT, slots, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct setting setting = {rows[i].bug, false};
        const struct explorer_options options = {.exhaustive = 10000,
                                                 .preemptions = rows[i].preemptions,
                                                 .no_seeded = true,
                                                 .no_early_time = true};
        struct explorer_result found;
        explorer_run(rows[i].scenario, &setting, &options, &found);
        (void)printf("%-32s schedule %5llu: %.60s\n", planted[rows[i].bug - 1].name,
                     (unsigned long long)found.schedules, found.text);
        CHECK(found.failed);
    }
    /* Three threads must stand between check and act at once: two preemptions are too few. */
    struct setting setting = {TOY_CHECK_THEN_ACT, false};
    const struct explorer_options options = {.exhaustive = 10000, .no_seeded = true};
    struct explorer_result none;
    explorer_run(slots, &setting, &options, &none);
    CHECK(!none.failed);
    CHECK_INT(none.exhausted, >, 0);
}

static void must_pass(explorer_scenario_fn *scenario, bool early_time)
{
    struct setting setting = {TOY_CORRECT, early_time};
    const struct explorer_options options = {
        .schedules = 20000, .exhaustive = 20000, .no_early_time = !early_time};
    explorer_must_pass(scenario, &setting, &options);
}

TEST(work_passes, "without a bug no schedule of two producers and two consumers fails")
{
    must_pass(work, true);
}

TEST(dependent_passes, "without a bug both items reach a consumer in every schedule")
{
    must_pass(dependent, true);
}

TEST(timed_passes, "without a bug nothing comes early, and nothing late where time stands still")
{
    must_pass(timed, false);
    must_pass(timed, true);
}

TEST(drains_pass, "without a bug both drains return in every schedule")
{
    must_pass(two_drains, true);
}

TEST(slots_pass, "without a bug no schedule gives out more places than there are")
{
    must_pass(slots, true);
}
