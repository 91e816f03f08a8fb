/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TABLE_H
#define WEIRI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/key.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"

/* A hash table from keys to numbered records, with open addressing. A record begins with struct
 * weiri_record; the rest is the user's. Records lie in chunks and do not move. A chunk without
 * records is released, so that memory follows the load. */

#define WEIRI_KEY_INLINE 16u

/* The key of a record: a copy of the bytes, or of the address of an embedded item. */
struct weiri_record {
    uint32_t hash; /* of a free record: the next free one of its chunk */
    uint32_t size; /* of the bytes; WEIRI_SIZE_ITEM: the key is an address */
    union {
        char bytes[WEIRI_KEY_INLINE];
        char *block; /* of more than WEIRI_KEY_INLINE bytes */
    } key;
};

#define WEIRI_SIZE_ITEM UINT32_MAX

struct weiri_slot {
    uint32_t hash;
    uint32_t number; /* of the record, from 1; 0: empty */
};

struct weiri_chunk;

struct weiri_table {
    struct weiri_slot *slots;
    size_t capacity; /* of the slots: a power of two, or 0; at most three quarters are in use */
    size_t count;
    size_t record_size;
    uint64_t seed;

    struct weiri_chunk **chunks; /* NULL: a number without its chunk */
    uint32_t chunk_capacity;
    uint32_t chunk_low;         /* no index below this one is NULL */
    struct weiri_list unfilled; /* chunks with free records */
    struct weiri_chunk *spare;  /* one chunk without records is kept */
};

/* seed is a secret, so that an attacker cannot choose keys that collide. */
void weiri_table_init(struct weiri_table *table, size_t record_size, uint64_t seed);
void weiri_table_fini(struct weiri_table *table, const struct weir_allocator *allocator);

uint32_t weiri_table_hash(const struct weiri_table *table, struct weir_key key);

/* The number of a key's record; 0: there is none. hash is the key's. */
uint32_t weiri_table_find(const struct weiri_table *table, struct weir_key key, uint32_t hash);

/* Makes a record for a key that has none; what follows struct weiri_record is zero. Returns its
 * number; 0: no memory, and nothing changed. */
uint32_t weiri_table_insert(struct weiri_table *table, const struct weir_allocator *allocator,
                            struct weir_key key, uint32_t hash);
void weiri_table_remove(struct weiri_table *table, const struct weir_allocator *allocator,
                        uint32_t number);

/* Prefetches the slot of a record that will soon be removed. */
static inline void weiri_table_prefetch(const struct weiri_table *table,
                                        const struct weiri_record *record)
{
    __builtin_prefetch(&table->slots[record->hash & (table->capacity - 1)], 1);
}

/* The record of a number that is in use. */
void *weiri_table_record(const struct weiri_table *table, uint32_t number);

/* The memory of the record with a number, in use or free; NULL: there is none. */
void *weiri_table_check(const struct weiri_table *table, uint64_t number);

/* The key of a record, readable as long as the record is there. */
struct weir_key weiri_record_key(const struct weiri_record *record);

#endif
