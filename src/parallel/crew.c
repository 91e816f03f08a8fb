/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The workers of a run (its caller, and helpers) take chunks from one counter. The mutex publishes
 * the run and the writes of pieces; the counter and the status order nothing.
 * docs/internals/parallel.md proves that no chunk waits for a helper that is never woken. */
#include "parallel/crew.h"

#include "base/alloc.h"
#include "base/forked.h"
#include "base/panic.h"
#include "base/processors.h"
#include "base/time.h"

#define CREW_MAGIC UINT32_C(0x77715105)
#define WORKERS_MAX 4096
#define STANDBY_NS INT64_C(250000) /* a run of this age gets all workers: its pieces may block */

static int status_of(weir_crew *crew)
{
    weiri_sync_point();
    return atomic_load_explicit(&crew->status, memory_order_relaxed);
}

static bool has_chunks(weir_crew *crew)
{
    weiri_sync_point();
    uint64_t next = atomic_load_explicit(&crew->next_chunk, memory_order_relaxed);
    return next < crew->chunks && status_of(crew) == WEIR_OK;
}

static uint64_t take_chunk(weir_crew *crew)
{
    weiri_sync_point();
    return atomic_fetch_add_explicit(&crew->next_chunk, 1, memory_order_relaxed);
}

static void helper_main(void *arg);

/* Wakes or starts a helper, unless one is on its way or the one on standby suffices. */
static void wake_helper_locked(weir_crew *crew) WEIRI_REQUIRES(crew->mutex)
{
    if (crew->is_waking || !has_chunks(crew) ||
        (crew->standby != NULL && crew->working >= crew->eager)) {
        return;
    }
    struct weiri_helper *helper = NULL; /* the one on standby only if no other is asleep */
    for (size_t i = 0; i < crew->started && (helper == NULL || helper == crew->standby); i++) {
        helper = crew->helpers[i].is_asleep ? &crew->helpers[i] : helper;
    }
    if (helper != NULL) {
        crew->is_waking = true;
        helper->is_asleep = false;
        weiri_cond_signal(&helper->woken);
    } else if (crew->started < crew->helper_count) {
        helper = &crew->helpers[crew->started];
        helper->crew = crew;
        weiri_cond_init(&helper->woken, &crew->mutex);
        crew->is_waking =
            weiri_thread_start_open(&helper->thread, "weir-crew", helper_main, helper) == WEIR_OK;
        crew->started += crew->is_waking;
    }
}

/* Sleeps until woken. The first helper to sleep while chunks are left is on standby: it sleeps for
 * STANDBY_NS at most, and if the run has not ended by then, all workers are of use. */
static void sleep_locked(weir_crew *crew, struct weiri_helper *self) WEIRI_REQUIRES(crew->mutex)
{
    uint64_t number = crew->number;
    int64_t limit_ns = INT64_MAX;
    if (crew->standby == NULL && has_chunks(crew)) {
        crew->standby = self;
        limit_ns = weiri_time_add(weiri_monotonic_now(), STANDBY_NS);
    }
    self->is_asleep = true;
    while (self->is_asleep && weiri_cond_wait_until(&self->woken, limit_ns)) {
    }
    if (!self->is_asleep) {
        crew->is_waking = false;
    } else if (crew->number == number) {
        crew->eager = SIZE_MAX;
    }
    self->is_asleep = false;
    crew->standby = crew->standby == self ? NULL : crew->standby;
}

/* Runs this chunk, which the worker has taken, and others while there are any. Unlocks meanwhile.
 */
static void work_locked(weir_crew *crew, uint64_t chunk) WEIRI_REQUIRES(crew->mutex)
{
    const struct weir_parallel_options *how = &crew->how;
    int status = WEIR_OK;
    crew->working++;
    wake_helper_locked(crew);
    weiri_mutex_unlock(&crew->mutex);
    for (; chunk < crew->chunks && status == WEIR_OK; chunk = take_chunk(crew)) {
        size_t piece = (size_t)chunk * how->chunk_size;
        size_t left = how->chunk_size;
        for (; left > 0 && piece < crew->pieces && status == WEIR_OK; left--, piece++) {
            status = status_of(crew);
            if (status == WEIR_OK && how->proceed != NULL) {
                status = how->proceed(how->proceed_arg);
            }
            status = status == WEIR_OK ? crew->fn(piece, crew->arg) : status;
        }
    }
    weiri_mutex_lock(&crew->mutex);
    if (status_of(crew) == WEIR_OK) {
        atomic_store_explicit(&crew->status, status, memory_order_relaxed);
    }
    if (--crew->working == 0) {
        weiri_cond_signal(&crew->left);
    }
}

static void helper_main(void *arg)
{
    struct weiri_helper *self = arg;
    weir_crew *crew = self->crew;
    weiri_mutex_lock(&crew->mutex);
    crew->is_waking = false;
    while (!crew->is_ending) {
        if (has_chunks(crew) && crew->working < crew->eager) {
            work_locked(crew, take_chunk(crew));
        } else {
            sleep_locked(crew, self);
        }
    }
    weiri_mutex_unlock(&crew->mutex);
}

