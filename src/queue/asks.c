/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/asks.h"

#include "base/panic.h"

#define CAPACITY_MIN 16

/* Multiplying by the golden ratio spreads addresses, which differ in their middle bits, over the
 * upper half of the product. */
static size_t home(const struct weiri_asks *asks, const struct weir_item *item)
{
    uint64_t hash = (uint64_t)(uintptr_t)item * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32) & (asks->capacity - 1);
}

static size_t next(const struct weiri_asks *asks, size_t at)
{
    return (at + 1) & (asks->capacity - 1);
}

/* The item's slot, or the empty one where it belongs. The table is not full. */
static size_t find(const struct weiri_asks *asks, const struct weir_item *item)
{
    size_t at = home(asks, item);
    while (asks->slots[at].item != NULL && asks->slots[at].item != item) {
        at = next(asks, at);
    }
    return at;
}

static enum weir_status change_capacity(struct weiri_asks *asks,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weiri_asks changed = {.capacity = capacity, .count = asks->count};
    changed.slots = weiri_alloc_zero(allocator, capacity, sizeof(*changed.slots));
    if (changed.slots == NULL) {
        return WEIR_ENOMEM;
    }
    for (size_t at = 0; at < asks->capacity; at++) {
        if (asks->slots[at].item != NULL) {
            changed.slots[find(&changed, asks->slots[at].item)] = asks->slots[at];
        }
    }
    weiri_asks_fini(asks, allocator);
    *asks = changed;
    return WEIR_OK;
}

/* At most three quarters of the slots are in use, so every search ends. */
static size_t room(const struct weiri_asks *asks)
{
    return asks->capacity / 4 * 3;
}

enum weir_status weiri_asks_reserve(struct weiri_asks *asks, const struct weir_allocator *allocator)
{
    if (asks->count < room(asks)) {
        return WEIR_OK;
    }
    if (asks->capacity > SIZE_MAX / 2) {
        return WEIR_ENOMEM;
    }
    return change_capacity(asks, allocator,
                           asks->capacity == 0 ? CAPACITY_MIN : asks->capacity * 2);
}

void weiri_asks_fini(struct weiri_asks *asks, const struct weir_allocator *allocator)
{
    weiri_release(allocator, asks->slots, asks->capacity * sizeof(*asks->slots));
    *asks = (struct weiri_asks){0};
}

int32_t weiri_asks_get(const struct weiri_asks *asks, const struct weir_item *item,
                       enum weiri_ask_kind kind)
{
    if (asks->count == 0) {
        return 0;
    }
    return asks->slots[find(asks, item)].priorities[kind]; /* an empty slot is all zero */
}

/* Empties a slot and closes the gap: whatever lies behind it in the same run and may not lie before
 * its home moves into it, and leaves a gap of its own. */
static void erase(struct weiri_asks *asks, size_t gap)
{
    for (size_t at = next(asks, gap); asks->slots[at].item != NULL; at = next(asks, at)) {
        size_t from_home = (at - home(asks, asks->slots[at].item)) & (asks->capacity - 1);
        size_t from_gap = (at - gap) & (asks->capacity - 1);
        if (from_home >= from_gap) {
            asks->slots[gap] = asks->slots[at];
            gap = at;
        }
    }
    asks->slots[gap] = (struct weiri_ask){0};
    asks->count--;
}

void weiri_asks_set(struct weiri_asks *asks, const struct weir_allocator *allocator,
                    const struct weir_item *item, enum weiri_ask_kind kind, int32_t priority)
{
    if (asks->capacity == 0) {
        WEIRI_ASSERT(priority == 0);
        return;
    }
    size_t at = find(asks, item);
    struct weiri_ask *ask = &asks->slots[at];
    if (ask->item == NULL) {
        if (priority == 0) {
            return;
        }
        WEIRI_ASSERT(asks->count < room(asks));
        ask->item = item;
        asks->count++;
    }
    ask->priorities[kind] = priority;
    if (ask->priorities[WEIRI_ASK_DIRTY] == 0 && ask->priorities[WEIRI_ASK_WAITING] == 0) {
        erase(asks, at);
        if (asks->count < asks->capacity / 8 && asks->capacity > CAPACITY_MIN) {
            (void)change_capacity(asks, allocator, asks->capacity / 2);
        }
    }
}
