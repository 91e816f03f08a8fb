/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_STAMP_H
#define WEIR_STAMP_H

#include <weir/context.h>
#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * Stamps are what other libraries call middleware: functions around a task, which may do something
 * before and after it, change its status, leave it out or run it again. A pool's stamps are outside
 * an envelope's. The first stamp of a list is its outermost. */

/** An envelope (weir/envelope.h). Opaque. */
typedef struct weir_envelope weir_envelope;

/** The inside of a stamp: further stamps and, innermost, the task. Opaque; valid until the stamp
 * returns, on its thread. */
typedef struct weir_next weir_next;

/** A stamp. Runs on a worker's thread, with no lock held, under the rules and in the time limit of
 * the task. Its return value goes to the stamp outside it, and that of the outermost stamp is the
 * status of the run; so a stamp that changes nothing returns the value of weir_next_run(). Without
 * a call of weir_next_run() the task is not run. arg is that of struct weir_stamp: of a pool's
 * stamps it is shared by all workers at once. */
typedef int weir_stamp_fn(weir_context *context, weir_envelope *envelope, const weir_next *next,
                          void *arg);

/** A stamp and its argument. */
struct weir_stamp {
    weir_stamp_fn *fn; /**< Required. */
    void *arg;         /**< Borrowed as long as the envelope or pool lives. */
};

/** Runs the inside of the stamp, once for each call, and returns its status. For stamps only, on
 * their own thread, with their own context. Errors: WEIR_EINVAL (NULL); then nothing was run. */
WEIR_API int weir_next_run(const weir_next *next, weir_context *context);

WEIR_END_DECLS

#endif
