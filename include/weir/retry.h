/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_RETRY_H
#define WEIR_RETRY_H

#include <stdint.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * How often work that has failed is tried again, and after which delays: of an envelope
 * (weir/envelope.h) and of the jobs of a consumer (weir/consumer.h). */

/** Attempts, and the delays between them. The delay after the nth attempt is base_ns times 2^(n -
 * 1), at most max_ns, lengthened by a random part, so that what failed together does not come back
 * together. It never overflows, whatever the count. Zero is the default of each member. */
struct weir_retry {
    uint32_t attempts; /**< Runs that may fail in a row: none follows the last. 0: of an envelope
                            without a failure hook one run, with one no limit; of a job 25. */
    uint32_t jitter;   /**< The random part is less than so many thousandths of the delay, at most
                            1000; 0: 100; WEIR_JITTER_NONE: there is none. */
    int64_t base_ns;   /**< Not negative. 0: 5 ms of an envelope, 1 s of a job, at most max_ns. */
    int64_t max_ns;    /**< At least base_ns. 0: 1000 s, or base_ns where that is more. */
};

#define WEIR_JITTER_NONE UINT32_MAX /**< A jitter of nothing. */

WEIR_END_DECLS

#endif
