/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_BOOKS_H
#define WEIR_TEST_BOOKS_H

#include <weir/queue.h>
#include <weir/snapshot.h>

#include "stress/rounds.h"

/* What the stress of the queue writes down to judge it by.
 *
 * Whoever adds an item writes a number of its own into it before, and remembers the number when the
 * add was accepted. Each processing reads all numbers at its beginning. So an add is followed by a
 * processing that began after it exactly if the number, or a later one, was read in the end.
 * The numbers are read and written relaxed, without a locked instruction: nothing but the queue
 * makes them seen. */

#define PRODUCERS 8u
#define WORKERS 8u
#define WRITERS (PRODUCERS + WORKERS + 1) /* the last one is the test's own thread */
#define ITEMS 1000u
#define NAME_MAX_SIZE 64u

struct subject {
    struct weir_item item; /* first: their addresses are the same */
    size_t name_size;
    unsigned char name[NAME_MAX_SIZE]; /* its key where items are named; begins with its index */
    _Atomic uint32_t written[WRITERS];
    uint32_t seen[WRITERS]; /* by the latest processing; as the next, only the queue orders them */
    uint64_t runs;
    _Atomic uint32_t worker;   /* 1 + the writer who processes it; 0: nobody */
    atomic_bool is_taken_back; /* by a cancel, and could not be added again */
};

struct writer {
    unsigned id;
    uint64_t random;
    uint32_t written[ITEMS];
    uint32_t accepted[ITEMS]; /* the latest number that must be seen */
    uint64_t adds[ITEMS];     /* that were accepted */
};

static struct {
    struct subject subjects[ITEMS];
    struct writer writers[WRITERS];
    bool is_keyed;
} books;

static inline void books_init(bool is_keyed)
{
    memset(&books, 0, sizeof(books));
    books.is_keyed = is_keyed;
    for (unsigned i = 0; i < WRITERS; i++) {
        books.writers[i].id = i;
        books.writers[i].random = test_random();
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        struct subject *subject = &books.subjects[i];
        subject->name_size = sizeof(i) + i % (NAME_MAX_SIZE - sizeof(i) + 1);
        memcpy(subject->name, &i, sizeof(i));
    }
}

static inline struct weir_key books_key(unsigned index)
{
    struct subject *subject = &books.subjects[index];
    return books.is_keyed ? weir_key_bytes(subject->name, subject->name_size)
                          : weir_key_item(&subject->item);
}

/* One call in four is about a few items. */
static inline unsigned books_choose(struct writer *writer)
{
    return (unsigned)below(&writer->random, one_in(&writer->random, 4) ? 16 : ITEMS);
}

static inline unsigned books_index(struct weir_key key)
{
    unsigned index;
    if (books.is_keyed) {
        CHECK(key.size >= sizeof(index) && key.size <= NAME_MAX_SIZE);
        memcpy(&index, key.data, sizeof(index));
        CHECK_INT(index, <, ITEMS);
        CHECK_INT(key.size, ==, books.subjects[index].name_size);
        CHECK(memcmp(key.data, books.subjects[index].name, key.size) == 0);
    } else {
        CHECK_INT(key.size, ==, WEIR_KEY_ITEM);
        index = (unsigned)((const struct subject *)key.data - books.subjects);
        CHECK(index < ITEMS && key.data == &books.subjects[index]);
    }
    return index;
}

/* Before an add. */
static inline void books_write(struct writer *writer, unsigned index)
{
    uint32_t number = ++writer->written[index];
    atomic_store_explicit(&books.subjects[index].written[writer->id], number, memory_order_relaxed);
}

/* After an add that was accepted; must_run: nothing may take it back any more. */
static inline void books_accept(struct writer *writer, unsigned index, bool must_run)
{
    writer->adds[index]++;
    if (must_run) {
        writer->accepted[index] = writer->written[index];
    }
}

/* The two ends of a processing. */
static inline struct subject *books_begin(struct writer *writer, struct weir_key key)
{
    struct subject *subject = &books.subjects[books_index(key)];
    for (unsigned i = 0; i < WRITERS; i++) {
        uint32_t number = atomic_load_explicit(&subject->written[i], memory_order_relaxed);
        CHECK_INT(number, >=, subject->seen[i]);
        subject->seen[i] = number;
    }
    CHECK_INT(atomic_load_explicit(&subject->worker, memory_order_relaxed), ==, 0);
    atomic_store_explicit(&subject->worker, writer->id + 1, memory_order_relaxed);
    subject->runs++;
    return subject;
}

static inline void books_finish(struct writer *writer, struct subject *subject)
{
    CHECK_INT(atomic_load_explicit(&subject->worker, memory_order_relaxed), ==, writer->id + 1);
    atomic_store_explicit(&subject->worker, 0, memory_order_relaxed);
}

/* At any moment each item is listed once at most, and none for no reason. */
static inline void books_check_snapshot(weir_queue *queue)
{
    bool is_listed[ITEMS] = {false};
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(queue, &snapshot), WEIR_OK);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct weir_snapshot_item *item = &snapshot->items[i];
        unsigned index = books_index(item->key);
        CHECK(!is_listed[index]);
        is_listed[index] = true;
        CHECK(item->place != WEIR_PLACE_IDLE || item->due_ns >= 0);
    }
    weir_snapshot_free(snapshot);
}

/* When all threads have ended: every add that must run did, and nothing ran without one. Returns
 * the count of processings. */
static inline uint64_t books_check(void)
{
    uint64_t runs = 0;
    for (unsigned index = 0; index < ITEMS; index++) {
        struct subject *subject = &books.subjects[index];
        uint64_t adds = 0;
        for (unsigned i = 0; i < WRITERS; i++) {
            struct writer *writer = &books.writers[i];
            adds += writer->adds[index];
            if (!atomic_load(&subject->is_taken_back)) {
                CHECK_INT(subject->seen[i], >=, writer->accepted[index]);
            }
        }
        CHECK_INT(subject->runs, <=, adds);
        CHECK_INT(atomic_load(&subject->worker), ==, 0);
        runs += subject->runs;
    }
    return runs;
}

#endif
