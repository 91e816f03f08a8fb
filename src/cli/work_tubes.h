/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_WORK_TUBES_H
#define WEIRI_CLI_WORK_TUBES_H

#include <weir/consumer.h>

#include "cli/arguments.h"

/* The tubes of a worker: words of the form TUBE or TUBE=WEIGHT. */
struct work_tubes {
    struct weir_tube_weight all[WEIR_CONSUMER_TUBES_MAX];
    size_t count;
    char *names; /* What they point into. */
    char *label; /* All names, for messages: "mail, thumbs". */
};

/* Reads all words. Returns 0 or an exit status, after saying why. work_tubes_free() must follow in
 * both cases. */
int work_tubes_read(struct work_tubes *tubes, const char *const *words, size_t count);
void work_tubes_free(struct work_tubes *tubes);

/* Reads a rate: runs a second, or with /m or /h a minute or an hour. */
int read_rate(const char *name, const char *text, double *ret_rate);

#endif
