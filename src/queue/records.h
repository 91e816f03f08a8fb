/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RECORDS_H
#define WEIRI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/blocks.h"
#include "base/hash.h"
#include "base/sync.h"
#include "queue/item.h"

/* The memory of keyed items. A record holds an item and its key; short keys lie in the record,
 * longer ones in a block of their own. Records come in chunks and have an index that stays valid
 * while they live, so that 32 bits name one. An index that names no record in use leads to a free
 * item or to none, which makes a consumer's stale handle harmless. A chunk without records is
 * given back (one is kept in reserve); where there are many, they lie in larger blocks.
 *
 * What adds look at without the lock (queue/view.h) changes by stores that are each a release: the
 * pointers to chunks, a record's key and its size. */

#define WEIRI_RECORD_INLINE 16
#define WEIRI_RECORD_FREE UINT32_MAX

/* The item of a record that is not in use is a free one, with its slot, so that taking the record
 * into use need not touch it. */
struct weiri_record {
    struct weir_item item;
    uint32_t hash;
    uint32_t key_size; /* WEIRI_RECORD_FREE: not in use; then what follows is a link, if anything */
    union {
        char bytes[WEIRI_RECORD_INLINE];
        struct weiri_words words; /* the same, with zeros behind the key */
        char *block;
        uint64_t next_free; /* in a record that is not in use */
    } key;
};

#define WEIRI_CHUNK_BITS 7
#define WEIRI_CHUNK_RECORDS (1u << WEIRI_CHUNK_BITS)

/* Links are 1 + index; 0: none. Chunks that hold records and have room for more form a
 * doubly-linked list, so that any of them can leave it; those that hold none form a list of their
 * own, linked by next. */
struct weiri_chunk {
    uint32_t used;
    uint32_t free_record; /* within the chunk */
    uint32_t next;
    uint32_t previous;
    struct weiri_record records[WEIRI_CHUNK_RECORDS];
};

/* A place where a look without the lock may come between (queue/view.h): for the explorer, where
 * such looks are what a scenario is about. */
#ifdef WEIRI_EXPLORER
extern bool weiri_records_are_stepped;
static inline void weiri_records_step(void)
{
    if (weiri_records_are_stepped) {
        weiri_sync_point();
    }
}
#else
#    define weiri_records_step() ((void)0)
#endif

/* What a key is looked for by. */
struct weiri_sought {
    struct weiri_words words; /* of a short key */
    uint32_t hash;
};

static inline struct weiri_sought weiri_sought(uint64_t seed, struct weir_key key)
{
    struct weiri_sought sought = {{0, 0}, 0};
    if (key.size <= WEIRI_RECORD_INLINE) {
        sought.words = weiri_words(key.data, key.size);
        sought.hash = (uint32_t)(weiri_hash_words(sought.words, key.size, seed) >> 32);
    } else {
        sought.hash = (uint32_t)(weiri_hash(key.data, key.size, seed) >> 32);
    }
    return sought;
}

struct weiri_records {
    struct weiri_chunk **chunks; /* NULL: an index that has no chunk now, or never had one */
    uint32_t chunk_count;        /* in use of the array */
    uint32_t chunk_capacity;
    uint32_t with_room;     /* first of the chunks with records and with room; 0: none */
    uint32_t without_chunk; /* no index below this one lacks its chunk */
    uint32_t empties;       /* first of the chunks without records, of which one is kept; 0: none */
    size_t count;           /* records in use */
    struct weiri_record
        *spare; /* the one freed last, if nothing came since; for its chunk in use */
    struct weiri_blocks blocks; /* where chunks lie, by their index */
    struct weiri_view *view;    /* NULL: nobody looks without the lock */
};

/* A record for the key, its item free; NULL for lack of memory. */
struct weiri_record *weiri_records_new(struct weiri_records *records,
                                       const struct weir_allocator *allocator, struct weir_key key,
                                       const struct weiri_sought *sought);
void weiri_records_free(struct weiri_records *records, const struct weir_allocator *allocator,
                        struct weiri_record *record);
/* Frees every record. */
void weiri_records_fini(struct weiri_records *records, const struct weir_allocator *allocator);

/* The record of an index that is known to be in use. */
static inline struct weiri_record *weiri_records_at(const struct weiri_records *records,
                                                    uint32_t index)
{
    return &records->chunks[index >> WEIRI_CHUNK_BITS]->records[index & (WEIRI_CHUNK_RECORDS - 1)];
}

