/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SLOTS_H
#define WEIRI_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/inline.h"
#include "base/panic.h"

/* The part of a hash table that is the same whatever it holds: open addressing with linear probing
 * over slots of 8 bytes. A slot holds a record's number and 32 bits of its key's hash, by which the
 * slot also finds home again, so that growing and deleting touch no record.
 *
 * The owner walks the run of a hash itself and compares keys (inlined, no callback):
 *
 *     for (size_t at = weiri_slots_home(s, hash); s->slots[at].number != 0;
 *          at = weiri_slots_next(s, at)) {
 *         if (s->slots[at].hash == hash && ...) return s->slots[at].number;
 *     }
 *
 * At most three quarters of the slots are in use, so every run ends. */

struct weiri_slot {
    union {
        struct {
            uint32_t hash;
            uint32_t number; /* of the record, from 1; 0: empty */
        };
        uint64_t word; /* both, for who looks while they change (queue/view.h) */
    };
};

/* The one way in which slots that may be looked at change. */
static inline void weiri_slot_set(struct weiri_slot *slot, struct weiri_slot value)
{
    __atomic_store_n(&slot->word, value.word, __ATOMIC_RELEASE);
}

/* Zeroed memory is an empty table. */
struct weiri_slots {
    struct weiri_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;
};

void weiri_slots_fini(struct weiri_slots *slots, const struct weir_allocator *allocator);

/* Makes sure that one more insertion has room. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_slots_reserve(struct weiri_slots *slots,
                                                    const struct weir_allocator *allocator);
/* The same, where it is known that there is no room: the old memory, of the old capacity, is left
 * to the caller. */
WEIR_NODISCARD enum weir_status weiri_slots_grow(struct weiri_slots *slots,
                                                 const struct weir_allocator *allocator);
/* Inserts a number that is not there, into room that was reserved. */
void weiri_slots_insert(struct weiri_slots *slots, uint32_t hash, uint32_t number);
/* weiri_slots_close_gap() as a call. */
void weiri_slots_delete_slow(struct weiri_slots *slots, struct weiri_slot *slot);
/* Moves to less memory, where there is some. */
void weiri_slots_trim_slow(struct weiri_slots *slots, const struct weir_allocator *allocator);
#define WEIRI_SLOTS_CAPACITY_MIN 64

/* Where the run of a hash begins; the table is not empty. */
static inline size_t weiri_slots_home(const struct weiri_slots *slots, uint32_t hash)
{
    return hash & (slots->capacity - 1);
}

static inline size_t weiri_slots_next(const struct weiri_slots *slots, size_t at)
{
    return (at + 1) & (slots->capacity - 1);
}

/* Has the memory fetched where the run of a hash begins. */
WEIRI_INLINE void weiri_slots_prefetch(const struct weiri_slots *slots, uint32_t hash)
{
    __builtin_prefetch(&slots->slots[weiri_slots_home(slots, hash)], 1);
}

/* Whether one more insertion has room. */
static inline bool weiri_slots_have_room(const struct weiri_slots *slots)
{
    return slots->used < slots->capacity / 4 * 3;
}

/* Inserts into room that was reserved, at the empty slot where a search for the hash ended. */
static inline void weiri_slots_put(struct weiri_slots *slots, size_t at, uint32_t hash,
                                   uint32_t number)
{
    weiri_slot_set(&slots->slots[at], (struct weiri_slot){.hash = hash, .number = number});
    slots->used++;
}

/* The slot of a number that is there under this hash. */
static inline struct weiri_slot *weiri_slots_of(const struct weiri_slots *slots, uint32_t hash,
                                                uint32_t number)
{
    size_t at = weiri_slots_home(slots, hash);
    while (slots->slots[at].number != number) {
        WEIRI_ASSERT(slots->slots[at].number != 0);
        at = weiri_slots_next(slots, at);
    }
    return &slots->slots[at];
}

/* Deletes a slot of the table that has others right behind it. Those behind the gap, up to the next
 * empty slot, move as near to their homes as the gap allows: no search ever has to step over the
 * remains of a deleted key, and none is left to be swept. */
static inline void weiri_slots_close_gap(struct weiri_slots *slots, struct weiri_slot *slot)
{
    size_t mask = slots->capacity - 1;
    size_t gap = (size_t)(slot - slots->slots);
    for (size_t at = weiri_slots_next(slots, gap); slots->slots[at].number != 0;
         at = weiri_slots_next(slots, at)) {
        size_t home = weiri_slots_home(slots, slots->slots[at].hash);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            weiri_slot_set(&slots->slots[gap], slots->slots[at]);
            gap = at;
        }
    }
    weiri_slot_set(&slots->slots[gap], (struct weiri_slot){.word = 0});
    slots->used--;
}

/* Deletes a slot of the table. */
static inline void weiri_slots_delete(struct weiri_slots *slots, struct weiri_slot *slot)
{
    size_t next = weiri_slots_next(slots, (size_t)(slot - slots->slots));
    if (slots->slots[next].number != 0) {
        weiri_slots_delete_slow(slots, slot);
        return;
    }
    weiri_slot_set(slot, (struct weiri_slot){.word = 0});
    slots->used--;
}

/* Whether most of the memory would lie idle with so many slots in use. */
static inline bool weiri_slots_may_trim(const struct weiri_slots *slots, size_t used)
{
    return slots->capacity > WEIRI_SLOTS_CAPACITY_MIN && used < slots->capacity / 16;
}

/* Gives memory back where most of it lies idle; harmless where there is none to move to. */
static inline void weiri_slots_trim(struct weiri_slots *slots,
                                    const struct weir_allocator *allocator)
{
    if (weiri_slots_may_trim(slots, slots->used)) {
        weiri_slots_trim_slow(slots, allocator);
    }
}

#endif
