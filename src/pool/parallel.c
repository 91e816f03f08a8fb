/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/parallel.h>

#include "base/alloc.h"
#include "base/forked.h"
#include "base/options.h"
#include "base/panic.h"
#include "base/processors.h"
#include "pool/hand.h"

#define CREW_MAGIC UINT32_C(0x77715105)
#define WORKERS_MAX 4096

_Static_assert(offsetof(struct weir_crew_options, workers) + sizeof(size_t) ==
                   sizeof(struct weir_crew_options),
               "no padding at the end of an options struct");
_Static_assert(offsetof(struct weir_parallel_options, proceed_arg) + sizeof(void *) ==
                   sizeof(struct weir_parallel_options),
               "no padding at the end of an options struct");

static enum weir_status normalize_crew(struct weir_crew_options *dst,
                                       const struct weir_crew_options *src)
{
    if (src == NULL || weiri_options_copy(dst, sizeof(*dst), src) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator given = dst->allocator;
    if (weiri_allocator_init(&dst->allocator, &given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    return dst->workers >= 1 && dst->workers <= WORKERS_MAX ? WEIR_OK : WEIR_EINVAL;
}

static size_t divide_up(size_t dividend, size_t divisor)
{
    return dividend / divisor + (dividend % divisor != 0);
}

/* chunk_size becomes at least what it has to be so that the chunks can be counted: not 0, where
 * there are pieces. */
static enum weir_status normalize_run(struct weir_parallel_options *dst,
                                      const struct weir_parallel_options *src, size_t pieces,
                                      weir_piece_fn *fn)
{
    if (fn == NULL || weiri_options_copy(dst, sizeof(*dst), src) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    size_t least = divide_up(pieces, WEIRI_SHARE_CHUNKS_MAX);
    if (dst->chunk_size < least) {
        dst->chunk_size = least;
    }
    return WEIR_OK;
}

static void init_crew(weir_crew *crew, const struct weir_crew_options *options)
{
    crew->magic = CREW_MAGIC;
    crew->allocator = options->allocator;
    crew->processors = weiri_processors();
    crew->hand_count = options->workers;
    atomic_init(&crew->reach, 1);
    weiri_list_init(&crew->asleep);
    for (size_t i = 0; i < crew->hand_count; i++) {
        crew->hands[i].crew = crew;
        weiri_list_init(&crew->hands[i].link);
    }
}

enum weir_status weir_crew_new(const struct weir_crew_options *options, weir_crew **ret_crew)
{
    struct weir_crew_options normal;
    if (ret_crew == NULL || normalize_crew(&normal, options) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    weir_crew *crew = weiri_alloc_zero(&normal.allocator, 1, sizeof(*crew));
    if (crew == NULL) {
        return WEIR_ENOMEM;
    }
    crew->process = weiri_forked_mark();
    crew->hands = weiri_alloc_zero(&normal.allocator, normal.workers, sizeof(*crew->hands));
    /* Plain: it is never one thread's alone. */
    if (crew->process == 0 || crew->hands == NULL ||
        weiri_lock_init(&crew->lock, false) != WEIR_OK) {
        weiri_release(&normal.allocator, crew->hands, normal.workers * sizeof(*crew->hands));
        weiri_release(&normal.allocator, crew, sizeof(*crew));
        return WEIR_ENOMEM;
    }
    init_crew(crew, &normal);
    *ret_crew = crew;
    return WEIR_OK;
}

static enum weir_status check(const weir_crew *crew)
{
    if (crew == NULL || crew->magic != CREW_MAGIC) {
        return WEIR_EINVAL;
    }
    return weiri_forked_since(crew->process) ? WEIR_EFORKED : WEIR_OK;
}

void weir_crew_free(weir_crew *crew)
{
    enum weir_status status = check(crew);
    if (status == WEIR_EINVAL) {
        return;
    }
    if (status == WEIR_OK) { /* else there are no threads, and the lock is as the fork found it */
        weiri_crew_dismiss(crew);
        weiri_lock_fini(&crew->lock);
    }
    crew->magic = 0;
    struct weir_allocator allocator = crew->allocator;
    weiri_release(&allocator, crew->hands, crew->hand_count * sizeof(*crew->hands));
    weiri_release(&allocator, crew, sizeof(*crew));
}

/* Opens a run, with the caller's hand at work and chunk 0 in it. WEIR_EBUSY: one is under way. */
static enum weir_status open_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn, void *arg,
                                 const struct weir_parallel_options *options)
{
    weiri_crew_lock(crew);
    if (crew->is_busy) {
        weiri_crew_unlock(crew);
        return WEIR_EBUSY;
    }
    crew->run.fn = fn;
    crew->run.arg = arg;
    crew->run.proceed = options->proceed;
    crew->run.proceed_arg = options->proceed_arg;
    crew->run.pieces = pieces;
    crew->run.chunk_size = options->chunk_size;
    crew->run.eager = options->eager > 0 ? options->eager : crew->processors;
    atomic_store_explicit(&crew->run.status, WEIR_OK, memory_order_relaxed);
    crew->number++;
    crew->is_busy = true;
    crew->is_long = false;
    crew->is_refused = false;
    crew->working = 1;
    weiri_share_put(&crew->hands[0].share, 1, (uint32_t)divide_up(pieces, options->chunk_size));
    weiri_crew_unlock(crew);
    return WEIR_OK;
}

int weir_crew_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn, void *arg,
                  const struct weir_parallel_options *options)
{
    struct weir_parallel_options normal;
    enum weir_status status = check(crew);
    if (status == WEIR_OK) {
        status = normalize_run(&normal, options, pieces, fn);
    }
    if (status != WEIR_OK || pieces == 0) {
        return (int)status;
    }
    status = open_run(crew, pieces, fn, arg, &normal);
    if (status != WEIR_OK) {
        return (int)status;
    }
    weiri_crew_call(&crew->hands[0]);
    weiri_hand_work_from(&crew->hands[0], 0);
    return weiri_crew_finish(crew);
}

int weir_parallelize(size_t workers, size_t pieces, weir_piece_fn *fn, void *arg,
                     const struct weir_parallel_options *options)
{
    struct weir_parallel_options normal;
    if (workers < 1 || workers > WORKERS_MAX ||
        normalize_run(&normal, options, pieces, fn) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (pieces == 0) {
        return WEIR_OK;
    }
    size_t chunks = divide_up(pieces, normal.chunk_size);
    struct weir_crew_options of_crew = WEIR_CREW_OPTIONS_INIT;
    of_crew.workers = workers < chunks ? workers : chunks;
    weir_crew *crew;
    enum weir_status status = weir_crew_new(&of_crew, &crew);
    if (status != WEIR_OK) {
        return (int)status;
    }
    int result = weir_crew_run(crew, pieces, fn, arg, &normal);
    weir_crew_free(crew);
    return result;
}
