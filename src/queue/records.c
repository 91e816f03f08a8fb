/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/records.h"

#include <string.h>

#include "queue/view.h"

#define CHUNKS_MAX (1u << (31 - WEIRI_CHUNK_BITS))
#define CHUNK_ARRAY_MIN 8u
#define NONE 0u

#ifdef WEIRI_EXPLORER
bool weiri_records_are_stepped;
#endif

static struct weiri_chunk *chunk_of(const struct weiri_records *records,
                                    const struct weiri_record *record)
{
    return records->chunks[weiri_record_index(record) >> WEIRI_CHUNK_BITS];
}

static void push_with_room(struct weiri_records *records, uint32_t index)
{
    struct weiri_chunk *chunk = records->chunks[index];
    chunk->previous = NONE;
    chunk->next = records->with_room;
    if (chunk->next != NONE) {
        records->chunks[chunk->next - 1]->previous = index + 1;
    }
    records->with_room = index + 1;
}

static void push_empty(struct weiri_records *records, uint32_t index)
{
    records->chunks[index]->next = records->empties;
    records->empties = index + 1;
}

static void remove_with_room(struct weiri_records *records, uint32_t index)
{
    struct weiri_chunk *chunk = records->chunks[index];
    if (chunk->previous != NONE) {
        records->chunks[chunk->previous - 1]->next = chunk->next;
    } else {
        records->with_room = chunk->next;
    }
    if (chunk->next != NONE) {
        records->chunks[chunk->next - 1]->previous = chunk->previous;
    }
}

/* False: for lack of memory the array is as it was. What has no chunk is NULL in all of it. The
 * old one is left to the caller. */
static bool resize_array(struct weiri_records *records, const struct weir_allocator *allocator,
                         uint32_t capacity)
{
    struct weiri_chunk **chunks =
        weiri_alloc_zero(allocator, capacity, sizeof(struct weiri_chunk *));
    if (chunks == NULL) {
        return false;
    }
    if (records->chunk_count > 0) {
        memcpy(chunks, records->chunks, records->chunk_count * sizeof(struct weiri_chunk *));
    }
    records->chunks = chunks;
    records->chunk_capacity = capacity;
    return true;
}

static bool grow_array(struct weiri_records *records, const struct weir_allocator *allocator)
{
    struct weiri_chunk **old = records->chunks;
    uint32_t old_capacity = records->chunk_capacity;
    uint32_t capacity = old_capacity == 0 ? CHUNK_ARRAY_MIN : old_capacity * 2;
    if (capacity > CHUNKS_MAX || !resize_array(records, allocator, capacity)) {
        return false;
    }
    bool is_alone = weiri_view_close(records->view, allocator);
    weiri_view_show_chunks(records->view, records->chunks, capacity);
    weiri_view_open(records->view);
    weiri_view_retire(records->view, allocator, is_alone, old,
                      old_capacity * sizeof(struct weiri_chunk *));
    return true;
}

/* An index of the array that has no chunk; CHUNKS_MAX for lack of memory. */
static uint32_t find_index(struct weiri_records *records, const struct weir_allocator *allocator)
{
    for (; records->without_chunk < records->chunk_count; records->without_chunk++) {
        if (records->chunks[records->without_chunk] == NULL) {
            return records->without_chunk;
        }
    }
    if (records->chunk_count == records->chunk_capacity && !grow_array(records, allocator)) {
        return CHUNKS_MAX;
    }
    return records->chunk_count++;
}

/* Forgets the last indices where they have no chunk. Of those below without_chunk all have one. */
static void drop_last(struct weiri_records *records)
{
    while (records->chunk_count > records->without_chunk &&
           records->chunks[records->chunk_count - 1] == NULL) {
        records->chunk_count--;
    }
}

static enum weir_status add_chunk(struct weiri_records *records,
                                  const struct weir_allocator *allocator)
{
    uint32_t index = find_index(records, allocator);
    if (index == CHUNKS_MAX) {
        return WEIR_ENOMEM;
    }
    struct weiri_chunk *chunk =
        weiri_blocks_take(&records->blocks, allocator, sizeof(*chunk), index);
    if (chunk == NULL) {
        drop_last(records);
        return WEIR_ENOMEM;
    }
    memset(chunk, 0, sizeof(*chunk));
    for (uint32_t i = 0; i < WEIRI_CHUNK_RECORDS; i++) {
        struct weiri_record *record = &chunk->records[i];
        record->item.weir_slot = ((index << WEIRI_CHUNK_BITS) | i) + 1;
        record->key_size = WEIRI_RECORD_FREE;
        record->key.next_free = i + 1 < WEIRI_CHUNK_RECORDS ? i + 2 : NONE;
    }
    chunk->free_record = 1;
    __atomic_store_n(&records->chunks[index], chunk, __ATOMIC_RELEASE);
    push_empty(records, index);
    return WEIR_OK;
}

/* Nobody looks. */
static void remove_chunk(struct weiri_records *records, const struct weir_allocator *allocator,
                         uint32_t index)
{
    weiri_blocks_give_back(&records->blocks, allocator, sizeof(struct weiri_chunk), index,
                           records->chunks[index]);
    records->chunks[index] = NULL;
    if (index < records->without_chunk) {
        records->without_chunk = index;
    }
    drop_last(records);
    uint32_t capacity = records->chunk_capacity;
    while (capacity > CHUNK_ARRAY_MIN && records->chunk_count < capacity / 8) {
        capacity /= 2;
    }
    struct weiri_chunk **old = records->chunks;
    uint32_t old_capacity = records->chunk_capacity;
    if (capacity != old_capacity && resize_array(records, allocator, capacity)) {
        weiri_release(allocator, old, old_capacity * sizeof(struct weiri_chunk *));
    }
}

