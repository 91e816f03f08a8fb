/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_BATCH_H
#define WEIRI_CLI_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>

/* Bodies to be put. Many are put in one transaction, and so with one wait for the disk. */

#define BATCH_JOBS_MAX 1000
#define BATCH_BYTES_MAX ((size_t)4 << 20)

enum batch_output {
    BATCH_IDS,  /* An id a line. */
    BATCH_JSON, /* An object a line. */
    BATCH_QUIET
};

struct batch {
    const char *tube;
    const struct weir_put_options *options;
    enum batch_output output;
    uint64_t put_count; /* Jobs in the store. */
    bool progress;      /* Show their number. */

    char *bytes; /* The bodies, end to end. */
    size_t capacity;
    size_t size;
    size_t count;                 /* Of bodies. */
    size_t sizes[BATCH_JOBS_MAX]; /* Of each. */
};

/* tube and options are borrowed. */
void batch_init(struct batch *batch, const char *tube, const struct weir_put_options *options,
                enum batch_output output);
void batch_fini(struct batch *batch);

/* Copies a body. Puts the batch first if it would become too large. Returns 0 or an exit status,
 * after saying why. */
int batch_add(struct batch *batch, weir_broker *broker, const void *body, size_t size);

/* Puts the bodies, prints their ids once they are durable, and empties the batch. */
int batch_flush(struct batch *batch, weir_broker *broker);

#endif
