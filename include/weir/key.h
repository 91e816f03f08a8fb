/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_KEY_H
#define WEIR_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * What identifies an item of a queue: bytes, or the address of a node in the caller's own object.
 */

/** The node that a caller embeds in its own object to queue the object itself.
 *
 * Zero it (or call weir_item_init()) before first use; after that its contents belong to the queue.
 * It may be freed or moved only while it is idle and not waiting. It gets there, once nobody adds
 * it any more, in two steps: weir_queue_cancel() takes it out of the queue, and its dirty mark and
 * its pending time away; and where a consumer has it in hand, that consumer's done makes it idle.
 * weir_queue_lookup() (weir/snapshot.h) tells whether one has. Who frees it then, its owner or the
 * consumer behind its done, they must agree on between them: the queue does not know.
 *
 * A node is used with one queue at a time: another queue may have it once it is idle and not
 * waiting. Given to another one earlier, it is refused with WEIR_EBUSY by every add and by
 * weir_queue_cancel(), and nothing changes in either queue; so a thread may try until the call of
 * another one has let go of it. That two queues are given an idle one at the same time is a mistake
 * which is not noticed. */
struct weir_item {
    uint64_t weir_position; /**< The queue's. */
    uint32_t weir_place;    /**< The queue's. */
    uint32_t weir_wait;     /**< The queue's. */
    uint32_t weir_slot;     /**< The queue's. */
    uint32_t weir_running;  /**< The queue's. */
};

/** The object of a type in which a node is embedded as that member: what a consumer is handed is
 * WEIR_CONTAINER_OF(work.item, struct host, item). node is a pointer to the member, not NULL. In
 * C++ the type must be of standard layout. */
#define WEIR_CONTAINER_OF(node, type, member)                                                      \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

/** The size that marks a key as the address of a struct weir_item. */
#define WEIR_KEY_ITEM SIZE_MAX

/** No queue or limiter takes longer keys of bytes than this. */
#define WEIR_KEY_SIZE_LIMIT ((size_t)1 << 30)

/** An item's identity. Two keys of bytes are the same item when their bytes are equal; two embedded
 * keys when their addresses are. Passed by value; the bytes are borrowed during the call. */
struct weir_key {
    const void *data; /**< The bytes, or the struct weir_item. May be NULL where size is 0. */
    size_t size;      /**< Count of bytes; WEIR_KEY_ITEM for an embedded item. */
};

/** Makes a node (not NULL) idle. Not needed where its memory is zero. */
static inline void weir_item_init(struct weir_item *item)
{
    memset(item, 0, sizeof(*item));
}

/** The key made of size bytes at data. Any bytes are allowed, also none. */
static inline struct weir_key weir_key_bytes(const void *data, size_t size)
{
    struct weir_key key;
    key.data = data;
    key.size = size;
    return key;
}

/** The key made of the bytes of a string (not NULL) without its NUL. */
static inline struct weir_key weir_key_string(const char *text)
{
    return weir_key_bytes(text, strlen(text));
}

/** The key of an embedded item. */
static inline struct weir_key weir_key_item(struct weir_item *item)
{
    return weir_key_bytes(item, WEIR_KEY_ITEM);
}

WEIR_END_DECLS

#endif