/* A record without its key; NULL for lack of memory. */
static struct weiri_record *take(struct weiri_records *records,
                                 const struct weir_allocator *allocator)
{
    if (records->spare != NULL) {
        struct weiri_record *spare = records->spare;
        records->spare = NULL;
        records->count++;
        return spare;
    }
    if (records->with_room == NONE) {
        if (records->empties == NONE && add_chunk(records, allocator) != WEIR_OK) {
            return NULL;
        }
        uint32_t index = records->empties - 1;
        records->empties = records->chunks[index]->next;
        push_with_room(records, index);
    }
    uint32_t chunk_index = records->with_room - 1;
    struct weiri_chunk *chunk = records->chunks[chunk_index];
    struct weiri_record *record = &chunk->records[chunk->free_record - 1];
    chunk->free_record = (uint32_t)record->key.next_free;
    chunk->used++;
    if (chunk->free_record == NONE) {
        remove_with_room(records, chunk_index);
    }
    records->count++;
    return record;
}

struct weiri_record *weiri_records_new(struct weiri_records *records,
                                       const struct weir_allocator *allocator, struct weir_key key,
                                       const struct weiri_sought *sought)
{
    char *block = NULL;
    if (key.size > WEIRI_RECORD_INLINE) {
        block = weiri_alloc(allocator, key.size);
        if (block == NULL) {
            return NULL;
        }
    }
    struct weiri_record *record = take(records, allocator);
    if (record == NULL) {
        weiri_release(allocator, block, key.size);
        return NULL;
    }
    if (block == NULL) {
        weiri_record_name(record, key.size, sought);
        return record;
    }
    memcpy(block, key.data, key.size);
    record->hash = sought->hash;
    __atomic_store_n(&record->key.block, block, __ATOMIC_RELEASE);
    __atomic_store_n(&record->key_size, (uint32_t)key.size, __ATOMIC_RELEASE);
    return record;
}

/* Gives chunks without records back but for one: those further back go, so that the array can
 * shrink too. */
static void give_back_empties(struct weiri_records *records, const struct weir_allocator *allocator)
{
    uint32_t first = records->empties;
    uint32_t kept = first;
    for (uint32_t link = first; link != NONE; link = records->chunks[link - 1]->next) {
        kept = link < kept ? link : kept;
    }
    uint32_t next;
    for (uint32_t link = first; link != NONE; link = next) {
        next = records->chunks[link - 1]->next;
        if (link != kept) {
            remove_chunk(records, allocator, link - 1);
        }
    }
    records->empties = kept;
    records->chunks[kept - 1]->next = NONE;
}

/* The same, unless somebody looks: then the next chunk that becomes empty is the occasion. */
static void give_back(struct weiri_records *records, const struct weir_allocator *allocator)
{
    if (weiri_view_close(records->view, allocator)) {
        give_back_empties(records, allocator);
        weiri_view_show_chunks(records->view, records->chunks, records->chunk_capacity);
    }
    weiri_view_open(records->view);
}

/* Gives a record that holds no key back to its chunk, and the chunk back where it is empty. */
static void put_back(struct weiri_records *records, const struct weir_allocator *allocator,
                     struct weiri_record *record)
{
    uint32_t index = weiri_record_index(record);
    uint32_t chunk_index = index >> WEIRI_CHUNK_BITS;
    struct weiri_chunk *chunk = records->chunks[chunk_index];
    weiri_record_link_free(record, chunk->free_record);
    if (chunk->free_record == NONE) {
        push_with_room(records, chunk_index);
    }
    chunk->free_record = (index & (WEIRI_CHUNK_RECORDS - 1)) + 1;
    if (--chunk->used > 0) {
        return;
    }
    remove_with_room(records, chunk_index);
    push_empty(records, chunk_index);
    if (chunk->next != NONE) {
        give_back(records, allocator);
    }
}

void weiri_records_free(struct weiri_records *records, const struct weir_allocator *allocator,
                        struct weiri_record *record)
{
    if (weiri_records_free_quick(records, record)) {
        return;
    }
    if (record->key_size > WEIRI_RECORD_INLINE) {
        weiri_release(allocator, record->key.block, record->key_size);
    }
    weiri_record_unname(record);
    records->count--;
    put_back(records, allocator, record);
    /* The spare record must not keep a chunk for itself alone. */
    struct weiri_record *spare = records->spare;
    if (spare != NULL && chunk_of(records, spare)->used == 1) {
        records->spare = NULL;
        put_back(records, allocator, spare);
    }
}

void weiri_records_fini(struct weiri_records *records, const struct weir_allocator *allocator)
{
    for (uint32_t i = 0; i < records->chunk_count; i++) {
        struct weiri_chunk *chunk = records->chunks[i];
        if (chunk == NULL) {
            continue;
        }
        for (uint32_t j = 0; j < WEIRI_CHUNK_RECORDS; j++) {
            struct weiri_record *record = &chunk->records[j];
            if (record->key_size != WEIRI_RECORD_FREE && record->key_size > WEIRI_RECORD_INLINE) {
                weiri_release(allocator, record->key.block, record->key_size);
            }
        }
        weiri_blocks_give_back(&records->blocks, allocator, sizeof(*chunk), i, chunk);
    }
    weiri_release(allocator, records->chunks,
                  records->chunk_capacity * sizeof(struct weiri_chunk *));
    *records = (struct weiri_records){0};
}
