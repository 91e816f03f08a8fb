/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FLIGHT_H
#define WEIRI_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/envelope.h"

/* An envelope flies in one pool at a time. Its flight names that pool and counts the holds on it:
 * one for as long as the pool's queue holds the item, and one for each send under way. A flight
 * comes with a reference to the envelope: taken by the first hold (whose taker has one of its own
 * meanwhile), given back with the last.
 *
 * Why sends hold: the queue alone knows, under its lock, whether an add made the item enter it and
 * whether a done made it leave. Both news reach the flight a moment later, and in either order. A
 * sender therefore holds first, adds, and gives its hold back unless the item entered; the hold of
 * an item that entered is given back by whoever made it leave. So the flight ends exactly when the
 * item is out of the queue and no send is under way, whatever the order; until then no other pool
 * can take the item, whose fields belong to that queue. */

/* The number of a pool is not 0, and fits. */
#define WEIRI_FLIGHT_POOL_BITS 40
/* As many threads cannot exist, so the holds cannot carry into the pool's number. */
#define WEIRI_FLIGHT_HOLD_BITS 24

/* Takes a hold for a pool; the caller has a reference. False: another pool has the envelope, and
 * nothing changed. */
bool weiri_flight_hold(weir_envelope *envelope, uint64_t pool_number);

/* Gives a hold back; the envelope may be gone then. */
void weiri_flight_release(weir_envelope *envelope);

#endif
