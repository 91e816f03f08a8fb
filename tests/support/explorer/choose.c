/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/explorer/choose.h"

#include "base/random.h"

#include "support/explorer/engine.h"

/* A choice that is to be made rarely is made one time in so many. */
#define RARE 16
/* PCT and the search let one thread run on and on: one that spins until another one has done
 * something would never end, and has to let the others run after so many steps. */
#define SPIN_STEPS 300
#define PCT_CHANGES_MAX 16
#define CHOICES_MAX 65536

static enum {
    AT_RANDOM,
    BY_PRIORITY,
    SEARCHING
} way;
static uint64_t random_state;

/* Of PCT. */
static struct {
    int64_t priority[EXPLORER_THREADS_MAX];
    int64_t lowest; /* lower than every priority given out */
    uint64_t changes[PCT_CHANGES_MAX];
    unsigned change_count;
} pct;

static struct {
    unsigned thread; /* EXPLORER_JUMP: none yet */
    unsigned steps;  /* in a row */
} runner;

/* Of the search: the choices of this schedule, and how many there were to choose from. The next
 * schedule repeats all but the last that has something left to try. */
static struct {
    struct {
        uint16_t chosen;
        uint16_t count;
    } choices[CHOICES_MAX];
    unsigned known; /* choices to repeat */
    unsigned made;
    unsigned preemptions;
    unsigned preemptions_max;
} search;

static uint64_t random_below(uint64_t count)
{
    return weiri_random_next(&random_state) % count;
}

void explorer_choose_seeded(uint64_t seed, const struct explorer_options *options, uint64_t length)
{
    random_state = seed;
    /* Not all schedules have wake-ups for no reason and early time: both can hide that a wake-up
     * was lost. */
    uint64_t bits = weiri_random_next(&random_state);
    way = (bits & 1) != 0 ? BY_PRIORITY : AT_RANDOM;
    explorer.spurious = !options->no_spurious && (bits & 6) == 0;
    explorer.early_time = !options->no_early_time && (bits & 8) != 0;
    runner.thread = EXPLORER_JUMP;
    if (way == BY_PRIORITY) {
        pct.lowest = 0;
        unsigned changes = options->depth - 1;
        pct.change_count = changes < PCT_CHANGES_MAX ? changes : PCT_CHANGES_MAX;
        for (unsigned i = 0; i < pct.change_count; i++) {
            pct.changes[i] = 1 + random_below(length + 1);
        }
    }
}

void explorer_choose_search(const struct explorer_options *options)
{
    way = SEARCHING;
    explorer.spurious = false;
    explorer.early_time = !options->no_early_time;
    search.made = 0;
    search.preemptions_max = options->preemptions;
    explorer_choose_search_again();
}

void explorer_choose_search_again(void)
{
    random_state = 1;
    runner.thread = EXPLORER_JUMP;
    search.known = search.made;
    search.made = 0;
    search.preemptions = 0;
}

bool explorer_choose_search_next(void)
{
    explorer_choose_search_again();
    while (search.known > 0) {
        unsigned last = search.known - 1;
        if (++search.choices[last].chosen < search.choices[last].count) {
            return true;
        }
        search.known--;
    }
    return false;
}

/* The next choice of the search out of count. */
static unsigned search_step(unsigned count)
{
    if (count == 1) {
        return 0;
    }
    unsigned at = search.made++;
    if (at == CHOICES_MAX || count > UINT16_MAX) {
        explorer_fail("too many choices in one schedule for the search");
    }
    if (at >= search.known) {
        search.choices[at].chosen = 0;
        search.choices[at].count = (uint16_t)count;
    } else if (search.choices[at].count != count) {
        explorer_fail("the scenario depends on something else than its schedule: %u choices where "
                      "there were %u",
                      count, search.choices[at].count);
    }
    return search.choices[at].chosen;
}

static unsigned nth_of(uint32_t set, unsigned n)
{
    for (; n > 0; n--) {
        set &= set - 1;
    }
    return (unsigned)__builtin_ctz(set);
}

/* Whether thread is to run once more in a row; false once it has run for very long. */
static bool may_run_on(unsigned thread)
{
    runner.steps = thread == runner.thread ? runner.steps + 1 : 0;
    runner.thread = thread;
    if (runner.steps < SPIN_STEPS) {
        return true;
    }
    runner.steps = 0;
    return false;
}

/* Going on with the current thread comes first and is free; so is the choice when it cannot go on.
 */
static unsigned search_thread(uint32_t ready, unsigned current, bool may_jump)
{
    uint32_t current_bit = ready & (UINT32_C(1) << current);
    uint32_t others = ready & ~current_bit;
    if (!may_run_on(current) && others != 0) {
        current_bit = 0;
    }
    bool may_preempt = search.preemptions < search.preemptions_max;
    unsigned first = current_bit != 0 ? 1 : 0;
    unsigned threads =
        first + (first == 0 || may_preempt ? (unsigned)__builtin_popcount(others) : 0);
    unsigned chosen = search_step(threads + (may_jump && may_preempt ? 1 : 0));
    if (chosen == threads) {
        search.preemptions++;
        return EXPLORER_JUMP;
    }
    if (chosen < first) {
        return current;
    }
    search.preemptions += first;
    return nth_of(others, chosen - first);
}

static unsigned highest_of(uint32_t ready)
{
    unsigned best = (unsigned)__builtin_ctz(ready);
    for (uint32_t left = ready & (ready - 1); left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        best = pct.priority[index] > pct.priority[best] ? index : best;
    }
    return best;
}

static unsigned priority_thread(uint32_t ready, unsigned current)
{
    for (unsigned i = 0; i < pct.change_count; i++) {
        /* Steps where only one thread could run made no choice: a change falls due at the first
         * choice from its step on. */
        if (pct.changes[i] != 0 && pct.changes[i] <= explorer.step) {
            pct.changes[i] = 0;
            pct.priority[current] = --pct.lowest;
        }
    }
    unsigned next = highest_of(ready);
    if (!may_run_on(next)) {
        pct.priority[next] = --pct.lowest;
        next = highest_of(ready);
    }
    return next;
}

unsigned explorer_choose_thread(uint32_t ready, unsigned current, bool may_jump)
{
    if (way == SEARCHING) {
        return search_thread(ready, current, may_jump);
    }
    if (may_jump && random_below(RARE) == 0) {
        return EXPLORER_JUMP;
    }
    if (way == BY_PRIORITY) {
        return priority_thread(ready, current);
    }
    return nth_of(ready, (unsigned)random_below((unsigned)__builtin_popcount(ready)));
}

uint64_t explorer_choose_value(uint64_t count)
{
    if (count == 0) {
        explorer_fail("a choice out of nothing");
    }
    if (way == SEARCHING) {
        return search_step(count < UINT16_MAX ? (unsigned)count : UINT16_MAX);
    }
    return random_below(count);
}

bool explorer_choose_rare(void)
{
    return way != SEARCHING && random_below(RARE) == 0;
}

uint64_t explorer_choose_seed(void)
{
    return weiri_random_next(&random_state);
}

void explorer_choose_thread_added(unsigned index)
{
    if (way == BY_PRIORITY) {
        pct.priority[index] = (int64_t)(weiri_random_next(&random_state) >> 2) + 1;
    }
}
