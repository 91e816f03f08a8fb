/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/group.h"

enum weir_status weiri_group_join_locked(weir_pool *pool, weir_envelope *envelope)
{
    struct weiri_member *member = envelope->member;
    if (member == NULL || pool->options.group_limit == 0) {
        return WEIR_OK;
    }
    struct weir_key name = envelope->options.group;
    uint32_t hash = weiri_table_hash(&pool->groups, name);
    uint32_t number = weiri_table_find(&pool->groups, name, hash);
    bool is_new = number == 0;
    if (is_new) {
        number = weiri_table_insert(&pool->groups, &pool->options.allocator, name, hash);
        if (number == 0) {
            return WEIR_ENOMEM;
        }
    }
    struct weiri_group *group = weiri_table_record(&pool->groups, number);
    if (is_new) {
        group->number = number;
        weiri_list_init(&group->queue);
    }
    group->members++;
    member->group = group;
    return WEIR_OK;
}

void weiri_group_leave_locked(weir_pool *pool, weir_envelope *envelope)
{
    if (envelope->member == NULL || envelope->member->group == NULL) {
        return;
    }
    weiri_group_free_slot_locked(pool, envelope);
    struct weiri_group *group = envelope->member->group;
    envelope->member->group = NULL;
    if (--group->members == 0) {
        weiri_table_remove(&pool->groups, &pool->options.allocator, group->number);
    }
}

bool weiri_group_admit_locked(weir_pool *pool, weir_envelope *envelope)
{
    struct weiri_member *member = envelope->member;
    if (member == NULL || member->group == NULL || member->has_slot) {
        return true;
    }
    if (member->group->slots < pool->options.group_limit) {
        member->group->slots++;
        member->has_slot = true;
        return true;
    }
    weiri_core_set_aside(&pool->core, &envelope->item);
    weiri_list_insert_before(&member->group->queue, &member->group_link);
    weiri_list_insert_before(&pool->aside, &member->aside_link);
    return false;
}

void weiri_group_free_slot_locked(weir_pool *pool, weir_envelope *envelope)
{
    if (envelope->member == NULL || !envelope->member->has_slot) {
        return;
    }
    struct weiri_group *group = envelope->member->group;
    envelope->member->has_slot = false;
    if (weiri_list_is_empty(&group->queue)) {
        group->slots--;
        return;
    }
    struct weiri_list *link = group->queue.next;
    WEIRI_CONTAINER(link, struct weiri_member, group_link)->has_slot = true;
    weiri_list_remove(link);
    weiri_list_insert_before(&pool->admitted, link);
    pool->admitted_count++;
}

void weiri_group_unqueue_locked(weir_pool *pool, weir_envelope *envelope)
{
    struct weiri_member *member = envelope->member;
    if (member != NULL && !weiri_list_is_empty(&member->aside_link)) {
        pool->admitted_count -= member->has_slot;
        weiri_list_remove(&member->group_link);
        weiri_list_remove(&member->aside_link);
    }
}

weir_envelope *weiri_group_oldest_locked(const weir_pool *pool)
{
    return weiri_list_is_empty(&pool->aside)
               ? NULL
               : WEIRI_CONTAINER(pool->aside.next, struct weiri_member, aside_link)->envelope;
}

weir_envelope *weiri_group_first_locked(const weir_pool *pool)
{
    return weiri_list_is_empty(&pool->admitted)
               ? NULL
               : WEIRI_CONTAINER(pool->admitted.next, struct weiri_member, group_link)->envelope;
}
