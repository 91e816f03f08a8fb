/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/forked.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/sync.h"
#include "metrics/pool_families.h"
#include "metrics/text.h"
#include "metrics/workqueue.h"

/* The registry stores no numbers. Each source keeps its own under its own lock, and is read when
 * the metrics are written. The registry's lock is held while sources are read, so that none is
 * removed meanwhile. The samples are copied, then formatted and written with no lock held. */

#define METRICS_MAGIC UINT32_C(0x77715201)

struct weir_metrics {
    uint32_t magic;
    /* Immutable after new. */
    uint64_t process; /* the mark of the process that made it */
    struct weir_allocator allocator;
    struct weiri_mutex mutex;
    /* Of each kind a skip list in order of the names. All sources are on level 0, and a quarter of
     * those on a level, chosen at random, are on the next one too. */
    struct weiri_source *first[WEIRI_SOURCE_KINDS][WEIRI_SOURCE_LEVELS] WEIRI_GUARDED_BY(mutex);
    uint64_t random WEIRI_GUARDED_BY(mutex);
    size_t count WEIRI_GUARDED_BY(mutex);      /* of all kinds */
    size_t name_bytes WEIRI_GUARDED_BY(mutex); /* of all names, NULs included */
};

static enum weir_status check(const weir_metrics *metrics)
{
    if (metrics == NULL || metrics->magic != METRICS_MAGIC) {
        return WEIR_EINVAL;
    }
    return weiri_forked_since(metrics->process) ? WEIR_EFORKED : WEIR_OK;
}

enum weir_status weir_metrics_new(const struct weir_metrics_options *options,
                                  weir_metrics **ret_metrics, struct weir_error *ret_error)
{
    struct weir_allocator allocator;
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_metrics", ret_metrics, ret_error) != WEIR_OK ||
        weiri_allocator_init(&allocator, options != NULL ? &options->allocator : NULL, ret_error) !=
            WEIR_OK) {
        return WEIR_EINVAL;
    }
    weir_metrics *metrics = weiri_alloc_zero(&allocator, 1, sizeof(*metrics));
    uint64_t process = weiri_forked_mark();
    if (metrics == NULL || process == 0) {
        weiri_release(&allocator, metrics, sizeof(*metrics));
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    metrics->process = process;
    weiri_mutex_init(&metrics->mutex);
    metrics->magic = METRICS_MAGIC;
    metrics->allocator = allocator;
    *ret_metrics = metrics;
    return WEIR_OK;
}

enum weir_status weir_metrics_free(weir_metrics *metrics)
{
    if (metrics == NULL) {
        return WEIR_OK;
    }
    enum weir_status status = check(metrics);
    if (status != WEIR_OK) {
        return status; /* in a child its sources and its mutex may be in any state */
    }
    weiri_mutex_lock(&metrics->mutex);
    bool is_used = metrics->count > 0;
    weiri_mutex_unlock(&metrics->mutex);
    if (is_used) {
        return WEIR_EBUSY;
    }
    struct weir_allocator allocator = metrics->allocator;
    metrics->magic = 0;
    weiri_mutex_fini(&metrics->mutex);
    weiri_release(&allocator, metrics, sizeof(*metrics));
    return WEIR_OK;
}

/* Finds the place of the source on each level: the pointer to the first one whose name is not
 * before its own. */
static void find_locked(weir_metrics *metrics, const struct weiri_source *source,
                        struct weiri_source **ret_places[]) WEIRI_REQUIRES(metrics->mutex)
{
    struct weiri_source **next = metrics->first[source->kind];
    for (size_t level = WEIRI_SOURCE_LEVELS; level-- > 0;) {
        while (next[level] != NULL && strcmp(next[level]->name, source->name) < 0) {
            next = next[level]->next;
        }
        ret_places[level] = &next[level];
    }
}

