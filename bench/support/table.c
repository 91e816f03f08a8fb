/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/run.h"

void bench_print_json(const struct bench_run *run, size_t round)
{
    printf("{\"workload\":\"%s\",\"subject\":\"%s\",\"round\":%zu,\"items\":%zu,\"metrics\":{",
           run->measurement->workload, run->measurement->subject, round, run->items);
    for (size_t i = 0; i < run->metric_count; i++) {
        printf("%s\"%s\":%.4f", i == 0 ? "" : ",", run->metrics[i].name, run->metrics[i].value);
    }
    printf("}}\n");
}

/* All values that one subject has reported for one metric. */
struct row {
    const char *subject;
    const char *metric;
    double *values;
    size_t count;
};

struct bench_table {
    const char *workload;
    struct row *rows;
    size_t count;
};

struct bench_table *bench_table_new(void)
{
    return bench_alloc(1, sizeof(struct bench_table));
}

static void clear(struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].values);
    }
    free(table->rows);
    memset(table, 0, sizeof(*table));
}

void bench_table_free(struct bench_table *table)
{
    clear(table);
    bench_free(table);
}

static void *grown(void *memory, size_t size)
{
    void *larger = realloc(memory, size);
    if (larger == NULL) {
        bench_fail("out of memory");
    }
    return larger;
}

static struct row *row_of(struct bench_table *table, const char *subject, const char *metric)
{
    for (size_t i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];
        if (strcmp(row->subject, subject) == 0 && strcmp(row->metric, metric) == 0) {
            return row;
        }
    }
    table->rows = grown(table->rows, (table->count + 1) * sizeof(*table->rows));
    struct row *row = &table->rows[table->count++];
    *row = (struct row){.subject = subject, .metric = metric};
    return row;
}

void bench_table_put(struct bench_table *table, const struct bench_run *run)
{
    table->workload = run->measurement->workload;
    for (size_t i = 0; i < run->metric_count; i++) {
        struct row *row = row_of(table, run->measurement->subject, run->metrics[i].name);
        row->values = grown(row->values, (row->count + 1) * sizeof(*row->values));
        row->values[row->count++] = run->metrics[i].value;
    }
}

/* The median of the same metric of the first subject that is weir; 0 where there is none. */
static double ours(const struct bench_table *table, const char *metric)
{
    for (size_t i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];
        if (strncmp(row->subject, "weir", 4) == 0 && strcmp(row->metric, metric) == 0) {
            return bench_quantile(row->values, row->count, 0.5);
        }
    }
    return 0;
}

void bench_table_print(struct bench_table *table)
{
    if (table->count > 0) {
        printf("\n%-20s %-22s %-14s %10s %10s %10s %8s\n", "workload", "subject", "metric",
               "median", "min", "max", "/ weir");
    }
    for (size_t i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];
        double median = bench_quantile(row->values, row->count, 0.5);
        double own = ours(table, row->metric);
        printf("%-20s %-22s %-14s %10.4g %10.4g %10.4g ", table->workload, row->subject,
               row->metric, median, row->values[0], row->values[row->count - 1]);
        if (own > 0) {
            printf("%7.2fx\n", median / own);
        } else {
            printf("%8s\n", "-");
        }
    }
    fflush(stdout);
    clear(table);
}
