/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_END_H
#define WEIR_END_H

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * The four words for the end of a pool (weir/lifecycle.h) and of a consumer (weir/consumer.h). Of
 * several ends of one the strongest counts, whichever comes first. */

/** How it is ended, weakest first. The numbers are part of the ABI. Each drops what waits for a
 * time. */
enum weir_end_mode {
    WEIR_END_DRAIN = 0,    /**< What is queued is run, and what runs goes on. */
    WEIR_END_FINISH = 1,   /**< What runs goes on, what is queued is dropped, and so is what a run
                                asks for: its retry, its next firing. */
    WEIR_END_STOP = 2,     /**< The contexts of what runs are cancelled; the rest as a finish. */
    WEIR_END_TERMINATE = 3 /**< As a stop, and for good. */
};

WEIR_END_DECLS

#endif
