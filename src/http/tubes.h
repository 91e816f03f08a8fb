/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_TUBES_H
#define WEIRI_HTTP_TUBES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>

/* The counts of all tubes of one reading, in the order of their names. Begins zeroed. */
struct tubes {
    struct weir_tube_counts *counts;
    size_t count;
    size_t capacity;
    int64_t at_ns;   /* When the reading began, by the wall clock. */
    uint64_t number; /* Of the reading; the first one is 1. */
};

void tubes_free(struct tubes *tubes);

/* The readings of a broker's tubes, which all of a server share: for each one a store counts its
 * jobs. Thread-safe. */
struct readings {
    weir_broker *broker;
    pthread_mutex_t mutex; /* Guards what follows. */
    pthread_cond_t ended;  /* A reading has. */
    struct tubes last;     /* Number 0: there is none. */
    uint64_t begun;
    uint64_t old; /* Readings up to this one began before a change, or one after them failed. */
    bool is_reading;
};

void readings_init(struct readings *readings, weir_broker *broker);
void readings_fini(struct readings *readings);

/* Copies the last reading; one that is old is read anew. is_new: it is one that began after this
 * call, which several that ask meanwhile share. A cluster, which counts nothing, is always asked.
 * ret_tubes begins zeroed. Errors: those of weir_broker_tubes(). */
enum weir_status readings_take(struct readings *readings, bool is_new, struct tubes *ret_tubes,
                               struct weir_error *ret_error);

/* Something may have changed: what has been read so far is old. */
void readings_age(struct readings *readings);

#endif
