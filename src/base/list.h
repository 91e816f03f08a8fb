/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LIST_H
#define WEIRI_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive circular doubly-linked list with a head. All operations take constant time. A link
 * that is in no list points at itself, so removing it twice is harmless and weiri_list_is_empty()
 * shows whether it is in a list. */

struct weiri_list {
    struct weiri_list *next;
    struct weiri_list *prev;
};

/* The object that contains the link as a member. */
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

/* Inserts a link, which is in no list, before another. Before the head is the tail. */
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

/* Moves all of a list to the end of another. */
static inline void weiri_list_move(struct weiri_list *from, struct weiri_list *to)
{
    while (!weiri_list_is_empty(from)) {
        struct weiri_list *link = from->next;
        weiri_list_remove(link);
        weiri_list_insert_before(to, link);
    }
}

#endif
