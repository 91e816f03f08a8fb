/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/random.h"

#include "support/explorer/choose.h"
#include "support/explorer/engine.h"
#include "support/harness.h"

/* Many schedules of one scenario. */

/* A campaign's search is this much longer than its scale says: one that comes to its end has proved
 * something, where more seeds only make it likelier. */
#define CAMPAIGN_SEARCH 4

static uint64_t real_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct explorer_options with_defaults(const struct explorer_options *options)
{
    struct explorer_options filled = {0};
    if (options != NULL) {
        filled = *options;
    }
    filled.schedules = filled.schedules == 0 ? 3000 : filled.schedules;
    filled.exhaustive = filled.exhaustive == 0 ? 3000 : filled.exhaustive;
    filled.steps_max = filled.steps_max == 0 ? 20000 : filled.steps_max;
    filled.preemptions = filled.preemptions == 0 ? 2 : filled.preemptions;
    filled.depth = filled.depth == 0 ? 3 : filled.depth;
    return filled;
}

static bool run_once(struct explorer_result *result)
{
    bool passed = explorer_engine_run();
    result->schedules++;
    result->steps += explorer.step;
    if (!passed) {
        result->failed = true;
        memcpy(result->text, explorer.text, sizeof(result->text));
    }
    return passed;
}

static void set_up(explorer_scenario_fn *scenario, void *arg,
                   const struct explorer_options *options, struct explorer_result *result)
{
    memset(result, 0, sizeof(*result));
    explorer.scenario = scenario;
    explorer.scenario_arg = arg;
    explorer.steps_max = options->steps_max;
    explorer.tracing = false;
}

/* One schedule without preemption: tells how long schedules are, about. It depends on nothing but
 * the scenario, so that a seed's schedule, which depends on this length, stays the same. */
static bool run_first(const struct explorer_options *options, struct explorer_result *result,
                      uint64_t *ret_length)
{
    explorer_choose_search(options);
    result->by_search = true;
    bool passed = run_once(result);
    result->by_search = !passed;
    *ret_length = explorer.step;
    return passed;
}

static bool run_seeded(const struct explorer_options *options, uint64_t length,
                       struct explorer_result *result)
{
    uint64_t base = test_seed();
    for (uint64_t i = 0; i < options->schedules; i++) {
        uint64_t mixed = base + i;
        uint64_t seed = i == 0 ? base : weiri_random_next(&mixed) >> 16;
        test_repeat_with(seed);
        explorer_choose_seeded(seed, options, length);
        if (!run_once(result)) {
            result->seed = seed;
            return false;
        }
    }
    test_repeat_with(base);
    return true;
}

/* With no preemption, with one, and so on: a bug that takes few is found among few schedules. */
static void run_search(const struct explorer_options *options, struct explorer_result *result)
{
    struct explorer_options bounded = *options;
    uint64_t left = options->exhaustive;
    for (bounded.preemptions = 0; bounded.preemptions <= options->preemptions;
         bounded.preemptions++) {
        uint64_t run = 0;
        explorer_choose_search(&bounded);
        do {
            if (left-- == 0) {
                return;
            }
            run++;
            if (!run_once(result)) {
                result->by_search = true;
                return;
            }
        } while (explorer_choose_search_next());
        result->exhausted = bounded.preemptions == options->preemptions ? run : 0;
    }
}

static void run_all(explorer_scenario_fn *scenario, void *arg,
                    const struct explorer_options *options, struct explorer_result *result)
{
    set_up(scenario, arg, options, result);
    uint64_t start = real_now_ns();
    uint64_t length;
    bool passed = run_first(options, result, &length);
    if (passed && !options->no_seeded) {
        passed = run_seeded(options, length, result);
    }
    if (passed && !options->no_exhaustive) {
        run_search(options, result);
    }
    result->elapsed_ns = real_now_ns() - start;
}

void explorer_run(explorer_scenario_fn *scenario, void *arg, const struct explorer_options *options,
                  struct explorer_result *ret_result)
{
    struct explorer_options filled = with_defaults(options);
    run_all(scenario, arg, &filled, ret_result);
}

static void run_traced(struct explorer_result *result, bool show)
{
    explorer.tracing = show;
    (void)run_once(result);
    explorer.tracing = false;
    if (show) {
        explorer_trace_print();
        (void)fflush(stdout);
    }
}

void explorer_replay(explorer_scenario_fn *scenario, void *arg,
                     const struct explorer_options *options, uint64_t seed, bool show,
                     struct explorer_result *ret_result)
{
    struct explorer_options filled = with_defaults(options);
    set_up(scenario, arg, &filled, ret_result);
    uint64_t length;
    if (run_first(&filled, ret_result, &length)) {
        explorer_choose_seeded(seed, &filled, length);
        run_traced(ret_result, show);
        ret_result->seed = seed;
    }
}

/* Runs the failed schedule once more with its trace, and ends the test. */
_Noreturn static void fail(explorer_scenario_fn *scenario, void *arg,
                           const struct explorer_options *options,
                           const struct explorer_result *result)
{
    struct explorer_result again;
    if (result->by_search) {
        set_up(scenario, arg, options, &again);
        explorer_choose_search_again();
        run_traced(&again, true);
    } else {
        explorer_replay(scenario, arg, options, result->seed, true, &again);
    }
    if (!again.failed || strcmp(again.text, result->text) != 0) {
        (void)printf("The same schedule did not come to the same end: \"%s\". The scenario depends "
                     "on something else than its schedule.\n",
                     again.text);
    }
    if (result->by_search) {
        test_fail(__FILE__, __LINE__, "schedule %llu, of the search: %s",
                  (unsigned long long)result->schedules, result->text);
    }
    test_repeat_with(result->seed);
    test_fail(__FILE__, __LINE__, "schedule %llu, seed %llu: %s",
              (unsigned long long)result->schedules, (unsigned long long)result->seed,
              result->text);
}

void explorer_must_pass(explorer_scenario_fn *scenario, void *arg,
                        const struct explorer_options *options)
{
    struct explorer_options filled = with_defaults(options);
    filled.schedules = test_scaled(filled.schedules);
    filled.exhaustive = test_scaled(filled.exhaustive);
    if (test_scaled(1) > 1) {
        filled.exhaustive *= CAMPAIGN_SEARCH;
    }
    struct explorer_result result;
    run_all(scenario, arg, &filled, &result);
    if (result.failed) {
        fail(scenario, arg, &filled, &result);
    }
    double seconds = (double)result.elapsed_ns / 1e9;
    (void)printf("%llu schedules, %.0f a second, %.1f steps each",
                 (unsigned long long)result.schedules, (double)result.schedules / seconds,
                 (double)result.steps / (double)result.schedules);
    if (result.exhausted != 0) {
        (void)printf("; all %llu with at most %u preemptions", (unsigned long long)result.exhausted,
                     filled.preemptions);
    }
    (void)printf("\n");
}

uint64_t explorer_choose(uint64_t count)
{
    return explorer_choose_value(count);
}

void explorer_refuse_thread(uint64_t nth)
{
    explorer.refuse_thread = nth;
}

uint64_t explorer_step(void)
{
    return explorer.step;
}
