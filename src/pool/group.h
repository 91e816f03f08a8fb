/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_GROUP_H
#define WEIRI_GROUP_H

#include "pool/pool.h"
#include "queue/table.h"

/* The groups of a pool that limits them: at most group_limit envelopes of a group run at once. A
 * run needs one of the group's slots.
 *
 * An envelope whose group has no free slot when it comes to the head of the ring is set aside: it
 * stays queued, in the list of its group. When a slot is freed, the group's first gets it, and goes
 * to the pool's list admitted, which is taken before the ring. So envelopes that wait for their
 * group cost nothing when others are handed out.
 */
struct weiri_group {
    struct weiri_record record;
    uint32_t number;         /* of the record in the pool's table */
    size_t members;          /* in flight; the last one removes the group */
    size_t slots;            /* in use */
    struct weiri_list queue; /* members that wait for a slot; oldest first */
};

/* All of these are called with the pool's mutex held, and do nothing with an envelope without a
 * group, or in a pool that does not limit groups. */

/* The envelope's flight begins. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_group_join_locked(weir_pool *pool, weir_envelope *envelope);
/* Its flight has ended, or did not begin. */
void weiri_group_leave_locked(weir_pool *pool, weir_envelope *envelope);

/* The envelope is queued, and would be handed out. True: it may be, with a slot. Else it was set
 * aside. */
bool weiri_group_admit_locked(weir_pool *pool, weir_envelope *envelope);
/* Frees the envelope's slot, if it has one, for the group's first. */
void weiri_group_free_slot_locked(weir_pool *pool, weir_envelope *envelope);
/* The envelope is not queued any more: takes it out of the lists of those set aside. */
void weiri_group_unqueue_locked(weir_pool *pool, weir_envelope *envelope);

/* The oldest envelope that was set aside, and the first that may be handed out; NULL: none. */
weir_envelope *weiri_group_oldest_locked(const weir_pool *pool);
weir_envelope *weiri_group_first_locked(const weir_pool *pool);

#endif
