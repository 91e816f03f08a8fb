/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_GROUP_H
#define WEIRI_GROUP_H

#include "pool/pool.h"
#include "queue/groups.h"

/* Envelopes of groups: what the pool adds to queue/groups.h. */

/* Makes what an envelope that is being made needs of its group. WEIR_EINVAL, WEIR_ETOOBIG (the
 * group's name), WEIR_ENOMEM: it has nothing. */
WEIR_NODISCARD enum weir_status weiri_envelope_join_group(weir_envelope *envelope,
                                                          struct weir_key group);
void weiri_envelope_quit_group(weir_envelope *envelope);

/* To be called before the done of a run that ended so. In an ordered group an envelope that is to
 * be tried again comes before the others. */
static inline void weiri_envelope_note_ending(const weir_pool *pool, weir_envelope *envelope,
                                              enum weiri_ending ending)
{
    if (envelope->member != NULL) {
        envelope->member->keeps_seat = pool->has_ordered_groups && ending == WEIRI_ENDS_PENDING &&
                                       !weiri_envelope_is_periodic(envelope);
    }
}

/* Of an item of a pool's queue; NULL: it is of no group. */
struct weiri_member *weiri_member_of(struct weir_item *item);

#endif
