/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/ended.h"

#include "base/probe.h"
#include "pool/group.h"
#include "pool/recur.h"
#include "queue/limiter.h"

const char *weir_ended_reason_text(uint32_t reason)
{
    static const char *const texts[] = {
        [0] = "unknown reason",
        [WEIR_ENDED_DONE] = "done",
        [WEIR_ENDED_FAILED] = "failed",
        [WEIR_ENDED_EXHAUSTED] = "exhausted",
        [WEIR_ENDED_TIMED_OUT] = "timed out",
        [WEIR_ENDED_CANCELED] = "canceled",
        [WEIR_ENDED_DISPLACED] = "displaced",
        [WEIR_ENDED_DRAINED] = "drained",
        [WEIR_ENDED_FINISHED] = "finished",
        [WEIR_ENDED_STOPPED] = "stopped",
        [WEIR_ENDED_TERMINATED] = "terminated",
    };
    return texts[reason <= WEIR_ENDED_TERMINATED ? reason : 0];
}

void weiri_envelope_disown_locked(weir_pool *pool, weir_envelope *envelope)
{
    bool is_told = envelope->untold == 0 && envelope->tellers == 0;
    if (is_told && !weiri_core_holds(&pool->core, &envelope->item)) {
        weiri_sync_point();
        atomic_store_explicit(&envelope->owner, NULL, memory_order_release);
    }
}

/* Takes the envelope out of the list that it is in, if any. */
static void append(struct weiri_endings *endings, weir_envelope *envelope)
{
    weiri_list_remove(&envelope->end_link);
    weiri_list_insert_before(&endings->envelopes, &envelope->end_link);
}

/* NULL: there is none. */
static weir_envelope *first_of(const struct weiri_endings *endings)
{
    return weiri_list_is_empty(&endings->envelopes)
               ? NULL
               : WEIRI_CONTAINER(endings->envelopes.next, struct weir_envelope, end_link);
}

void weiri_ended_note_locked(weir_pool *pool, weir_envelope *envelope,
                             enum weir_ended_reason reason, uint32_t dropped,
                             struct weiri_endings *endings)
{
    WEIRI_PROBE4(ended, pool, envelope, envelope->options.id, reason);
    weiri_group_leave_locked(pool, envelope);
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_recur_end(pool, envelope);
    }
    envelope->failures = 0;
    bool is_silent = pool->options.ended == NULL && !envelope->is_limited && envelope->untold == 0;
    if (is_silent && atomic_load_explicit(&envelope->references, memory_order_relaxed) > 1) {
        /* The common end, without another hold of the mutex. */
        weiri_envelope_disown_locked(pool, envelope);
        if (weiri_envelope_unref_unless_last(envelope)) {
            return;
        }
        atomic_store_explicit(&envelope->owner, pool, memory_order_relaxed);
    }
    envelope->reason = reason;
    envelope->dropped = dropped;
    envelope->ended_runs = envelope->runs;
    envelope->ended_status = envelope->runs > 0 ? envelope->last_status : (int)WEIR_ECANCELED;
    envelope->must_forget = envelope->must_forget || envelope->is_limited;
    envelope->is_limited = false;
    envelope->untold++;
    append(endings, envelope);
}

void weiri_ended_drop_locked(weir_pool *pool, weir_envelope *envelope,
                             enum weir_ended_reason reason, struct weiri_endings *endings)
{
    uint32_t dropped = weiri_pending_runs(&envelope->item);
    pool->counts.dropped += dropped;
    weiri_group_unqueue_locked(pool, envelope);
    (void)weiri_core_cancel(&pool->core, &envelope->item);
    weiri_ended_note_locked(pool, envelope, reason, dropped, endings);
}

/* Takes the envelope out of its list. Releases the mutex meanwhile. Another flight may begin and
 * end, and another thread tell of that, before this call returns. */
static void tell_locked(weir_pool *pool, weir_envelope *envelope,
                        const char *explanation) WEIRI_POOL_LOCKED
{
    struct weir_ended ended = {
        .pool = pool,
        .envelope = envelope,
        .reason = (uint32_t)envelope->reason,
        .status = envelope->ended_status,
        .runs = envelope->ended_runs,
        .dropped = envelope->dropped,
        .explanation = explanation,
    };
    uint32_t count = envelope->untold;
    bool must_forget = envelope->must_forget;
    weiri_list_remove(&envelope->end_link);
    envelope->untold = 0;
    envelope->tellers++;
    envelope->must_forget = false;
    weiri_pool_unlock(pool);
    if (must_forget) {
        weiri_limiter_forget(pool->options.limiter, weir_key_item(&envelope->item));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (pool->options.ended != NULL) {
            pool->options.ended(&ended, pool->options.ended_arg);
        }
    }
    weiri_pool_lock(pool);
    envelope->tellers--;
    weiri_envelope_disown_locked(pool, envelope);
    weiri_pool_unlock(pool);
    for (uint32_t i = 0; i < count; i++) {
        weir_envelope_unref(envelope);
    }
    weiri_pool_lock(pool);
}

/* The ends that the calling thread is telling of; NULL: it is not. */
static struct weiri_endings *find_outermost_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    for (struct weiri_list *link = pool->tellers.next; link != &pool->tellers; link = link->next) {
        struct weiri_endings *endings = WEIRI_CONTAINER(link, struct weiri_endings, link);
        if (endings->thread == weiri_thread_current()) {
            return endings;
        }
    }
    return NULL;
}

bool weiri_pool_needs_caller_locked(weir_pool *pool)
{
    return weiri_pool_self_locked(pool) != NULL || find_outermost_locked(pool) != NULL;
}

void weiri_ended_enter_locked(weir_pool *pool, struct weiri_endings *endings)
{
    endings->thread = weiri_thread_current();
    weiri_list_init(&endings->link);
    weiri_list_insert_before(&pool->tellers, &endings->link);
}

void weiri_ended_leave_locked(weir_pool *pool, struct weiri_endings *endings)
{
    weir_envelope *envelope;
    while ((envelope = first_of(endings)) != NULL) {
        const char *explanation = envelope == endings->run ? endings->explanation : "";
        endings->run = NULL; /* its end is the first */
        tell_locked(pool, envelope, explanation);
    }
    weiri_list_remove(&endings->link);
    weiri_pool_show_end_locked(pool);
}

void weiri_ended_tell_locked(weir_pool *pool, struct weiri_endings *endings)
{
    weir_envelope *envelope;
    if (first_of(endings) == NULL) {
        return;
    }
    struct weiri_endings *outermost = find_outermost_locked(pool);
    if (outermost != NULL) {
        while ((envelope = first_of(endings)) != NULL) {
            append(outermost, envelope);
        }
        return;
    }
    weiri_ended_enter_locked(pool, endings);
    weiri_ended_leave_locked(pool, endings);
}
