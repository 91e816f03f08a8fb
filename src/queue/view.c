/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/view.h"

/* A visit that has not found its key after so many slots gives up. It would also walk for ever
 * where others move keys in its way. */
#define SLOTS_MAX 32

static size_t size_of(uint32_t stripe_count)
{
    return sizeof(struct weiri_view) + stripe_count * sizeof(struct weiri_stripe);
}

struct weiri_view *weiri_view_new(const struct weir_allocator *allocator, uint32_t stripe_count,
                                  uint64_t seed)
{
    struct weiri_view *view = weiri_alloc_zero(allocator, 1, size_of(stripe_count));
    if (view != NULL) {
        weiri_visits_init(&view->visits, view->stripes, stripe_count);
        view->seed = seed;
    }
    return view;
}

void weiri_view_free(struct weiri_view *view, const struct weir_allocator *allocator)
{
    if (view != NULL) {
        weiri_visits_fini(&view->visits, allocator);
        weiri_release(allocator, view, size_of(view->visits.stripe_count));
    }
}

void weiri_view_retire(struct weiri_view *view, const struct weir_allocator *allocator,
                       bool is_alone, void *block, size_t size)
{
    if (is_alone) {
        weiri_release(allocator, block, size);
    } else {
        weiri_visits_retire(&view->visits, block, size);
    }
}

void weiri_view_show_slots(struct weiri_view *view, const struct weiri_slots *slots)
{
    if (view != NULL) {
        weiri_sync_point();
        atomic_store_explicit(&view->slots, slots->slots, memory_order_release);
        weiri_sync_point();
        atomic_store_explicit(&view->slots_capacity, slots->capacity, memory_order_release);
    }
}

void weiri_view_show_chunks(struct weiri_view *view, struct weiri_chunk **chunks,
                            uint32_t chunk_capacity)
{
    if (view != NULL) {
        weiri_sync_point();
        atomic_store_explicit(&view->chunks, chunks, memory_order_release);
        weiri_sync_point();
        atomic_store_explicit(&view->chunk_capacity, chunk_capacity, memory_order_release);
    }
}

/* Where the table lay at one moment: pointers and sizes that belong together. */
struct place {
    const struct weiri_slot *slots;
    size_t mask;
    struct weiri_chunk *const *chunks;
    uint32_t chunk_capacity;
};

/* False: the door was closed meanwhile. */
static bool find_place(struct weiri_view *view, struct place *ret_place)
{
    uint64_t door = weiri_visits_door(&view->visits);
    if (door % 2 != 0) {
        return false;
    }
    weiri_sync_point();
    ret_place->slots = atomic_load_explicit(&view->slots, memory_order_acquire);
    weiri_sync_point();
    ret_place->mask = atomic_load_explicit(&view->slots_capacity, memory_order_acquire) - 1;
    weiri_sync_point();
    ret_place->chunks = atomic_load_explicit(&view->chunks, memory_order_acquire);
    weiri_sync_point();
    ret_place->chunk_capacity = atomic_load_explicit(&view->chunk_capacity, memory_order_acquire);
    return ret_place->slots != NULL && weiri_visits_door(&view->visits) == door;
}

/* The record of an index that was found in a slot; NULL: its chunk is gone. */
static const struct weiri_record *record_at(const struct place *place, uint32_t index)
{
    uint32_t chunk_index = index >> WEIRI_CHUNK_BITS;
    if (chunk_index >= place->chunk_capacity) {
        return NULL;
    }
    weiri_sync_point();
    struct weiri_chunk *chunk = __atomic_load_n(&place->chunks[chunk_index], __ATOMIC_ACQUIRE);
    return chunk == NULL ? NULL : &chunk->records[index & (WEIRI_CHUNK_RECORDS - 1)];
}

/* Whether the record is the key's. The size comes first: where it is found, so is the key that was
 * stored before it. */
static bool is_of(const struct weiri_record *record, size_t size, const struct weiri_sought *sought)
{
    weiri_sync_point();
    if (__atomic_load_n(&record->key_size, __ATOMIC_ACQUIRE) != size) {
        return false;
    }
    weiri_sync_point();
    uint64_t first = __atomic_load_n(&record->key.words.first, __ATOMIC_ACQUIRE);
    weiri_sync_point();
    uint64_t second = __atomic_load_n(&record->key.words.second, __ATOMIC_ACQUIRE);
    return first == sought->words.first && second == sought->words.second;
}

static bool look(struct weiri_view *view, size_t size, const struct weiri_sought *sought,
                 uint32_t mark)
{
    struct place place;
    if (!find_place(view, &place)) {
        return false;
    }
    size_t at = sought->hash & place.mask;
    for (int i = 0; i < SLOTS_MAX; i++, at = (at + 1) & place.mask) {
        weiri_sync_point();
        struct weiri_slot slot = {.word = __atomic_load_n(&place.slots[at].word, __ATOMIC_ACQUIRE)};
        if (slot.number == 0) {
            return false;
        }
        const struct weiri_record *record =
            slot.hash == sought->hash ? record_at(&place, slot.number - 1) : NULL;
        if (record == NULL) {
            continue;
        }
        const _Atomic uint64_t *ends = &view->ends[(slot.number - 1) % WEIRI_VIEW_ENDS];
        weiri_sync_point();
        uint64_t ended = atomic_load_explicit(ends, memory_order_acquire);
        if (is_of(record, size, sought)) {
            weiri_sync_point();
            bool joins = weiri_word_joins(weiri_item_word_to_take(&record->item), mark);
            weiri_sync_point();
            return joins && atomic_load_explicit(ends, memory_order_relaxed) == ended;
        }
    }
    return false;
}

bool weiri_view_joins(struct weiri_view *view, struct weir_key key, uint32_t mark)
{
    const struct weiri_sought sought = weiri_sought(view->seed, key);
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    if (stripe == NULL) {
        return false;
    }
    bool joins = look(view, key.size, &sought, mark);
    weiri_visits_leave(stripe);
    return joins;
}
