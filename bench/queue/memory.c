/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/queue/items.h"

/* What a queued key takes beyond its own bytes, and what the process still holds of that once all
 * are done. */

/* The allocator counts the bytes that it has given out. One thread uses it, without a lock. */
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

/* Bytes of this process in memory: the second number of statm. */
static double resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        bench_fail("/proc/self/statm cannot be read");
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void add_all(weir_queue *queue, const struct bench_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        BENCH_OK(weir_queue_add(queue, bench_key(items, i)));
    }
}

static void finish_all(weir_queue *queue, const struct bench_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, WEIR_FOREVER, &work));
        BENCH_OK(weir_queue_done(queue, &work));
    }
    BENCH_CHECK_COUNT(weir_queue_len(queue), 0);
}

/* The process comes first, before libc has memory of another queue to use again. It uses a queue
 * without an allocator, as most are. */
static void measure_process(struct bench_run *run, const struct bench_items *items)
{
    weir_queue *queue = bench_queue_new(NULL);
    double before = resident();
    add_all(queue, items);
    double full = resident() - before;
    finish_all(queue, items);
    bench_metric(run, "kept_percent", (resident() - before) / full * 100);
    weir_queue_free(queue);
}

static void measure_queue(struct bench_run *run, const struct bench_items *items)
{
    size_t counted = 0;
    struct weir_queue_options options = {0};
    options.allocator =
        (struct weir_allocator){counted_alloc, counted_resize, counted_release, &counted};
    weir_queue *queue = bench_queue_new(&options);
    size_t before = counted;
    add_all(queue, items);
    size_t own = counted - before - items->text_size;
    bench_metric(run, "bytes", (double)own / (double)items->count);
    finish_all(queue, items);
    weir_queue_free(queue);
    BENCH_CHECK(counted == 0);
}

static void memory(struct bench_run *run)
{
    struct bench_items items;
    bench_items_init(&items, run, run->size);
    measure_process(run, &items);
    measure_queue(run, &items);
    bench_items_fini(&items);
}

const struct bench_measurement bench_memory[] = {
    {"memory/weir-keyed", memory, 1000000, 0},
    {0},
};
