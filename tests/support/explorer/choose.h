/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPLORER_CHOOSE_H
#define WEIR_EXPLORER_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/explorer/explorer.h"

/* The next thread to run, and every other choice of a schedule. Three ways to choose: each time any
 * thread at random; PCT (priorities at random, which change at depth - 1 random steps: Burckhardt
 * and others, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010); and
 * the search through all schedules that preempt a thread which could go on at most so many times.
 */

/* The answer of explorer_choose_thread(): no thread, the time jumps. */
#define EXPLORER_JUMP 32u

/* A seeded schedule; its seed decides which of the two ways. length: how many steps a schedule has,
 * about. */
void explorer_choose_seeded(uint64_t seed, const struct explorer_options *options, uint64_t length);

/* The first schedule of the search; then the next one, false where there is none. */
void explorer_choose_search(const struct explorer_options *options);
bool explorer_choose_search_next(void);
/* The same schedule of the search again. */
void explorer_choose_search_again(void);

/* One of the threads of ready (a bit each, not empty), or EXPLORER_JUMP where may_jump is set. */
unsigned explorer_choose_thread(uint32_t ready, unsigned current, bool may_jump);
/* A number below count. */
uint64_t explorer_choose_value(uint64_t count);
/* True now and then; never in the search. */
bool explorer_choose_rare(void);
/* For hash seeds and the like: made from the schedule's seed. */
uint64_t explorer_choose_seed(void);
void explorer_choose_thread_added(unsigned index);

#endif
