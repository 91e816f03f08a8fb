/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a hand does in a run. */

#include "pool/hand.h"

struct weiri_hand *weiri_hand_next_rich(struct weiri_hand *self)
{
    weir_crew *crew = self->crew;
    weiri_sync_point();
    size_t reach = atomic_load_explicit(&crew->reach, memory_order_relaxed);
    size_t index = (size_t)(self - crew->hands);
    for (size_t i = 0; i < reach; i++) {
        index = index + 1 < reach ? index + 1 : 0;
        if (weiri_share_left(&crew->hands[index].share) > 0) {
            return &crew->hands[index];
        }
    }
    return NULL;
}

/* The first status counts. */
static void stop(struct weiri_run *run, int status)
{
    int none = WEIR_OK;
    weiri_sync_point();
    (void)atomic_compare_exchange_strong_explicit(&run->status, &none, status, memory_order_relaxed,
                                                  memory_order_relaxed);
}

/* False: the run is stopped. */
static bool do_chunk(struct weiri_run *run, uint32_t chunk)
{
    size_t piece = chunk * run->chunk_size;
    size_t left = run->pieces - piece;
    size_t end = piece + (left < run->chunk_size ? left : run->chunk_size);
    for (; piece < end; piece++) {
        if (weiri_run_is_stopped(run)) {
            return false;
        }
        int status = run->proceed != NULL ? run->proceed(run->proceed_arg) : WEIR_OK;
        if (status == WEIR_OK) {
            status = run->fn(piece, run->arg);
        }
        if (status != WEIR_OK) {
            stop(run, status);
            return false;
        }
    }
    return true;
}

static bool take_chunk(struct weiri_hand *self, uint32_t *ret_chunk)
{
    if (weiri_share_take(&self->share, ret_chunk)) {
        return true;
    }
    struct weiri_hand *from;
    while ((from = weiri_hand_next_rich(self)) != NULL) {
        if (weiri_share_steal(&from->share, &self->share, ret_chunk)) {
            weiri_crew_call(self);
            return true;
        }
    }
    return false;
}

void weiri_hand_work_from(struct weiri_hand *self, uint32_t chunk)
{
    while (do_chunk(&self->crew->run, chunk) && take_chunk(self, &chunk)) {
    }
    weiri_share_put(&self->share, 0, 0); /* what a stopped run leaves */
}

void weiri_hand_work(struct weiri_hand *self)
{
    uint32_t chunk;
    if (take_chunk(self, &chunk)) {
        weiri_hand_work_from(self, chunk);
    }
}
