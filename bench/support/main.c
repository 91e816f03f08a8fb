/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/support/bench.h"

/* bench_weir: takes one sample of weir or of a peer in C. */

static const struct bench_measurement *const tables[] = {
    bench_hand_over, bench_storms,  bench_cycles,    bench_pending, bench_delays,  bench_memory,
    bench_wakes,     bench_futex,   bench_pool,      bench_glib,    bench_libuv,   bench_periodic,
    bench_parallel,  bench_cluster, bench_servers,   bench_store,   bench_one_put, bench_named,
    bench_cancel,    bench_pages,   bench_processor, bench_due,     bench_looks,   bench_sleepers,
    bench_growth,    NULL,
};

static const struct bench_measurement *find(const char *name)
{
    for (size_t t = 0; tables[t] != NULL; t++) {
        for (const struct bench_measurement *m = tables[t]; m->name != NULL; m++) {
            if (strcmp(m->name, name) == 0) {
                return m;
            }
        }
    }
    return NULL;
}

static void *sleep_on(void *arg)
{
    for (;;) {
        pause();
    }
    return arg;
}

/* Every sample has a second thread, which sleeps: libc's mutexes and allocator take shorter paths
 * in a process that never had one. */
static void start_second_thread(void)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, sleep_on, NULL);
    if (error != 0) {
        bench_fail("pthread_create: errno %d", error);
    }
}

static void print_json(const char *name, const struct bench_run *run)
{
    printf("{\"name\":\"%s\",\"metrics\":{", name);
    for (size_t i = 0; i < run->metric_count; i++) {
        printf("%s\"%s\":%.4f", i == 0 ? "" : ",", run->metrics[i].name, run->metrics[i].value);
    }
    printf("}}\n");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s WORKLOAD/SUBJECT\n", argv[0]);
        return 64;
    }
    const struct bench_measurement *measurement = find(argv[1]);
    if (measurement == NULL) {
        fprintf(stderr, "%s: no measurement \"%s\"\n", argv[0], argv[1]);
        return 64;
    }
    struct bench_run run = {.size = measurement->size, .flags = measurement->flags};
    start_second_thread();
    measurement->take(&run);
    print_json(measurement->name, &run);
    return 0;
}
