/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

#include <string.h>

#define CAPACITY_MIN 64u
#define CHUNKS_MIN 8u
#define CHUNK_RECORDS 64u

struct weiri_chunk {
    struct weiri_list link; /* among the unfilled ones, or in no list */
    uint32_t index;         /* in the table's array */
    uint32_t used;
    uint32_t free; /* the first free record; CHUNK_RECORDS: none */
    uint32_t reserved0;
    char records[]; /* CHUNK_RECORDS of the table's record_size */
};

void weiri_table_init(struct weiri_table *table, size_t record_size, uint64_t seed)
{
    *table = (struct weiri_table){.record_size = record_size, .seed = seed};
    weiri_list_init(&table->unfilled);
}

void *weiri_table_record(const struct weiri_table *table, uint32_t number)
{
    struct weiri_chunk *chunk = table->chunks[(number - 1) / CHUNK_RECORDS];
    return chunk->records + (number - 1) % CHUNK_RECORDS * table->record_size;
}

void *weiri_table_check(const struct weiri_table *table, uint64_t number)
{
    if (number == 0 || (number - 1) / CHUNK_RECORDS >= table->chunk_capacity ||
        table->chunks[(number - 1) / CHUNK_RECORDS] == NULL) {
        return NULL;
    }
    return weiri_table_record(table, (uint32_t)number);
}

/* The bytes that are hashed, compared and copied: those of the key, or of an item's address. The
 * result refers to key. */
static struct weir_key bytes_of(const struct weir_key *key)
{
    bool is_item = key->size == WEIR_KEY_ITEM;
    return is_item ? (struct weir_key){&key->data, sizeof(key->data)} : *key;
}

static const char *record_bytes(const struct weiri_record *record)
{
    bool is_inline = record->size <= WEIRI_KEY_INLINE || record->size == WEIRI_SIZE_ITEM;
    return is_inline ? record->key.bytes : record->key.block;
}

struct weir_key weiri_record_key(const struct weiri_record *record)
{
    struct weir_key key = {record_bytes(record), record->size};
    if (record->size == WEIRI_SIZE_ITEM) {
        memcpy(&key.data, record->key.bytes, sizeof(key.data));
        key.size = WEIR_KEY_ITEM;
    }
    return key;
}

uint32_t weiri_table_hash(const struct weiri_table *table, struct weir_key key)
{
    struct weir_key bytes = bytes_of(&key);
    return (uint32_t)(weiri_hash(bytes.data, bytes.size, table->seed) >> 32);
}

uint32_t weiri_table_find(const struct weiri_table *table, struct weir_key key, uint32_t hash)
{
    if (table->count == 0) {
        return 0;
    }
    struct weir_key bytes = bytes_of(&key);
    size_t mask = table->capacity - 1;
    for (size_t at = hash & mask; table->slots[at].number != 0; at = (at + 1) & mask) {
        if (table->slots[at].hash == hash) {
            const struct weiri_record *record = weiri_table_record(table, table->slots[at].number);
            if (record->size == (uint32_t)key.size &&
                weiri_same_bytes(record_bytes(record), bytes.data, bytes.size)) {
                return table->slots[at].number;
            }
        }
    }
    return 0;
}

/* Puts a slot at the first place that is free for its hash. */
static void put(struct weiri_slot *slots, size_t mask, struct weiri_slot slot)
{
    size_t at = slot.hash & mask;
    while (slots[at].number != 0) {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
}

static enum weir_status resize(struct weiri_table *table, const struct weir_allocator *allocator,
                               size_t capacity)
{
    struct weiri_slot *slots = weiri_alloc_zero(allocator, capacity, sizeof(*slots));
    if (slots == NULL) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].number != 0) {
            put(slots, capacity - 1, table->slots[i]);
        }
    }
    weiri_release(allocator, table->slots, table->capacity * sizeof(*slots));
    table->slots = slots;
    table->capacity = capacity;
    return WEIR_OK;
}

/* Finds a free index of the array of chunks. It is chunk_capacity if there is no memory for a
 * larger array. */
static void find_index(struct weiri_table *table, const struct weir_allocator *allocator)
{
    while (table->chunk_low < table->chunk_capacity && table->chunks[table->chunk_low] != NULL) {
        table->chunk_low++;
    }
    if (table->chunk_low < table->chunk_capacity ||
        table->chunk_capacity >= UINT32_MAX / CHUNK_RECORDS / 2) {
        return;
    }
    uint32_t old = table->chunk_capacity;
    uint32_t capacity = old == 0 ? CHUNKS_MIN : old * 2;
    struct weiri_chunk **chunks =
        weiri_resize(allocator, table->chunks, old, capacity, sizeof(struct weiri_chunk *));
    if (chunks != NULL) {
        memset(&chunks[old], 0, (capacity - old) * sizeof(struct weiri_chunk *));
        table->chunks = chunks;
        table->chunk_capacity = capacity;
    }
}

static size_t chunk_size(const struct weiri_table *table)
{
    return sizeof(struct weiri_chunk) + CHUNK_RECORDS * table->record_size;
}

/* Makes a chunk, so that there are free records. */
static enum weir_status add_chunk(struct weiri_table *table, const struct weir_allocator *allocator)
{
    find_index(table, allocator);
    if (table->chunk_low == table->chunk_capacity) {
        return WEIR_ENOMEM;
    }
    struct weiri_chunk *chunk = weiri_alloc_zero(allocator, 1, chunk_size(table));
    if (chunk == NULL) {
        return WEIR_ENOMEM;
    }
    chunk->index = table->chunk_low;
    table->chunks[chunk->index] = chunk;
    for (uint32_t i = 0; i < CHUNK_RECORDS; i++) {
        struct weiri_record *record =
            weiri_table_record(table, chunk->index * CHUNK_RECORDS + i + 1);
        record->hash = i + 1;
    }
    weiri_list_insert_before(table->unfilled.next, &chunk->link);
    return WEIR_OK;
}

