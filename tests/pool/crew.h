/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_CREW_H
#define WEIR_TEST_POOL_CREW_H

#include "pool/fixture.h"

/* A pool with tasks of one kind, each sent and kept. */
#define TASKS_MAX 4
struct crew {
    weir_clock *clock;
    weir_pool *pool;
    struct task tasks[TASKS_MAX];
    weir_envelope *envelopes[TASKS_MAX];
};

static inline void crew_init(struct crew *crew, size_t workers)
{
    crew->clock = manual_clock(0);
    crew->pool = pool_with(workers, 0, crew->clock);
    for (int i = 0; i < TASKS_MAX; i++) {
        task_init(&crew->tasks[i]);
        crew->tasks[i].pool = crew->pool;
        crew->envelopes[i] = envelope_for(&crew->tasks[i], 0);
    }
}

/* Also checks that every payload was released, once. */
static inline void crew_fini(struct crew *crew)
{
    weir_pool_free(crew->pool);
    weir_clock_free(crew->clock);
    for (int i = 0; i < TASKS_MAX; i++) {
        weir_envelope_unref(crew->envelopes[i]);
        CHECK_INT(counter_value(&crew->tasks[i].released), ==, 1);
        task_fini(&crew->tasks[i]);
    }
}

static inline void crew_send(struct crew *crew, int i)
{
    CHECK_STATUS(weir_pool_send(crew->pool, crew->envelopes[i]), WEIR_OK);
}

#endif