/* The record of an index that a caller brought, whose item is free where it is not in use; NULL
 * where there is none. */
static inline struct weiri_record *weiri_records_check(const struct weiri_records *records,
                                                       uint64_t index)
{
    uint64_t chunk_index = index >> WEIRI_CHUNK_BITS;
    if (chunk_index >= records->chunk_count) {
        return NULL;
    }
    struct weiri_chunk *chunk = records->chunks[chunk_index];
    return chunk != NULL ? &chunk->records[index & (WEIRI_CHUNK_RECORDS - 1)] : NULL;
}

static inline uint32_t weiri_record_index(const struct weiri_record *record)
{
    return record->item.weir_slot - 1;
}

static inline const void *weiri_record_key(const struct weiri_record *record)
{
    return record->key_size <= WEIRI_RECORD_INLINE ? record->key.bytes : record->key.block;
}

/* Takes a record into use for a key that lies in it. The size comes last: who finds it finds the
 * key. */
static inline void weiri_record_name(struct weiri_record *record, size_t size,
                                     const struct weiri_sought *sought)
{
    record->hash = sought->hash;
    weiri_records_step();
    __atomic_store_n(&record->key.words.first, sought->words.first, __ATOMIC_RELEASE);
    weiri_records_step();
    __atomic_store_n(&record->key.words.second, sought->words.second, __ATOMIC_RELEASE);
    weiri_records_step();
    __atomic_store_n(&record->key_size, (uint32_t)size, __ATOMIC_RELEASE);
}

/* The record is not in use any more. */
static inline void weiri_record_unname(struct weiri_record *record)
{
    weiri_records_step();
    __atomic_store_n(&record->key_size, WEIRI_RECORD_FREE, __ATOMIC_RELEASE);
}

static inline void weiri_record_link_free(struct weiri_record *record, uint32_t next)
{
    weiri_records_step();
    __atomic_store_n(&record->key.next_free, (uint64_t)next, __ATOMIC_RELEASE);
}

/* weiri_records_new() of a key that lies in the record kept at hand, which there must be. */
static inline struct weiri_record *weiri_records_new_spare(struct weiri_records *records,
                                                           size_t size,
                                                           const struct weiri_sought *sought)
{
    struct weiri_record *record = records->spare;
    records->spare = NULL;
    records->count++;
    weiri_record_name(record, size, sought);
    return record;
}

/* weiri_records_new() of a key that lies in the record, where that takes no call; NULL elsewhere.
 */
static inline struct weiri_record *weiri_records_new_quick(struct weiri_records *records,
                                                           size_t size,
                                                           const struct weiri_sought *sought)
{
    if (records->spare != NULL) {
        return weiri_records_new_spare(records, size, sought);
    }
    if (records->with_room == 0) {
        return NULL;
    }
    struct weiri_chunk *chunk = records->chunks[records->with_room - 1];
    struct weiri_record *record = &chunk->records[chunk->free_record - 1];
    if (record->key.next_free == 0) {
        return NULL; /* it would be full */
    }
    chunk->used++;
    chunk->free_record = (uint32_t)record->key.next_free;
    records->count++;
    weiri_record_name(record, size, sought);
    return record;
}

/* Keeps a record of a key that lies in it, which is not needed any more, at hand. */
static inline void weiri_records_keep(struct weiri_records *records, struct weiri_record *record)
{
    records->spare = record;
    weiri_record_unname(record);
    records->count--;
}

/* weiri_records_free() where that takes no call; false, and nothing changed, elsewhere. Of two
 * that are left in a chunk one may be the spare record, which must not keep it for itself. */
static inline bool weiri_records_free_quick(struct weiri_records *records,
                                            struct weiri_record *record)
{
    if (record->key_size > WEIRI_RECORD_INLINE) {
        return false;
    }
    if (records->spare == NULL) {
        weiri_records_keep(records, record);
        return true;
    }
    uint32_t index = weiri_record_index(record);
    struct weiri_chunk *chunk = records->chunks[index >> WEIRI_CHUNK_BITS];
    if (chunk->used <= 2 || chunk->free_record == 0) {
        return false;
    }
    chunk->used--;
    weiri_record_unname(record);
    weiri_record_link_free(record, chunk->free_record);
    chunk->free_record = (index & (WEIRI_CHUNK_RECORDS - 1)) + 1;
    records->count--;
    return true;
}

#endif
