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
 * What identifies an item of a queue: bytes, or the address of a node of the caller's. */

/** Where an item is. Beside that it may wait for a time. The numbers are part of the ABI. */
enum weir_place {
    WEIR_PLACE_IDLE = 0,       /**< The queue does not know it, or it only waits for its time. */
    WEIR_PLACE_QUEUED = 1,     /**< To be handed out. */
    WEIR_PLACE_PROCESSING = 2, /**< Handed out to a consumer. */
    WEIR_PLACE_DIRTY = 3       /**< The same, and added again meanwhile. */
};

/** The node that a caller embeds in its own object to queue the object itself.
 *
 * Zero it (or call weir_item_init()) before first use; after that its contents belong to the queue.
 * It may be freed or moved only while it is idle and not waiting, which weir_queue_lookup()
 * (weir/snapshot.h) tells. Once nobody adds it any more, weir_queue_cancel() makes it so, or,
 * of one that a consumer is processing, that consumer's done after the cancel: without a cancel the
 * done may queue it again. The owner and the consumer agree on which
 * of them frees the object then: the queue does not know.
 *
 * A node is used with one queue at a time. Until it is idle and not waiting, every add to another
 * queue and weir_queue_cancel() of it there are refused with WEIR_EBUSY, so that a thread may try
 * again until the first queue has released it. Giving an idle node to two queues at the same moment
 * is a mistake that is not noticed. */
struct weir_item {
    uintptr_t weir_word;             /**< The queue's. */
    uint32_t weir_wait;              /**< The queue's. */
    uint32_t weir_record;            /**< The queue's. */
    int32_t weir_priority;           /**< The queue's. */
    int32_t weir_asked;              /**< The queue's. */
    uint64_t weir_position;          /**< The queue's. */
    struct weir_item *weir_next;     /**< The queue's. */
    struct weir_item *weir_previous; /**< The queue's. */
    int64_t weir_queued_ns;          /**< The queue's. */
    int64_t weir_running_ns;         /**< The queue's. */
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
 * keys when their addresses are. Passed by value; the bytes are borrowed during the call. A key of
 * more bytes than the queue or limiter takes is WEIR_ETOOBIG, whatever data is. Else these are
 * WEIR_EINVAL: bytes at NULL, unless their count is 0; an embedded item at NULL or at an address
 * that is not aligned. */
struct weir_key {
    const void *data; /**< The bytes, or the struct weir_item. May be NULL where size is 0. */
    size_t size;      /**< Count of bytes; WEIR_KEY_ITEM for an embedded item. */
};

/** Makes a node (not NULL) idle. Not needed where its memory is zero. */
static inline void weir_item_init(struct weir_item *item)
{
    memset(item, 0, sizeof(*item));
}

/** The key made of size bytes at data; any bytes, also none. A size of SIZE_MAX, such as that of a
 * length that could not be computed, makes a key that every call refuses with WEIR_ETOOBIG. */
static inline struct weir_key weir_key_bytes(const void *data, size_t size)
{
    struct weir_key key;
    key.data = data;
    key.size = size < WEIR_KEY_ITEM ? size : WEIR_KEY_ITEM - 1;
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
    struct weir_key key;
    key.data = item;
    key.size = WEIR_KEY_ITEM;
    return key;
}

WEIR_END_DECLS

#endif
