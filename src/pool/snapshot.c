/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The envelopes in flight: all, or one by its id. */

#include <weir/pool_snapshot.h>

#include <weir/snapshot.h>

#include "base/alloc.h"
#include "pool/recur.h"

/* A snapshot's block. */
struct block {
    struct weir_pool_snapshot snapshot; /* first: a pointer to it is one to the block */
    struct weir_allocator allocator;
    size_t size; /* of the block */
    struct weir_pool_item items[];
};

/* A walk through the envelopes in flight. It copies all, or finds the one with an id. */
struct walk {
    struct weir_pool_item *items; /* has space for all; NULL: only finds */
    size_t count;
    uint64_t id;
    weir_envelope *found;
};

static struct weir_pool_item describe_locked(weir_pool *pool,
                                             weir_envelope *envelope) WEIRI_POOL_LOCKED
{
    struct weir_snapshot_item item;
    weiri_core_describe(&pool->core, &envelope->item, pool->now_ns, &item);
    return (struct weir_pool_item){
        .envelope = weir_envelope_ref(envelope),
        .due_ns = item.due_ns,
        .firing_ns = weiri_recur_next_firing(envelope),
        .queued_ns = item.queued_ns,
        .running_ns = item.running_ns,
        .runs = envelope->runs,
        .failures = envelope->failures,
        .place = (uint32_t)item.place,
        .last_status = envelope->last_status,
    };
}

static void visit(weir_pool *pool, struct walk *walk, weir_envelope *envelope) WEIRI_POOL_LOCKED
{
    if (walk->items != NULL) {
        walk->items[walk->count++] = describe_locked(pool, envelope);
    } else if (envelope->options.id == walk->id) {
        walk->found = envelope;
    }
}

/* Those that run come first, then those that are queued, then those that only wait. */
static void visit_all(weir_pool *pool, struct walk *walk) WEIRI_POOL_LOCKED
{
    struct weiri_core *core = &pool->core;
    struct weir_item *item;
    for (item = core->first_processing; item != NULL; item = item->weir_next) {
        visit(pool, walk, weiri_envelope_of(item));
    }
    for (struct weiri_list *link = pool->aside.next; link != &pool->aside; link = link->next) {
        visit(pool, walk, WEIRI_CONTAINER(link, struct weiri_member, aside_link)->envelope);
    }
    uint64_t position = core->ring.head;
    while ((item = weiri_ring_next(&core->ring, &position)) != NULL) {
        visit(pool, walk, weiri_envelope_of(item));
    }
    for (size_t i = 0; i < core->waiting.count; i++) {
        item = core->waiting.entries[i].item;
        if (weiri_item_place(item) == WEIR_PLACE_IDLE) {
            visit(pool, walk, weiri_envelope_of(item));
        }
    }
}

/* Has space for all, and for some that may be sent meanwhile; NULL: out of memory. */
static struct block *make_block(const struct weir_allocator *allocator, size_t count)
{
    size_t size = sizeof(struct block) + (count + count / 8 + 8) * sizeof(struct weir_pool_item);
    struct block *block = weiri_alloc(allocator, size);
    if (block != NULL) {
        *block = (struct block){{block->items, 0}, *allocator, size};
    }
    return block;
}

static bool has_space(const struct block *block, size_t count)
{
    return (block->size - sizeof(*block)) / sizeof(block->items[0]) >= count;
}

enum weir_status weir_pool_snapshot_new(weir_pool *pool, struct weir_pool_snapshot **ret_snapshot)
{
    enum weir_status status = ret_snapshot == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    struct block *block = NULL;
    weiri_pool_lock(pool);
    while (block == NULL || !has_space(block, pool->core.held)) {
        size_t count = pool->core.held;
        weiri_pool_unlock(pool);
        weir_pool_snapshot_free((struct weir_pool_snapshot *)block);
        block = make_block(&pool->options.allocator, count);
        if (block == NULL) {
            return WEIR_ENOMEM;
        }
        weiri_pool_lock(pool);
    }
    struct walk walk = {.items = block->items};
    visit_all(pool, &walk);
    weiri_pool_unlock(pool);
    block->snapshot.count = walk.count;
    *ret_snapshot = &block->snapshot;
    return WEIR_OK;
}

enum weir_status weir_pool_lookup(weir_pool *pool, uint64_t id, struct weir_pool_item *ret_item)
{
    enum weir_status status = ret_item == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    struct walk walk = {.id = id};
    weiri_pool_lock(pool);
    visit_all(pool, &walk);
    if (walk.found != NULL) {
        *ret_item = describe_locked(pool, walk.found);
    }
    weiri_pool_unlock(pool);
    return walk.found != NULL ? WEIR_OK : WEIR_ENOTFOUND;
}

void weir_pool_snapshot_free(struct weir_pool_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        weir_envelope_unref(snapshot->items[i].envelope);
    }
    struct block *block = (struct block *)snapshot;
    struct weir_allocator allocator = block->allocator;
    weiri_release(&allocator, block, block->size);
}
