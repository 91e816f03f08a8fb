/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * The libraries never print. Messages go to a function given in an object's options. */

/** How much a message matters. */
enum weir_log_level {
    WEIR_LOG_ERROR = 1, /**< Something was lost or refused. */
    WEIR_LOG_WARNING,   /**< It went on, but may need attention. */
    WEIR_LOG_INFO,      /**< A start, an end, a change. */
    WEIR_LOG_DEBUG      /**< For developers. */
};

/** Receives one message, a line without its newline, borrowed during the call. Any thread, possibly
 * several at once, with no lock held; must not call back into the object that logs, unless that
 * allows it (a pool does). */
typedef void weir_log_fn(enum weir_log_level level, const char *message, void *arg);

WEIR_END_DECLS

#endif
