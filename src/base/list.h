/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LIST_H
#define WEIRI_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive doubly-linked list in a circle around its head. All operations take constant time. A
 * link that is in no list points at itself, so that removing twice is harmless and "in a list?" can
 * be asked. */

struct weiri_list {
    struct weiri_list *next;
    struct weiri_list *prev;
};

/* The object of a type whose member is the link. */
#define WEIRI_CONTAINER(link, type, member)                                                        \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void weiri_list_init(struct weiri_list *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool weiri_list_is_empty(const struct weiri_list *link)
{
    return link->next == link;
}

/* Puts a link that is in no list before another: at the tail where that is the head. */
static inline void weiri_list_insert_before(struct weiri_list *at, struct weiri_list *link)
{
    link->next = at;
    link->prev = at->prev;
    at->prev->next = link;
    at->prev = link;
}

static inline void weiri_list_remove(struct weiri_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    weiri_list_init(link);
}

#endif
