/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/queue/items.h"

/* What a queued item costs beyond the item itself, and what of that is still held once all items
 * are done: by the queue (its allocator counts) and by the process (resident memory). */

static void *counted_alloc(size_t size, void *arg)
{
    void *memory = malloc(size);
    *(size_t *)arg += memory == NULL ? 0 : size;
    return memory;
}

static void *counted_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    void *memory = realloc(block, new_size);
    *(size_t *)arg += memory == NULL ? 0 : new_size - old_size;
    return memory;
}

static void counted_release(void *block, size_t size, void *arg)
{
    *(size_t *)arg -= size;
    free(block);
}

/* The second number of statm: pages in memory. */
static double resident(void)
{
    char line[128];
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL) {
        bench_fail("/proc/self/statm cannot be read");
    }
    fclose(file);
    char *rest;
    (void)strtol(line, &rest, 10);
    return (double)strtol(rest, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

struct use {
    double full; /* with all items queued */
    double kept; /* once they are done */
};

typedef double held_fn(const size_t *counted);

static double held_by_queue(const size_t *counted)
{
    return (double)*counted;
}

static double held_by_process(const size_t *counted)
{
    (void)counted;
    return resident();
}

/* A burst of all items through a new queue, and what it has taken of what a function tells. */
static struct use burst(const struct bench_items *items, const struct weir_allocator *allocator,
                        held_fn *held, const size_t *counted)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    if (allocator != NULL) {
        options.allocator = *allocator;
    }
    weir_queue *queue;
    BENCH_OK(weir_queue_new(&options, &queue));
    double before = held(counted);
    for (size_t i = 0; i < items->count; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(items, i)));
    }
    struct use use = {.full = held(counted) - before};
    for (size_t i = 0; i < items->count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, &work));
        BENCH_OK(weir_queue_done(queue, &work));
    }
    BENCH_CHECK_COUNT(weir_queue_len(queue), 0);
    use.kept = held(counted) - before;
    weir_queue_free(queue);
    return use;
}

static void memory(struct bench_run *run)
{
    struct bench_items items;
    bench_items_init(&items, run, bench_measurement(run)->size);
    /* What the process holds is that of a queue as most are made, without an allocator. It comes
     * first, before libc has memory to use again. */
    struct use process = burst(&items, NULL, held_by_process, NULL);
    size_t counted = 0; /* One thread: the counter needs no lock. */
    struct weir_allocator counting = {counted_alloc, counted_resize, counted_release, &counted};
    struct use queue = burst(&items, &counting, held_by_queue, &counted);
    BENCH_CHECK(counted == 0);
    double n = (double)items.count;
    double text = (double)items.text_size / n;
    bench_items(run, items.count);
    bench_metric(run, "bytes", queue.full / n - text);
    bench_metric(run, "kept_bytes", queue.kept / n);
    bench_metric(run, "rss_bytes", process.full / n - text);
    bench_metric(run, "rss_kept_bytes", process.kept / n);
    if (bench_is(run, BENCH_EMBEDDED)) {
        bench_metric(run, "header_bytes", sizeof(struct weir_item));
    }
    bench_items_fini(&items);
}

const struct bench_measurement bench_memory[] = {
    {"memory", "weir", memory, 1000000, 0},
    {"memory", "weir-embedded", memory, 1000000, BENCH_EMBEDDED},
    {0},
};
