/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/slots.h"

static void put(struct weiri_slots *slots, struct weiri_slot slot)
{
    size_t at = weiri_slots_home(slots, slot.hash);
    while (slots->slots[at].number != 0) {
        at = weiri_slots_next(slots, at);
    }
    weiri_slot_set(&slots->slots[at], slot);
}

/* Leaves the old memory to the caller. */
static enum weir_status change_capacity(struct weiri_slots *slots,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weiri_slots changed = {.capacity = capacity, .used = slots->used};
    changed.slots = weiri_alloc_zero(allocator, capacity, sizeof(*changed.slots));
    if (changed.slots == NULL) {
        return WEIR_ENOMEM;
    }
    for (size_t at = 0; at < slots->capacity; at++) {
        if (slots->slots[at].number != 0) {
            put(&changed, slots->slots[at]);
        }
    }
    *slots = changed;
    return WEIR_OK;
}

void weiri_slots_fini(struct weiri_slots *slots, const struct weir_allocator *allocator)
{
    weiri_release(allocator, slots->slots, slots->capacity * sizeof(*slots->slots));
    *slots = (struct weiri_slots){0};
}

enum weir_status weiri_slots_reserve(struct weiri_slots *slots,
                                     const struct weir_allocator *allocator)
{
    if (weiri_slots_have_room(slots)) {
        return WEIR_OK;
    }
    struct weiri_slots old = *slots;
    enum weir_status status = weiri_slots_grow(slots, allocator);
    if (status == WEIR_OK) {
        weiri_slots_fini(&old, allocator);
    }
    return status;
}

enum weir_status weiri_slots_grow(struct weiri_slots *slots, const struct weir_allocator *allocator)
{
    return change_capacity(slots, allocator,
                           slots->capacity == 0 ? WEIRI_SLOTS_CAPACITY_MIN : slots->capacity * 2);
}

void weiri_slots_insert(struct weiri_slots *slots, uint32_t hash, uint32_t number)
{
    WEIRI_DEBUG_ASSERT(weiri_slots_have_room(slots));
    put(slots, (struct weiri_slot){.hash = hash, .number = number});
    slots->used++;
}

void weiri_slots_delete_slow(struct weiri_slots *slots, struct weiri_slot *slot)
{
    weiri_slots_close_gap(slots, slot);
}

/* Down to a quarter at a sixteenth full: what comes next must fill or empty half of it again before
 * the next change, so that a table at the border does not change back and forth. */
void weiri_slots_trim_slow(struct weiri_slots *slots, const struct weir_allocator *allocator)
{
    struct weiri_slots old = *slots;
    size_t quarter = slots->capacity / 4;
    if (change_capacity(slots, allocator,
                        quarter < WEIRI_SLOTS_CAPACITY_MIN ? WEIRI_SLOTS_CAPACITY_MIN : quarter) ==
        WEIR_OK) {
        weiri_slots_fini(&old, allocator);
    }
}
