/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* test_allocator(): each block stands between a head, which is in a list of all blocks, and a tail
 * of bytes that must not change. */

#define ALIVE UINT64_C(0x616c697665626c6b)
#define DEAD UINT64_C(0x6465616462626c6b)
#define FRESH_BYTE 0xa5
#define FREED_BYTE 0xdd
#define TAIL_BYTE 0x5e
#define TAIL_SIZE 16

struct head {
    struct head *next;
    struct head *prev;
    size_t size;
    uint64_t number; /* the number of the allocation, from 1 */
    uint64_t mark;
    uint64_t padding; /* the block behind the head is aligned as malloc's */
};
_Static_assert(sizeof(struct head) % _Alignof(max_align_t) == 0, "blocks must be aligned");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by the mutex. */
static struct head blocks = {.next = &blocks, .prev = &blocks};
static size_t block_count;
static size_t byte_count;
static uint64_t allocation_count;
static uint64_t fail_at; /* the number of the allocation to fail; 0: none */
static bool fail_sticky;

static void lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

void test_fail_allocation(uint64_t nth, bool sticky)
{
    lock();
    fail_at = nth == 0 ? 0 : allocation_count + nth;
    fail_sticky = sticky;
    unlock();
}

void harness_memory_init(uint64_t fail_nth, bool sticky)
{
    lock();
    allocation_count = 0;
    unlock();
    atomic_store(&harness_report->allocations, 0);
    atomic_store(&harness_report->alloc_failed, false);
    test_fail_allocation(fail_nth, sticky);
}

/* Counts an allocation; true when it is to fail. */
static bool fails_locked(void)
{
    allocation_count++;
    atomic_store_explicit(&harness_report->allocations, allocation_count, memory_order_relaxed);
    bool fails = fail_at != 0 &&
                 (allocation_count == fail_at || (fail_sticky && allocation_count > fail_at));
    if (fails) {
        atomic_store(&harness_report->alloc_failed, true);
    }
    return fails;
}

static void *checked_alloc(size_t size, void *arg)
{
    (void)arg;
    if (size == 0) {
        test_fail(__FILE__, __LINE__, "allocation of 0 bytes");
    }
    struct head *head = NULL;
    lock();
    bool fails = fails_locked();
    uint64_t number = allocation_count;
    unlock();
    if (!fails && size < SIZE_MAX / 2) {
        head = malloc(sizeof(*head) + size + TAIL_SIZE);
    }
    if (head == NULL) {
        return NULL;
    }
    unsigned char *block = (unsigned char *)(head + 1);
    memset(block, FRESH_BYTE, size);
    memset(block + size, TAIL_BYTE, TAIL_SIZE);
    head->size = size;
    head->number = number;
    head->mark = ALIVE;
    lock();
    head->next = &blocks;
    head->prev = blocks.prev;
    blocks.prev->next = head;
    blocks.prev = head;
    block_count++;
    byte_count += size;
    unlock();
    return block;
}

static struct head *head_of(void *block, size_t size)
{
    struct head *head = (struct head *)block - 1;
    if (head->mark != ALIVE) {
        test_fail(__FILE__, __LINE__, "%p given back is %s", block,
                  head->mark == DEAD ? "free already" : "no block of test_allocator()");
    }
    if (head->size != size) {
        test_fail(__FILE__, __LINE__, "allocation %llu of %zu bytes given back as %zu bytes",
                  (unsigned long long)head->number, head->size, size);
    }
    const unsigned char *tail = (const unsigned char *)block + size;
    for (size_t i = 0; i < TAIL_SIZE; i++) {
        if (tail[i] != TAIL_BYTE) {
            test_fail(__FILE__, __LINE__, "allocation %llu: byte %zu behind its %zu was written",
                      (unsigned long long)head->number, i + 1, size);
        }
    }
    return head;
}

static void checked_release(void *block, size_t size, void *arg)
{
    (void)arg;
    if (block == NULL) {
        test_fail(__FILE__, __LINE__, "NULL given back");
    }
    struct head *head = head_of(block, size);
    lock();
    head->next->prev = head->prev;
    head->prev->next = head->next;
    block_count--;
    byte_count -= size;
    unlock();
    head->mark = DEAD;
    memset(block, FREED_BYTE, size);
    /* Keeps the compiler from leaving out writes to memory that is about to be freed. */
    __asm__ volatile("" : : "r"(head) : "memory");
    free(head);
}

/* Always moves, so that a pointer kept to the old place is found out. */
static void *checked_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    if (block == NULL) {
        test_fail(__FILE__, __LINE__, "resize of NULL");
    }
    (void)head_of(block, old_size);
    void *moved = checked_alloc(new_size, arg);
    if (moved != NULL) {
        memcpy(moved, block, old_size < new_size ? old_size : new_size);
        checked_release(block, old_size, arg);
    }
    return moved;
}

const struct weir_allocator *test_allocator(void)
{
    static const struct weir_allocator allocator = {checked_alloc, checked_resize, checked_release,
                                                    NULL};
    return &allocator;
}

size_t test_allocated_blocks(void)
{
    lock();
    size_t count = block_count;
    unlock();
    return count;
}

size_t test_allocated_bytes(void)
{
    lock();
    size_t count = byte_count;
    unlock();
    return count;
}

void harness_memory_check(void)
{
    lock();
    unsigned shown = 0;
    for (struct head *head = blocks.next; head != &blocks && shown < 10; head = head->next) {
        (void)dprintf(STDERR_FILENO, "left: allocation %llu, %zu bytes\n",
                      (unsigned long long)head->number, head->size);
        shown++;
    }
    size_t count = block_count;
    size_t bytes = byte_count;
    unlock();
    if (count != 0) {
        test_fail(__FILE__, __LINE__, "%zu blocks of test_allocator() are left, %zu bytes", count,
                  bytes);
    }
}
