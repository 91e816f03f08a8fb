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

static void memory(struct bench_run *run)
{
    const size_t count = bench_measurement(run)->size;
    struct bench_items items;
    bench_items_init(&items, run, count);
    size_t held = 0; /* One thread: the counter needs no lock. */
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator =
        (struct weir_allocator){counted_alloc, counted_resize, counted_release, &held};
    weir_queue *queue;
    BENCH_OK(weir_queue_new(&options, &queue));
    size_t before = held;
    double resident_before = resident();
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(&items, i)));
    }
    size_t full = held;
    double resident_full = resident();
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, &work));
        BENCH_OK(weir_queue_done(queue, &work));
    }
    BENCH_CHECK_COUNT(weir_queue_len(queue), 0);
    double n = (double)count;
    double text = (double)items.text_size / n;
    bench_items(run, count);
    bench_metric(run, "bytes", (double)(full - before) / n - text);
    bench_metric(run, "kept_bytes", ((double)held - (double)before) / n);
    bench_metric(run, "rss_bytes", (resident_full - resident_before) / n - text);
    bench_metric(run, "rss_kept_bytes", (resident() - resident_before) / n);
    if (bench_is(run, BENCH_EMBEDDED)) {
        bench_metric(run, "header_bytes", sizeof(struct weir_item));
    }
    weir_queue_free(queue);
    BENCH_CHECK(held == 0);
    bench_items_fini(&items);
}

const struct bench_measurement bench_memory[] = {
    {"memory", "weir", memory, 1000000, 0},
    {"memory", "weir-embedded", memory, 1000000, BENCH_EMBEDDED},
    {0},
};
