/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/tubes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/duration.h>
#include <weir/feature.h>

static int keep(const struct weir_tube_counts *counts, void *arg)
{
    struct tubes *tubes = arg;
    if (tubes->count == tubes->capacity) {
        size_t capacity = 2 * tubes->capacity;
        struct weir_tube_counts *grown = realloc(tubes->counts, capacity * sizeof(*grown));
        if (grown == NULL) {
            tubes_free(tubes);
            return 1;
        }
        tubes->counts = grown;
        tubes->capacity = capacity;
    }
    tubes->counts[tubes->count++] = *counts;
    return 0;
}

/* Has room for so many. False: no memory. */
static bool init(struct tubes *tubes, size_t capacity)
{
    *tubes =
        (struct tubes){.counts = calloc(capacity, sizeof(*tubes->counts)), .capacity = capacity};
    return tubes->counts != NULL;
}

static enum weir_status read_tubes(struct tubes *tubes, weir_broker *broker,
                                   struct weir_error *ret_error)
{
    struct timespec now = {0, 0};
    if (!init(tubes, 16)) {
        return WEIR_ENOMEM;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    tubes->at_ns = WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
    enum weir_status status = weir_broker_tubes(broker, NULL, keep, tubes, ret_error);
    return status == WEIR_OK && tubes->counts == NULL ? WEIR_ENOMEM : status;
}

void tubes_free(struct tubes *tubes)
{
    free(tubes->counts);
    *tubes = (struct tubes){.counts = NULL};
}

void readings_init(struct readings *readings, weir_broker *broker)
{
    *readings = (struct readings){.broker = broker};
    (void)pthread_mutex_init(&readings->mutex, NULL);
    (void)pthread_cond_init(&readings->ended, NULL);
}

void readings_fini(struct readings *readings)
{
    tubes_free(&readings->last);
    (void)pthread_cond_destroy(&readings->ended);
    (void)pthread_mutex_destroy(&readings->mutex);
}

void readings_age(struct readings *readings)
{
    (void)pthread_mutex_lock(&readings->mutex);
    readings->old = readings->begun;
    (void)pthread_mutex_unlock(&readings->mutex);
}

/* Reads once, and gives the mutex back meanwhile. */
static enum weir_status read_locked(struct readings *readings, struct weir_error *ret_error)
{
    struct tubes tubes;
    uint64_t number = ++readings->begun;
    readings->is_reading = true;
    (void)pthread_mutex_unlock(&readings->mutex);
    enum weir_status status = read_tubes(&tubes, readings->broker, ret_error);
    (void)pthread_mutex_lock(&readings->mutex);
    readings->is_reading = false;
    tubes_free(status == WEIR_OK ? &readings->last : &tubes);
    if (status == WEIR_OK) {
        tubes.number = number;
        readings->last = tubes;
    } else {
        readings->old = number;
    }
    (void)pthread_cond_broadcast(&readings->ended);
    return status;
}

enum weir_status readings_take(struct readings *readings, bool is_new, struct tubes *ret_tubes,
                               struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    const struct tubes *last = &readings->last;
    bool is_asked = is_new || !weir_broker_can(readings->broker, WEIR_CAN_LIST);
    (void)pthread_mutex_lock(&readings->mutex);
    uint64_t wanted = (is_asked ? readings->begun : readings->old) + 1;
    while (status == WEIR_OK && last->number < wanted) {
        if (readings->is_reading) {
            (void)pthread_cond_wait(&readings->ended, &readings->mutex);
        } else {
            status = read_locked(readings, ret_error);
        }
    }
    if (status == WEIR_OK && !init(ret_tubes, last->count + 1)) {
        status = WEIR_ENOMEM;
    }
    if (status == WEIR_OK) {
        memcpy(ret_tubes->counts, last->counts, last->count * sizeof(*last->counts));
        ret_tubes->count = last->count;
        ret_tubes->at_ns = last->at_ns;
        ret_tubes->number = last->number;
    }
    (void)pthread_mutex_unlock(&readings->mutex);
    return status;
}
