/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/flight.h"

#include "base/panic.h"
#include "base/sync.h"

#define HOLDS_MASK ((UINT64_C(1) << WEIRI_FLIGHT_HOLD_BITS) - 1)

bool weiri_flight_hold(weir_envelope *envelope, uint64_t pool_number)
{
    WEIRI_DEBUG_ASSERT(pool_number != 0 && pool_number >> WEIRI_FLIGHT_POOL_BITS == 0);
    uint64_t grounded = pool_number << WEIRI_FLIGHT_HOLD_BITS;
    weiri_sync_point();
    uint64_t flight = atomic_load_explicit(&envelope->flight, memory_order_relaxed);
    do {
        if (flight != 0 && flight >> WEIRI_FLIGHT_HOLD_BITS != pool_number) {
            return false;
        }
        /* Acquire pairs with the release below: the item's fields, which the last pool wrote, are
         * this pool's now. */
    } while (!atomic_compare_exchange_weak_explicit(&envelope->flight, &flight,
                                                    (flight == 0 ? grounded : flight) + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    if (flight == 0) {
        (void)weir_envelope_ref(envelope);
    }
    return true;
}

void weiri_flight_release(weir_envelope *envelope)
{
    weiri_sync_point();
    uint64_t flight = atomic_load_explicit(&envelope->flight, memory_order_relaxed);
    uint64_t holds;
    do {
        holds = flight & HOLDS_MASK;
        WEIRI_ASSERT(holds > 0);
    } while (!atomic_compare_exchange_weak_explicit(&envelope->flight, &flight,
                                                    holds == 1 ? 0 : flight - 1,
                                                    memory_order_release, memory_order_relaxed));
    if (holds == 1) {
        weir_envelope_unref(envelope);
    }
}
