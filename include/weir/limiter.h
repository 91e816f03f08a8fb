/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/duration.h>
#include <weir/export.h>
#include <weir/key.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Rate limiters: how long an item must wait before it is tried again. One interface, which users
 * can implement as well; the supplied ones are thread-safe and give client-go's numbers.
 *
 * Limiters have no clock: the caller passes the time of a clock of its own. Times of several
 * threads may arrive a little out of order. None of the calls blocks; all are thread-safe but
 * weir_limiter_free(). A call that fails has changed nothing, and has set no result, but for two
 * things: an item that a full table forgot for the call stays forgotten, and a user's own limiter
 * without undo keeps its count. Constructors copy the allocator that they are given; NULL: libc's.
 *
 * The limiters that are per item remember each item that was tried until it is forgotten, within
 * bounds (struct weir_limiter_options). An embedded item is remembered by its address: forget it
 * before its memory is used for another.
 *
 * After fork() the child cannot use the parent's limiters: weir_limiter_when() and
 * weir_limiter_free() are WEIR_EFORKED, the other calls do as for NULL. */

/** A limiter. Opaque. */
typedef struct weir_limiter weir_limiter;

/** The functions of a user's own limiter. give_back and undo are optional, the others are required.
 * weir_limiter_…(), queues and pools call them from any thread, from several at the same time, with
 * no lock held. They may block no longer than the caller's add may, and may call anything but the
 * queue or pool that they serve. Keys are valid, their bytes borrowed during the call, and of
 * either kind: those of embedded items have the size WEIR_KEY_ITEM. Another thread may forget an
 * item at any time, also between a when() and its give_back or undo. Such a limiter cannot pass
 * these two on to another one that it asks: weir_limiter_max_of_new() combines limiters so that
 * both reach each. examples/custom_limiter.c shows one. */
struct weir_limiter_ops {
    /** Sets ret_delay_ns >= 0 to the wait of one more try of the item at now_ns, and counts the
     * try. A queue passes the time of its clock. The caller's add returns any other status than
     * WEIR_OK, one of weir's or from WEIR_EUSER up; then nothing is counted or set, and neither
     * give_back nor undo follows. */
    enum weir_status (*when)(void *self, struct weir_key key, int64_t now_ns,
                             int64_t *ret_delay_ns);
    /** Forgets the item, which need not be known. */
    void (*forget)(void *self, struct weir_key key);
    /** Tries counted since the item was last forgotten; 0 where they are not counted per item. */
    uint64_t (*num_requeues)(void *self, struct weir_key key);
    /** Frees self; called once. */
    void (*destroy)(void *self);
    /** The try that when() was asked for at now_ns coalesced with an earlier add (weir/queue.h), or
     * a pool's retry with a send: a token that it reserved is free again. The try stays counted.
     * Called at most once for a when(), soon after. NULL: the limiter reserves nothing. */
    void (*give_back)(void *self, struct weir_key key, int64_t now_ns);
    /** The try that when() was asked for at now_ns could not be made: as if it had not been asked.
     * Called in place of give_back. NULL: the try stays counted. */
    void (*undo)(void *self, struct weir_key key, int64_t now_ns);
};

/** Options of the limiters that are per item. Zero is the default of every field. */
struct weir_limiter_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    /** Items remembered at most; for one more, the item that was tried longest ago is forgotten. 0:
     * 1,048,576; at most 2^30. Each takes about 80 bytes, and a key of more than 16 bytes takes its
     * size as well. */
    size_t items_max;
    /** An item that has not been tried for this time is forgotten. 0: a day, or twice the limiter's
     * longest answer (of buckets, the time in which one fills) where that is longer; WEIR_FOREVER:
     * never. */
    int64_t forget_after_ns;
};

