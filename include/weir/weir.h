/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

/** @file
 * Everything of libweir: the queue, the pool and crews. Jobs (libweir-jobs) are in weir/jobs.h.
 *
 * Misuse that weir can notice is a status, and nothing changed: NULL where an object or a place for
 * a result is required is WEIR_EINVAL, freeing an object that another object uses is WEIR_EBUSY,
 * using a parent's object after fork() is WEIR_EFORKED. Three things end the program with a message
 * on standard error, since there is nothing to return to: a broken invariant of weir itself,
 * weir_panic() outside a task, and a task that leaves its worker's thread otherwise than by
 * returning. Else the libraries never print.
 *
 * "Thread-safe" in these headers is about threads: a signal handler may call nothing of weir, since
 * it may have interrupted a call, and a thread must not be cancelled (pthread_cancel) in one.
 *
 * All headers are C11 and C++17. Callbacks written in C++ must not throw: weir's own code is in C,
 * and an exception that leaves a callback ends the program or leaves locks held. */

#include <weir/allocator.h>
#include <weir/clock.h>
#include <weir/context.h>
#include <weir/cron.h>
#include <weir/duration.h>
#include <weir/end.h>
#include <weir/ended.h>
#include <weir/envelope.h>
#include <weir/isolation.h>
#include <weir/key.h>
#include <weir/lifecycle.h>
#include <weir/limiter.h>
#include <weir/log.h>
#include <weir/metrics.h>
#include <weir/panic.h>
#include <weir/parallel.h>
#include <weir/pool.h>
#include <weir/pool_snapshot.h>
#include <weir/queue.h>
#include <weir/retry.h>
#include <weir/schedule.h>
#include <weir/scope.h>
#include <weir/snapshot.h>
#include <weir/stamp.h>
#include <weir/status.h>
#include <weir/version.h>

#endif
