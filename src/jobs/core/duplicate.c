/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/duplicate.h"

#include "base/panic.h"

enum weiri_duplicate_action weiri_duplicate_decide(enum weir_duplicate mode,
                                                   enum weir_job_state older, bool is_throttled)
{
    static const enum weiri_duplicate_action actions[][WEIR_JOB_RESERVED] = {
        /* delayed, ready, reserved */
        [WEIR_DUPLICATE_REFUSE] = {WEIRI_DUPLICATE_REFUSE, WEIRI_DUPLICATE_REFUSE,
                                   WEIRI_DUPLICATE_REFUSE},
        [WEIR_DUPLICATE_REPLACE] = {WEIRI_DUPLICATE_RENEW, WEIRI_DUPLICATE_RENEW,
                                    WEIRI_DUPLICATE_REFUSE},
        [WEIR_DUPLICATE_KEEP] = {WEIRI_DUPLICATE_EARLIER, WEIRI_DUPLICATE_NOTHING,
                                 WEIRI_DUPLICATE_NOTHING},
        [WEIR_DUPLICATE_DEBOUNCE] = {WEIRI_DUPLICATE_RENEW, WEIRI_DUPLICATE_RENEW,
                                     WEIRI_DUPLICATE_AFTER},
        [WEIR_DUPLICATE_THROTTLE] = {WEIRI_DUPLICATE_NOTHING, WEIRI_DUPLICATE_NOTHING,
                                     WEIRI_DUPLICATE_NOTHING},
        [WEIR_DUPLICATE_AGAIN] = {WEIRI_DUPLICATE_EARLIER, WEIRI_DUPLICATE_NOTHING,
                                  WEIRI_DUPLICATE_AFTER},
    };
    WEIRI_ASSERT(mode >= WEIR_DUPLICATE_REFUSE && mode <= WEIR_DUPLICATE_AGAIN);
    if (older < WEIR_JOB_DELAYED || older > WEIR_JOB_RESERVED) {
        return mode == WEIR_DUPLICATE_THROTTLE && is_throttled ? WEIRI_DUPLICATE_NOTHING
                                                               : WEIRI_DUPLICATE_PUT;
    }
    return actions[mode][older - WEIR_JOB_DELAYED];
}
