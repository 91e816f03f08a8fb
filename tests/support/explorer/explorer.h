/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPLORER_H
#define WEIR_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

/* The schedule explorer. It stands in for src/base/{sync,futex,random,panic}.c (the library target
 * weir_explored): threads are coroutines on one thread of the system, time is virtual, and at every
 * lock, unlock, wait, signal, thread start, join and weiri_sync_point() it decides which thread
 * runs next. A scenario is a function that starts threads with weiri_thread_start(), joins them all
 * and makes its checks with the harness' CHECKs; it is run again and again, each time in another
 * order:
 *
 *     static void scenario(void *arg) { ... }
 *     TEST(two_producers, "…") { explorer_must_pass(scenario, NULL, NULL); }
 *
 * A schedule fails by a failed CHECK, a broken WEIRI_ASSERT, a deadlock (no thread can run and none
 * sleeps with a limit; so a lost wake-up is one, since a plain wait has no limit here), a thread
 * that is never joined or ends with a lock held, misuse of a lock, memory of test_allocator() left
 * over, or no end within steps_max steps. The schedule is then run once more with its trace
 * printed, and the command that repeats it.
 *
 * A scenario must depend on nothing but its argument and the explorer: no statics that survive, no
 * test_random() (explorer_choose() instead), no addresses, no real time. Then a seed gives the same
 * schedule for ever.
 *
 * Time passes only when no thread can run, in a jump to the earliest limit of a sleeping one; and
 * now and then earlier, as if all other threads had been slow. Waits also return for no reason at
 * times.
 *
 * An allocation that fails in some schedules only: test_fail_allocation(explorer_choose(n), …) at
 * the scenario's start; any other fault likewise, where it is injected. */

typedef void explorer_scenario_fn(void *arg);

/* Zero means the default of every field. */
struct explorer_options {
    uint64_t schedules;   /* how many seeded ones, one in two by PCT; default 3000 */
    uint64_t exhaustive;  /* at most how many of the search through all; default 3000 */
    uint64_t steps_max;   /* of one schedule; default 20000 */
    unsigned preemptions; /* of one schedule of the search through all, at most; default 2 */
    unsigned depth;       /* of PCT: finds bugs that take this many ordered events; default 3 */
    bool no_seeded;       /* only the search through all */
    bool no_exhaustive;   /* only seeded schedules */
    bool no_early_time;   /* time passes only when no thread can run */
    bool no_spurious;     /* no wait returns for no reason */
};

struct explorer_result {
    uint64_t schedules;  /* run */
    uint64_t steps;      /* in all of them */
    uint64_t exhausted;  /* how many schedules there are with so few preemptions; 0: not all run */
    uint64_t elapsed_ns; /* of real time */
    bool failed;
    bool by_search;  /* the failing schedule is one of the search through all and has no seed */
    uint64_t seed;   /* of the failing schedule */
    char text[1024]; /* of the failure */
};

/* Runs schedules until one fails or all have run; options may be NULL. The first seeded schedule
 * has the run's own seed (--seed), the others seeds made from it: so a seed that failed is the
 * first one of a run that is given it. Does not fail the test. */
void explorer_run(explorer_scenario_fn *scenario, void *arg, const struct explorer_options *options,
                  struct explorer_result *ret_result);

/* The same, with test_scaled() counts, and of the search some more; prints the figures, and fails
 * the test when a schedule failed, after a run of it with its trace. */
void explorer_must_pass(explorer_scenario_fn *scenario, void *arg,
                        const struct explorer_options *options);

/* Runs the one seeded schedule again, with its trace on standard output where show is set. */
void explorer_replay(explorer_scenario_fn *scenario, void *arg,
                     const struct explorer_options *options, uint64_t seed, bool show,
                     struct explorer_result *ret_result);

/* For scenarios: a number below count, chosen by the schedule; the search tries each. */
uint64_t explorer_choose(uint64_t count);

/* For scenarios: the nth thread start from here on (1: the next) is refused with WEIR_ETHREAD; 0:
 * none. Which one may itself be chosen by explorer_choose(). */
void explorer_refuse_thread(uint64_t nth);

/* For scenarios: a line in the trace. */
void explorer_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of steps of this schedule up to now. */
uint64_t explorer_step(void);

#endif