/** Makes a user's own limiter. ops are copied; self is taken: destroyed with the limiter. allocator
 * serves the limiter around self, not self. Errors: WEIR_EINVAL (ops without a required member,
 * allocator), WEIR_ENOMEM; self is then not taken. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_new(const struct weir_limiter_ops *ops,
                                                          void *self,
                                                          const struct weir_allocator *allocator,
                                                          weir_limiter **ret_limiter,
                                                          struct weir_error *ret_error);

/** base_ns times 2^failures of the item, at most max_ns; never overflows, whatever the count.
 * options may be NULL. From client-go's ItemExponentialFailureRateLimiter. Errors: WEIR_EINVAL
 * (allocator), WEIR_ERANGE (base_ns negative, max_ns < base_ns, items_max past its limit,
 * forget_after_ns negative), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_exponential_new(
    int64_t base_ns, int64_t max_ns, const struct weir_limiter_options *options,
    weir_limiter **ret_limiter, struct weir_error *ret_error);

/** fast_ns for the first fast_count failures of the item, then slow_ns. options may be NULL. From
 * client-go's ItemFastSlowRateLimiter. Errors: WEIR_EINVAL (allocator), WEIR_ERANGE (a negative
 * duration, options out of range), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_fast_slow_new(
    int64_t fast_ns, int64_t slow_ns, uint64_t fast_count,
    const struct weir_limiter_options *options, weir_limiter **ret_limiter,
    struct weir_error *ret_error);

/** A token bucket for all items: it starts with burst tokens, gains qps a second up to burst, and
 * each try takes one; the answer is the time until that one is there. A try that coalesced with
 * another one gives its token back. num_requeues is 0. From client-go's BucketRateLimiter with
 * golang.org/x/time/rate, to the nanosecond. Errors: WEIR_EINVAL (allocator), WEIR_ERANGE (qps not
 * a finite number above 0; burst 0 or above 2^53), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_bucket_new(
    double qps, uint64_t burst, const struct weir_allocator *allocator, weir_limiter **ret_limiter,
    struct weir_error *ret_error);

/** A token bucket for each item, in all else as weir_limiter_bucket_new(): so many tries of one
 * item for so long, however often the others are tried. weir_limiter_forget() does nothing: tokens
 * were spent on tries that were made, also on those that succeeded. An item that the bounds of
 * options (may be NULL) forget has a full bucket, whatever it had reserved: more than burst + qps
 * times the time are let through only of an item that was forgotten before its bucket was full
 * again. An embedded item inherits the bucket of one that was at its address before. Errors:
 * WEIR_EINVAL (allocator), WEIR_ERANGE (as weir_limiter_bucket_new(), options out of range),
 * WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_item_bucket_new(
    double qps, uint64_t burst, const struct weir_limiter_options *options,
    weir_limiter **ret_limiter, struct weir_error *ret_error);

/** Asks every one of count limiters; the longest wait wins, num_requeues is the largest. Takes the
 * limiters (not the array): they are freed with it, and not to be used alone any more. One that a
 * queue or another limiter still uses then is not freed, and belongs to the caller again. On an
 * error the caller keeps them. When one of them fails, the others' answers are undone. From
 * client-go's MaxOfRateLimiter. Errors: WEIR_EINVAL (a NULL, count 0, the same limiter twice,
 * allocator), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_max_of_new(
    weir_limiter *const *limiters, size_t count, const struct weir_allocator *allocator,
    weir_limiter **ret_limiter, struct weir_error *ret_error);

/** The answer of a limiter, at most max_wait_ns. Takes the limiter as weir_limiter_max_of_new()
 * does. From client-go's WithMaxWaitRateLimiter. Errors: WEIR_EINVAL (a NULL, allocator),
 * WEIR_ERANGE (max_wait_ns negative), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_with_max_wait_new(
    weir_limiter *limiter, int64_t max_wait_ns, const struct weir_allocator *allocator,
    weir_limiter **ret_limiter, struct weir_error *ret_error);

/** The answer of a limiter, lengthened by a random part of up to fraction of it, so that items
 * which failed together do not come back together; never shortened. Takes the limiter as
 * weir_limiter_max_of_new() does. The random parts are a sequence that seed determines; 0: one that
 * nobody can guess. Errors: WEIR_EINVAL (a NULL, allocator), WEIR_ERANGE (fraction negative or not
 * a finite number), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_with_jitter_new(
    weir_limiter *limiter, double fraction, uint64_t seed, const struct weir_allocator *allocator,
    weir_limiter **ret_limiter, struct weir_error *ret_error);

/** What client-go gives a controller: the longer of an exponential wait per item (5 ms to 1000 s)
 * and a bucket for all (10 a second, burst 100). options may be NULL. Errors as
 * weir_limiter_exponential_new(). */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_default_new(
    const struct weir_limiter_options *options, weir_limiter **ret_limiter,
    struct weir_error *ret_error);

/** Frees a limiter and those it took. Takes NULL. No other thread may be in a call on it. Errors:
 * WEIR_EBUSY (a queue, pool, consumer or limiter uses it), WEIR_EFORKED; then nothing changed. */
WEIR_API enum weir_status weir_limiter_free(weir_limiter *limiter);

/** Asks how long the item must wait at now_ns, and counts a try. An answer of less than 0, which a
 * user's own limiter may give, is taken for 0. Errors: WEIR_EINVAL (a NULL, key), WEIR_ETOOBIG (key
 * of more than WEIR_KEY_SIZE_LIMIT bytes), WEIR_ENOMEM, or those of a user's own limiter; then
 * nothing was counted. */
WEIR_API WEIR_NODISCARD enum weir_status weir_limiter_when(weir_limiter *limiter,
                                                           struct weir_key key, int64_t now_ns,
                                                           int64_t *ret_delay_ns);

/** Forgets the item. NULL and invalid keys are ignored. */
WEIR_API void weir_limiter_forget(weir_limiter *limiter, struct weir_key key);

/** Tries counted since the item was last forgotten; 0 for NULL and invalid keys. */
WEIR_API uint64_t weir_limiter_num_requeues(weir_limiter *limiter, struct weir_key key);

WEIR_END_DECLS

#endif