enum weir_status weir_crew_new(const struct weir_crew_options *options, weir_crew **ret_crew,
                               struct weir_error *ret_error)
{
    struct weir_allocator memory;
    weiri_error_clear(ret_error);
    if (weiri_check_given("options", options, ret_error) != WEIR_OK ||
        weiri_check_given("ret_crew", ret_crew, ret_error) != WEIR_OK ||
        weiri_allocator_init(&memory, &options->allocator, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (options->workers - 1 >= WORKERS_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL, "workers is %zu: expected 1 to %d",
                          options->workers, WORKERS_MAX);
    }
    size_t size = sizeof(weir_crew) + (options->workers - 1) * sizeof(struct weiri_helper);
    weir_crew *crew = weiri_alloc_zero(&memory, 1, size);
    uint64_t process = weiri_forked_mark();
    if (crew == NULL || process == 0) {
        weiri_release(&memory, crew, size);
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    weiri_mutex_init(&crew->mutex);
    weiri_cond_init(&crew->left, &crew->mutex);
    crew->magic = CREW_MAGIC;
    crew->memory = memory;
    crew->process = process;
    crew->helper_count = options->workers - 1;
    crew->processors = weiri_processors();
    *ret_crew = crew;
    return WEIR_OK;
}

/* False: a run is under way, and nothing changed. */
static bool end_helpers(weir_crew *crew)
{
    weiri_mutex_lock(&crew->mutex);
    if (crew->fn != NULL) {
        weiri_mutex_unlock(&crew->mutex);
        return false;
    }
    crew->is_ending = true;
    size_t started = crew->started;
    for (size_t i = 0; i < started; i++) {
        crew->helpers[i].is_asleep = false;
        weiri_cond_signal(&crew->helpers[i].woken);
    }
    weiri_mutex_unlock(&crew->mutex);
    for (size_t i = 0; i < started; i++) {
        weiri_thread_join(&crew->helpers[i].thread);
        weiri_cond_fini(&crew->helpers[i].woken);
    }
    weiri_cond_fini(&crew->left);
    weiri_mutex_fini(&crew->mutex);
    return true;
}

enum weir_status weir_crew_free(weir_crew *crew)
{
    if (crew == NULL) {
        return WEIR_OK;
    }
    if (crew->magic != CREW_MAGIC) {
        return WEIR_EINVAL;
    }
    /* In a child the mutex may be locked for ever. */
    if (!weiri_forked_since(crew->process) && !end_helpers(crew)) {
        return WEIR_EBUSY;
    }
    crew->magic = 0;
    weiri_release(&crew->memory, crew,
                  sizeof(*crew) + crew->helper_count * sizeof(crew->helpers[0]));
    return WEIR_OK;
}

int weir_crew_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn, void *arg,
                  const struct weir_parallel_options *options)
{
    struct weir_parallel_options how =
        options != NULL ? *options : (struct weir_parallel_options){0};
    if (crew == NULL || crew->magic != CREW_MAGIC || fn == NULL) {
        return WEIR_EINVAL;
    }
    if (pieces == 0 || weiri_forked_since(crew->process)) {
        return weiri_forked_since(crew->process) ? WEIR_EFORKED : WEIR_OK;
    }
    size_t least = (pieces - 1) / UINT32_MAX + 1;
    how.chunk_size = how.chunk_size > least ? how.chunk_size : least;
    weiri_mutex_lock(&crew->mutex);
    if (crew->fn != NULL) {
        weiri_mutex_unlock(&crew->mutex);
        return WEIR_EBUSY;
    }
    crew->number++;
    crew->fn = fn;
    crew->arg = arg;
    crew->how = how;
    crew->pieces = pieces;
    crew->chunks = (pieces - 1) / how.chunk_size + 1;
    crew->eager = how.eager > 0 ? how.eager : crew->processors;
    weiri_sync_point();
    atomic_store_explicit(&crew->status, WEIR_OK, memory_order_relaxed);
    atomic_store_explicit(&crew->next_chunk, 1, memory_order_relaxed);
    work_locked(crew, 0);
    while (crew->working > 0) {
        weiri_cond_wait(&crew->left);
    }
    crew->fn = NULL;
    int status = status_of(crew);
    weiri_mutex_unlock(&crew->mutex);
    return status;
}

int weir_parallelize(size_t workers, size_t pieces, weir_piece_fn *fn, void *arg,
                     const struct weir_parallel_options *options)
{
    struct weir_crew_options of_crew = {.workers = workers};
    weir_crew *crew = NULL;
    int status = (int)weir_crew_new(&of_crew, &crew, NULL);
    if (status == WEIR_OK) {
        status = weir_crew_run(crew, pieces, fn, arg, options);
        weir_crew_free(crew);
    }
    return status;
}
