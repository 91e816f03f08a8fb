/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The moves of many items at once. */

#include "queue/core.h"

#include "queue/moves.h"
#include "queue/quick.h"

bool weiri_core_has_capacity(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    size_t room = core->is_room_kept ? 0 : core->capacity - weiri_core_held(core);
    if (core->capacity == 0 || count <= room) {
        return true;
    }
    size_t entering = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (weiri_item_is_free(item) && item->weir_running == 0) {
            item->weir_running = 1; /* a mark: a free item has no other use for it */
            entering++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (weiri_item_is_free(item)) {
            item->weir_running = 0;
        }
    }
    return entering <= room;
}

bool weiri_core_could_hold(const struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    if (core->capacity == 0 || count <= core->capacity) {
        return true;
    }
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        distinct += item->weir_slot == 0;
        item->weir_slot = 1; /* a mark: an embedded item has no other use for it */
    }
    for (size_t i = 0; i < count; i++) {
        weiri_core_find(core, keys[i])->weir_slot = 0;
    }
    return distinct <= core->capacity;
}

/* Takes back the interning of the first count keys. */
static void release_batch(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (item != NULL) {
            weiri_core_release_unused(core, item);
        }
    }
}

enum weir_status weiri_core_add_batch(struct weiri_core *core, const struct weir_key *keys,
                                      size_t count, bool *ret_were_queued)
{
    if (weiri_core_reserve(core, count) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_intern(core, keys[i]);
        if (item == NULL || weiri_item_is_elsewhere(item, core->mark)) {
            release_batch(core, keys, i);
            return item == NULL ? WEIR_ENOMEM : WEIR_EBUSY;
        }
    }
    if (!weiri_core_has_capacity(core, keys, count)) {
        release_batch(core, keys, count);
        return WEIR_EFULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        int32_t asked = 0;
        if (item->weir_wait != 0) {
            core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
            asked = core->supersedes ? weiri_core_take_time(core, item) : 0;
        }
        if (ret_were_queued != NULL) {
            ret_were_queued[i] = weiri_item_place(item) == WEIRI_QUEUED;
        }
        weiri_core_enqueue(core, item, asked < 0 ? asked : 0);
    }
    return WEIR_OK;
}

/* The quick ones work on copies of what they change at each step, which can stay in registers: a
 * store to an item might, for all that the compiler knows, be one to the core. */

/* The item of a key that may be any but an embedded one; NULL: it is not valid, or there is no
 * memory. */
static WEIRI_NOINLINE struct weir_item *intern_bytes(struct weiri_core *core, struct weir_key key,
                                                     size_t key_size_max)
{
    bool is_valid = key.size <= key_size_max && (key.data != NULL || key.size == 0);
    return is_valid ? weiri_table_intern(&core->table, &core->allocator, key) : NULL;
}

/* Queues what lies in the ring behind its tail, count items, which may be there more than once.
 * Those that were free stay where they lie, up to the first that was not. From there on an item
 * moves only towards the tail, over others that have moved. */
static void queue_gathered(struct weiri_core *core, size_t count)
{
    struct weiri_ring ring = core->ready.ring;
    const uint32_t mark = core->mark;
    const uint64_t end = ring.tail + count;
    size_t dirty = 0;
    for (; ring.tail != end; ring.tail++) {
        struct weir_item *item = ring.slots[ring.tail & (ring.capacity - 1)];
        if (!WEIRI_LIKELY(weiri_item_is_free(item))) {
            break;
        }
        weiri_item_set(item, mark, WEIRI_QUEUED);
        item->weir_position = ring.tail;
    }
    for (uint64_t at = ring.tail; at != end; at++) {
        struct weir_item *item = ring.slots[at & (ring.capacity - 1)];
        if (WEIRI_LIKELY(weiri_item_is_free(item))) {
            weiri_item_set(item, mark, WEIRI_QUEUED);
            weiri_ring_put(&ring, item);
        } else if (weiri_item_place(item) == WEIRI_PROCESSING) {
            weiri_item_set(item, mark, WEIRI_DIRTY);
            dirty++;
        }
    }
    core->ready.ring.tail = ring.tail;
    core->dirty += dirty;
}

/* Adds keys for which there is room. */
static bool gather(struct weiri_core *core, const struct weir_key *keys, size_t count,
                   size_t key_size_max)
{
    const struct weiri_ring ring = core->ready.ring;
    /* What can be refused comes first: the items are put into the ring behind its tail, and no
     * place is changed, for adds that look at an item without the lock must not take it to be
     * queued before that is certain. */
    const uint32_t mark = core->mark;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = WEIRI_LIKELY(weiri_key_is_item(keys[i]))
                                     ? (struct weir_item *)(uintptr_t)keys[i].data
                                     : intern_bytes(core, keys[i], key_size_max);
        if (item == NULL || weiri_item_is_elsewhere(item, mark)) {
            release_batch(core, keys, i);
            return false;
        }
        ring.slots[(ring.tail + i) & (ring.capacity - 1)] = item;
    }
    queue_gathered(core, count);
    return true;
}

