/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/list.h"

#include "support/harness.h"

struct node {
    int number;
    struct weiri_list link;
};

/* The numbers in the list, forwards; checks that backwards they are the same. */
static void check_list(const struct weiri_list *head, const int *numbers, size_t count)
{
    const struct weiri_list *link = head->next;
    for (size_t i = 0; i < count; i++, link = link->next) {
        CHECK(link != head);
        CHECK_INT(WEIRI_CONTAINER(link, const struct node, link)->number, ==, numbers[i]);
        CHECK(link->next->prev == link);
    }
    CHECK(link == head);
    link = head->prev;
    for (size_t i = count; i > 0; i--, link = link->prev) {
        CHECK_INT(WEIRI_CONTAINER(link, const struct node, link)->number, ==, numbers[i - 1]);
    }
    CHECK(link == head);
}

TEST(order, "links stand where they were put")
{
    struct weiri_list head;
    struct node nodes[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    weiri_list_init(&head);
    CHECK(weiri_list_is_empty(&head));
    check_list(&head, NULL, 0);
    weiri_list_insert_before(&head, &nodes[0].link);
    weiri_list_insert_before(&head, &nodes[1].link);
    CHECK(!weiri_list_is_empty(&head));
    check_list(&head, (int[]){0, 1}, 2);
    weiri_list_insert_before(&nodes[1].link, &nodes[2].link);
    check_list(&head, (int[]){0, 2, 1}, 3);
    weiri_list_remove(&nodes[0].link);
    weiri_list_insert_before(head.next, &nodes[0].link);
    check_list(&head, (int[]){0, 2, 1}, 3);
}

TEST(removal, "a removed link is in no list, and removing it again changes nothing")
{
    struct weiri_list head;
    struct node nodes[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    weiri_list_init(&head);
    for (int i = 0; i < 3; i++) {
        weiri_list_insert_before(&head, &nodes[i].link);
    }
    weiri_list_remove(&nodes[1].link);
    CHECK(weiri_list_is_empty(&nodes[1].link));
    check_list(&head, (int[]){0, 2}, 2);
    weiri_list_remove(&nodes[1].link);
    check_list(&head, (int[]){0, 2}, 2);
    weiri_list_remove(&nodes[0].link);
    weiri_list_remove(&nodes[2].link);
    CHECK(weiri_list_is_empty(&head));
}
