/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a hand does in a run. */

#include "pool/hand.h"

struct weiri_hand *weiri_crew_richest(weir_crew *crew)
{
    struct weiri_hand *richest = NULL;
    uint32_t most = 0;
    weiri_sync_point();
    uint32_t reach = atomic_load_explicit(&crew->reach, memory_order_relaxed);
    for (uint32_t i = 0; i < reach; i++) {
        uint32_t left = weiri_share_left(&crew->hands[i].share);
        if (left > most) {
            most = left;
            richest = &crew->hands[i];
        }
    }
    return richest;
}

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
    while ((from = weiri_crew_richest(self->crew)) != NULL) {
        if (weiri_share_steal(&from->share, &self->share, ret_chunk)) {
            weiri_crew_call(self->crew, false);
            return true;
        }
    }
    return false;
}

static void work_from(struct weiri_hand *self, uint32_t chunk)
{
    while (do_chunk(&self->crew->run, chunk) && take_chunk(self, &chunk)) {
    }
    weiri_share_put(&self->share, 0, 0); /* what a stopped run leaves */
}

void weiri_hand_begin(struct weiri_hand *self)
{
    weiri_crew_call(self->crew, true);
    work_from(self, 0);
}

void weiri_hand_work(struct weiri_hand *self)
{
    uint32_t chunk;
    if (take_chunk(self, &chunk)) {
        work_from(self, chunk);
    }
}