enum weir_status weiri_metrics_add(weir_metrics *metrics, struct weiri_source *source,
                                   struct weir_error *ret_error)
{
    enum weir_status status = check(metrics);
    if (status != WEIR_OK) {
        return status;
    }
    if (source->name[0] == '\0' || !weiri_text_is_utf8(source->name)) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "name is \"%s\": expected UTF-8, one byte or more", source->name);
    }
    struct weiri_source **places[WEIRI_SOURCE_LEVELS];
    weiri_mutex_lock(&metrics->mutex);
    find_locked(metrics, source, places);
    if (*places[0] != NULL && strcmp((*places[0])->name, source->name) == 0) {
        status = weiri_fail(ret_error, WEIR_EBUSY,
                            "name is \"%s\": expected one that the registry does not have yet",
                            source->name);
    } else {
        uint64_t random = weiri_random_next(&metrics->random);
        size_t level = 0;
        do {
            source->next[level] = *places[level];
            *places[level] = source;
        } while (++level < WEIRI_SOURCE_LEVELS && (random >> 2 * level) % 4 == 0);
        metrics->count++;
        metrics->name_bytes += strlen(source->name) + 1;
    }
    weiri_mutex_unlock(&metrics->mutex);
    return status;
}

void weiri_metrics_remove(weir_metrics *metrics, struct weiri_source *source)
{
    struct weiri_source **places[WEIRI_SOURCE_LEVELS];
    weiri_mutex_lock(&metrics->mutex);
    find_locked(metrics, source, places);
    for (size_t i = 0; i < WEIRI_SOURCE_LEVELS && *places[i] == source; i++) {
        *places[i] = source->next[i];
    }
    metrics->count--;
    metrics->name_bytes -= strlen(source->name) + 1;
    weiri_mutex_unlock(&metrics->mutex);
}

/* Samples of all sources by kind, and behind them their names, in one block. */
struct set {
    struct weiri_named_sample *samples;
    size_t counts[WEIRI_SOURCE_KINDS];
    size_t size; /* of the block */
};

static size_t needed_locked(const weir_metrics *metrics) WEIRI_REQUIRES(metrics->mutex)
{
    return metrics->count * sizeof(struct weiri_named_sample) + metrics->name_bytes;
}

/* Reads all sources into the block, which is large enough. It is NULL if there are no sources. */
static void collect_locked(weir_metrics *metrics, struct set *set) WEIRI_REQUIRES(metrics->mutex)
{
    if (set->samples == NULL) {
        return;
    }
    struct weiri_named_sample *named = set->samples;
    char *name = (char *)(set->samples + metrics->count);
    for (size_t kind = 0; kind < WEIRI_SOURCE_KINDS; kind++) {
        struct weiri_source *source = metrics->first[kind][0];
        for (; source != NULL; source = source->next[0]) {
            size_t size = strlen(source->name) + 1;
            memcpy(name, source->name, size);
            named->name = name;
            name += size;
            source->collect(source, &named->sample);
            named++;
            set->counts[kind]++;
        }
    }
}

/* Allocates with no lock held, and again if sources were added meanwhile. */
static enum weir_status collect(weir_metrics *metrics, struct set *ret_set)
{
    struct set set = {NULL, {0}, 0};
    weiri_mutex_lock(&metrics->mutex);
    for (size_t needed = needed_locked(metrics); needed > set.size;
         needed = needed_locked(metrics)) {
        weiri_mutex_unlock(&metrics->mutex);
        weiri_release(&metrics->allocator, set.samples, set.size);
        set.samples = weiri_alloc(&metrics->allocator, needed);
        if (set.samples == NULL) {
            return WEIR_ENOMEM;
        }
        set.size = needed;
        weiri_mutex_lock(&metrics->mutex);
    }
    collect_locked(metrics, &set);
    weiri_mutex_unlock(&metrics->mutex);
    *ret_set = set;
    return WEIR_OK;
}

int weir_metrics_write(weir_metrics *metrics, weir_metrics_write_fn *write, void *arg)
{
    enum weir_status status = write == NULL ? WEIR_EINVAL : check(metrics);
    if (status != WEIR_OK) {
        return (int)status;
    }
    struct set set;
    status = collect(metrics, &set);
    if (status != WEIR_OK) {
        return (int)status;
    }
    struct weiri_text text;
    weiri_text_init(&text, write, arg);
    const struct weiri_named_sample *samples = set.samples;
    weiri_workqueue_write(&text, samples, set.counts[WEIRI_SOURCE_QUEUE]);
    weiri_pool_families_write(&text, samples + set.counts[WEIRI_SOURCE_QUEUE],
                              set.counts[WEIRI_SOURCE_POOL]);
    int written = weiri_text_end(&text);
    weiri_release(&metrics->allocator, set.samples, set.size);
    return written;
}