static void remove_chunk(struct weiri_table *table, const struct weir_allocator *allocator,
                         struct weiri_chunk *chunk)
{
    weiri_list_remove(&chunk->link);
    table->chunks[chunk->index] = NULL;
    if (chunk->index < table->chunk_low) {
        table->chunk_low = chunk->index;
    }
    weiri_release(allocator, chunk, chunk_size(table));
}

uint32_t weiri_table_insert(struct weiri_table *table, const struct weir_allocator *allocator,
                            struct weir_key key, uint32_t hash)
{
    if (table->count >= table->capacity / 4 * 3) {
        size_t capacity = table->capacity == 0 ? CAPACITY_MIN : table->capacity * 2;
        if (resize(table, allocator, capacity) != WEIR_OK) {
            return 0;
        }
    }
    if (weiri_list_is_empty(&table->unfilled) && add_chunk(table, allocator) != WEIR_OK) {
        return 0;
    }
    struct weir_key bytes = bytes_of(&key);
    char *block = NULL;
    if (bytes.size > WEIRI_KEY_INLINE) {
        block = weiri_alloc(allocator, bytes.size);
        if (block == NULL) {
            return 0;
        }
    }
    struct weiri_chunk *chunk = WEIRI_CONTAINER(table->unfilled.next, struct weiri_chunk, link);
    uint32_t number = chunk->index * CHUNK_RECORDS + chunk->free + 1;
    struct weiri_record *record = weiri_table_record(table, number);
    chunk->free = record->hash;
    chunk->used++;
    if (chunk == table->spare) {
        table->spare = NULL;
    }
    if (chunk->free == CHUNK_RECORDS) {
        weiri_list_remove(&chunk->link);
    }
    memset(record, 0, table->record_size);
    record->hash = hash;
    record->size = (uint32_t)key.size;
    if (block != NULL) {
        record->key.block = block;
    }
    if (bytes.size > 0) {
        memcpy(block != NULL ? block : record->key.bytes, bytes.data, bytes.size);
    }
    put(table->slots, table->capacity - 1, (struct weiri_slot){hash, number});
    table->count++;
    return number;
}

/* Empties a slot. The slots behind it, up to the next empty one, move as near to the first places
 * for their hashes as the gap allows. So no search has to step over a removed key. */
static void remove_slot(struct weiri_table *table, uint32_t hash, uint32_t number)
{
    size_t mask = table->capacity - 1;
    size_t gap = hash & mask;
    while (table->slots[gap].number != number) {
        gap = (gap + 1) & mask;
    }
    for (size_t at = (gap + 1) & mask; table->slots[at].number != 0; at = (at + 1) & mask) {
        if (((at - table->slots[at].hash) & mask) >= ((at - gap) & mask)) {
            table->slots[gap] = table->slots[at];
            gap = at;
        }
    }
    table->slots[gap].number = 0;
    table->count--;
}

static void release_key(const struct weir_allocator *allocator, struct weiri_record *record)
{
    if (record_bytes(record) != record->key.bytes) {
        weiri_release(allocator, record->key.block, record->size);
    }
}

/* One chunk without records stays for the next insert; of two, the one at the lower address, so
 * that the upper end of the heap can go back to the system. */
static void keep_spare(struct weiri_table *table, const struct weir_allocator *allocator,
                       struct weiri_chunk *chunk)
{
    struct weiri_chunk *other = table->spare;
    table->spare = other == NULL || chunk < other ? chunk : other;
    if (other != NULL) {
        remove_chunk(table, allocator, chunk < other ? other : chunk);
    }
}

void weiri_table_remove(struct weiri_table *table, const struct weir_allocator *allocator,
                        uint32_t number)
{
    struct weiri_chunk *chunk = table->chunks[(number - 1) / CHUNK_RECORDS];
    struct weiri_record *record = weiri_table_record(table, number);
    remove_slot(table, record->hash, number);
    release_key(allocator, record);
    if (chunk->free == CHUNK_RECORDS) {
        weiri_list_insert_before(table->unfilled.next, &chunk->link);
    }
    record->hash = chunk->free;
    record->size = 0;
    chunk->free = (number - 1) % CHUNK_RECORDS;
    if (--chunk->used == 0) {
        keep_spare(table, allocator, chunk);
    }
    if (table->count == 0 && table->chunk_capacity > CHUNKS_MIN) {
        weiri_table_fini(table, allocator); /* no memory stays after a burst */
        weiri_table_init(table, table->record_size, table->seed);
    } else if (table->capacity > CAPACITY_MIN && table->count < table->capacity / 16) {
        (void)resize(table, allocator, table->capacity / 4);
    }
}

void weiri_table_fini(struct weiri_table *table, const struct weir_allocator *allocator)
{
    for (size_t at = 0; at < table->capacity; at++) {
        if (table->slots[at].number != 0) {
            release_key(allocator, weiri_table_record(table, table->slots[at].number));
        }
    }
    for (uint32_t i = 0; i < table->chunk_capacity; i++) {
        weiri_release(allocator, table->chunks[i], chunk_size(table));
    }
    weiri_release(allocator, table->chunks, table->chunk_capacity * sizeof(*table->chunks));
    weiri_release(allocator, table->slots, table->capacity * sizeof(*table->slots));
}
