/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/visits.h"

#include "base/panic.h"

void weiri_visits_init(struct weiri_visits *visits, struct weiri_stripe *stripes,
                       uint32_t stripe_count)
{
    atomic_init(&visits->door, 0);
    for (uint32_t i = 0; i < stripe_count; i++) {
        atomic_init(&stripes[i].inside, 0);
    }
    visits->stripes = stripes;
    visits->stripe_count = stripe_count;
    visits->retired_count = 0;
}

static void release_retired(struct weiri_visits *visits, const struct weir_allocator *allocator)
{
    while (visits->retired_count > 0) {
        const struct weiri_retired *last = &visits->retired[--visits->retired_count];
        weiri_release(allocator, last->block, last->size);
    }
}

void weiri_visits_fini(struct weiri_visits *visits, const struct weir_allocator *allocator)
{
    for (uint32_t i = 0; i < visits->stripe_count; i++) {
        WEIRI_ASSERT(atomic_load_explicit(&visits->stripes[i].inside, memory_order_acquire) == 0);
    }
    release_retired(visits, allocator);
}

/* Steps the door, from open to closed or back. */
static void step_door(struct weiri_visits *visits)
{
    uint64_t door = atomic_load_explicit(&visits->door, memory_order_relaxed);
    weiri_sync_point();
    atomic_store_explicit(&visits->door, door + 1, memory_order_release);
}

bool weiri_visits_close(struct weiri_visits *visits, const struct weir_allocator *allocator)
{
    step_door(visits);
    weiri_lock_fence();
    for (uint32_t i = 0; i < visits->stripe_count; i++) {
        weiri_sync_point();
        if (atomic_load_explicit(&visits->stripes[i].inside, memory_order_acquire) != 0) {
            return false;
        }
    }
    release_retired(visits, allocator);
    return true;
}

void weiri_visits_open(struct weiri_visits *visits)
{
    step_door(visits);
}

void weiri_visits_retire(struct weiri_visits *visits, void *block, size_t size)
{
    WEIRI_ASSERT(visits->retired_count < WEIRI_RETIRED_MAX);
    visits->retired[visits->retired_count++] = (struct weiri_retired){block, size};
}
