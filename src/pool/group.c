/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/group.h"

#include <string.h>

#include "base/alloc.h"

#define NAME_SIZE_MAX 65536

static size_t size_of(size_t key_size)
{
    return sizeof(struct weiri_member) + key_size;
}

enum weir_status weiri_member_new(const struct weir_allocator *allocator, struct weir_key group,
                                  struct weiri_member **ret_member)
{
    if (group.data == NULL || group.size == WEIR_KEY_ITEM) {
        return WEIR_EINVAL;
    }
    if (group.size > NAME_SIZE_MAX) {
        return WEIR_ETOOBIG;
    }
    struct weiri_member *member = weiri_alloc_zero(allocator, 1, size_of(group.size));
    if (member == NULL) {
        return WEIR_ENOMEM;
    }
    member->key_size = group.size;
    memcpy(member->key, group.data, group.size);
    *ret_member = member;
    return WEIR_OK;
}

void weiri_member_free(const struct weir_allocator *allocator, struct weiri_member *member)
{
    if (member != NULL) {
        weiri_release(allocator, member, size_of(member->key_size));
    }
}

struct weiri_member *weiri_member_of(struct weir_item *item)
{
    return weiri_envelope_member(weiri_envelope_of(item));
}
