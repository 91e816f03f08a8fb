/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SCHEDULES_PARALLEL_WORLD_H
#define WEIR_SCHEDULES_PARALLEL_WORLD_H

#include <weir/parallel.h>

#include "base/sync.h"
#include "parallel/crew.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* Crews in every order of their threads. What is noted is in plain variables: in the explorer
 * nothing runs between two scheduling points. That a run ends, and no thread or memory is left, is
 * checked by the explorer. */

#define PIECES_MAX 8

static struct {
    weir_crew *crew;
    struct weir_parallel_options options;
    struct weiri_mutex mutex;
    struct weiri_cond changed;
    unsigned begun[PIECES_MAX];
    unsigned count;      /* of pieces begun in this run */
    unsigned inside;     /* pieces */
    unsigned most;       /* inside at once, in this run */
    unsigned after_stop; /* pieces begun when the run was stopped already */
    unsigned expected;   /* pieces that meet */
    size_t bad;          /* from this piece on each one fails, */
    size_t bad_end;      /* up to this one, with WEIR_EUSER + its number */
    bool is_over;        /* the run has returned */
    bool is_cancelled;
} world;

/* The schedule chooses how many workers are eager. */
static inline void world_init(size_t workers)
{
    memset(&world, 0, sizeof(world));
    world.options = (struct weir_parallel_options){0};
    world.options.eager = 1 + explorer_choose(workers);
    struct weir_crew_options options = {0};
    options.allocator = *test_allocator();
    options.workers = workers;
    CHECK_STATUS(weir_crew_new(&options, &world.crew, NULL), WEIR_OK);
    weiri_mutex_init(&world.mutex);
    weiri_cond_init(&world.changed, &world.mutex);
}

static inline void world_fini(void)
{
    weir_crew_free(world.crew);
    weiri_cond_fini(&world.changed);
    weiri_mutex_fini(&world.mutex);
}

static inline void begin(size_t piece)
{
    explorer_note("begins piece %zu", piece);
    CHECK_INT(piece, <, PIECES_MAX);
    CHECK(!world.is_over);
    CHECK_INT(world.begun[piece]++, ==, 0);
    world.count++;
    world.inside++;
    world.most = world.inside > world.most ? world.inside : world.most;
    world.after_stop += atomic_load(&world.crew->status) != WEIR_OK;
    weiri_sync_point();
}

static inline int end(size_t piece)
{
    world.inside--;
    bool is_bad = piece >= world.bad && piece < world.bad_end;
    return is_bad ? WEIR_EUSER + (int)piece : WEIR_OK;
}

static inline int do_piece(size_t piece, void *arg)
{
    (void)arg;
    begin(piece);
    return end(piece);
}

/* Waits until as many pieces have begun as are expected. */
static inline int meet(size_t piece, void *arg)
{
    (void)arg;
    begin(piece);
    weiri_mutex_lock(&world.mutex);
    weiri_cond_broadcast(&world.changed);
    while (world.count < world.expected) {
        weiri_cond_wait(&world.changed);
    }
    weiri_mutex_unlock(&world.mutex);
    return end(piece);
}

static inline int run(size_t pieces, weir_piece_fn *fn)
{
    memset(world.begun, 0, sizeof(world.begun));
    world.count = 0;
    world.most = 0;
    world.after_stop = 0;
    world.is_over = false;
    int status = weir_crew_run(world.crew, pieces, fn, NULL, &world.options);
    world.is_over = true;
    explorer_note("the run has returned %s", weir_status_name(status));
    CHECK_INT(world.inside, ==, 0);
    CHECK_INT(world.after_stop, <=, world.crew->helper_count);
    return status;
}

static inline void run_all(size_t pieces, weir_piece_fn *fn)
{
    CHECK_STATUS(run(pieces, fn), WEIR_OK);
    CHECK_INT(world.count, ==, pieces);
    for (size_t i = 0; i < pieces; i++) {
        CHECK_INT(world.begun[i], ==, 1);
    }
}

#endif
