/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_GROUP_H
#define WEIRI_GROUP_H

#include "pool/pool.h"
#include "queue/groups.h"

/* Envelopes of groups: what the pool adds to queue/groups.h. */

/* Makes what an envelope of a group, whose name has a size, needs of it; the item is its owner's to
 * fill in. WEIR_EINVAL, WEIR_ETOOBIG (the group's name), WEIR_ENOMEM: nothing was made. */
WEIR_NODISCARD enum weir_status weiri_member_new(const struct weir_allocator *allocator,
                                                 struct weir_key group,
                                                 struct weiri_member **ret_member);
/* Takes NULL. */
void weiri_member_free(const struct weir_allocator *allocator, struct weiri_member *member);

/* To be called before the done of a run that ended so. In an ordered group an envelope that is to
 * be tried again comes before the others. */
static inline void weiri_envelope_note_ending(const weir_pool *pool, weir_envelope *envelope,
                                              enum weiri_ending ending)
{
    struct weiri_member *member = weiri_envelope_member(envelope);
    if (member != NULL) {
        member->keeps_seat = pool->has_ordered_groups && ending == WEIRI_ENDS_PENDING &&
                             !weiri_envelope_is_periodic(envelope);
    }
}

/* Of an item of a pool's queue; NULL: it is of no group. */
struct weiri_member *weiri_member_of(struct weir_item *item);

#endif