/* Adds keys for which there is room up to the first that is not that of a free embedded item; how
 * many. Nobody else may see it, for the rest may be refused. */
static size_t queue_free_ones(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    struct weiri_ring ring = core->ready.ring;
    const uint32_t mark = core->mark;
    size_t i = 0;
    for (; i < count && weiri_key_is_item(keys[i]); i++) {
        struct weir_item *item = (struct weir_item *)(uintptr_t)keys[i].data;
        if (weiri_item_word_to_take(item) != 0) {
            break;
        }
        weiri_item_set(item, mark, WEIRI_QUEUED);
        weiri_ring_put(&ring, item);
    }
    core->ready.ring.tail = ring.tail;
    return i;
}

/* Takes the last count items out of the ring, which were free. */
static void take_back(struct weiri_core *core, size_t count)
{
    struct weiri_ring *ring = &core->ready.ring;
    for (; count > 0; count--) {
        ring->tail--;
        weiri_item_free(ring->slots[ring->tail & (ring->capacity - 1)]);
    }
}

bool weiri_quick_add_batch(struct weiri_core *core, const struct weir_key *keys, size_t count,
                           size_t key_size_max, bool is_unseen)
{
    const struct weiri_ring *ring = &core->ready.ring;
    const size_t room = ring->capacity - (size_t)(ring->tail - ring->head);
    if (count > room || core->dirty > room - count) {
        return false;
    }
    const size_t queued = is_unseen ? queue_free_ones(core, keys, count) : 0;
    if (queued < count && !gather(core, keys + queued, count - queued, key_size_max)) {
        take_back(core, queued);
        return false;
    }
    return true;
}

/* Compiled twice, by a constant: is_simple where all items are embedded, none is far off, there is
 * no hole and there are at least so many. */
WEIRI_INLINE size_t next_batch(struct weiri_core *core, struct weir_work *ret_work, size_t most,
                               const bool is_simple)
{
    struct weiri_ring ring = core->ready.ring;
    struct weiri_running running = core->running;
    const uint32_t mark = core->mark;
    uint64_t ticket = core->last_ticket;
    size_t count = 0;
    while (count < most && (is_simple || ring.head != ring.tail)) {
        struct weir_item *item = ring.slots[ring.head++ & (ring.capacity - 1)];
        if (!is_simple && item == NULL) {
            ring.holes--;
            continue;
        }
        if (!is_simple) {
            weiri_core_look_ahead(core, &ring);
        }
        weiri_item_set(item, mark, WEIRI_PROCESSING);
        item->weir_position = ++ticket;
        weiri_running_put(&running, item);
        if (is_simple) {
            ret_work[count++] = (struct weir_work){weir_key_item(item), item, ticket, 0};
        } else {
            weiri_core_describe(item, ticket, &ret_work[count++]);
        }
    }
    core->ready.ring.head = ring.head;
    core->ready.ring.holes = ring.holes;
    core->running.named = running.named;
    core->last_ticket = ticket;
    return count;
}

size_t weiri_quick_next_batch(struct weiri_core *core, struct weir_work *ret_work, size_t size)
{
    const size_t room = core->running.capacity - core->running.named;
    const size_t most = size < room ? size : room;
    const size_t there = core->ready.ring.tail - core->ready.ring.head;
    bool is_simple =
        core->table.slots.used == 0 && core->ready.ring.holes == 0 && there <= size + WEIRI_AHEAD;
    return is_simple ? next_batch(core, ret_work, there < most ? there : most, true)
                     : next_batch(core, ret_work, most, false);
}

/* Ends the use of a keyed item. */
static WEIRI_NOINLINE void release_bytes(struct weiri_core *core, struct weir_item *item)
{
    weiri_table_remove(&core->table, &core->allocator, item);
}

/* Compiled twice, by a constant: is_simple where all items are embedded. */
WEIRI_INLINE size_t done_batch(struct weiri_core *core, const struct weir_work *work, size_t count,
                               const bool is_simple)
{
    struct weiri_running running = core->running;
    const uint32_t processing = core->mark | WEIRI_PROCESSING;
    size_t left = count;
    for (; left > 0; left--) {
        const struct weir_work *last = &work[left - 1];
        struct weir_item *item = is_simple ? last->item : weiri_core_find_work(core, last);
        if (item == NULL || weiri_item_word(item) != processing ||
            item->weir_position != last->ticket || item->weir_running >= running.named) {
            break;
        }
        weiri_running_take(&running, item);
        weiri_item_free(item);
        if (!is_simple && last->item == NULL) {
            release_bytes(core, item);
        }
    }
    core->running.named = running.named;
    return left;
}

size_t weiri_quick_done_batch(struct weiri_core *core, const struct weir_work *work, size_t count)
{
    const size_t left = core->table.slots.used == 0 ? done_batch(core, work, count, true)
                                                    : done_batch(core, work, count, false);
    weiri_running_trim(&core->running, &core->allocator);
    weiri_ready_trim(&core->ready, &core->allocator, weiri_core_obligations(core));
    return left;
}
