/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/samples.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weir/duration.h>

#include "http/reply.h"
#include "view/tube_number.h"

#define RING_SIZE 360

struct sample {
    int64_t at_ns;
    uint64_t numbers[TUBE_NUMBERS];
};

struct ring {
    size_t count; /* Ever added; the newest is at (count - 1) % RING_SIZE. */
    struct sample samples[RING_SIZE];
};

struct tube {
    char name[WEIR_TUBE_SIZE_MAX + 1];
    struct ring ring;
};

struct samples {
    pthread_mutex_t mutex; /* Guards all of it. */
    struct ring sums[SAMPLES_STEPS];
    struct tube *tubes[SAMPLES_TUBES_MAX];
    size_t tube_count;
};

static const int64_t steps_ns[SAMPLES_STEPS] = {
    [SAMPLES_SECOND] = WEIR_SECONDS(1),
    [SAMPLES_TEN] = WEIR_SECONDS(10),
    [SAMPLES_MINUTES] = WEIR_SECONDS(300),
};

/* A timer fires a little earlier or later: half a second early is on time. Where the clock was set
 * back, the next sample is taken at once. */
static bool is_due(const struct ring *ring, int64_t now_ns, int64_t step_ns)
{
    if (ring->count == 0) {
        return true;
    }
    int64_t last_ns = ring->samples[(ring->count - 1) % RING_SIZE].at_ns;
    return now_ns < last_ns || now_ns - last_ns >= step_ns - WEIR_MS(500);
}

static void ring_add(struct ring *ring, const struct sample *sample, int64_t step_ns)
{
    if (is_due(ring, sample->at_ns, step_ns)) {
        ring->samples[ring->count++ % RING_SIZE] = *sample;
    }
}

struct samples *samples_new(void)
{
    struct samples *samples = calloc(1, sizeof(*samples));
    if (samples != NULL) {
        (void)pthread_mutex_init(&samples->mutex, NULL);
    }
    return samples;
}

void samples_free(struct samples *samples)
{
    if (samples == NULL) {
        return;
    }
    for (size_t i = 0; i < samples->tube_count; i++) {
        free(samples->tubes[i]);
    }
    (void)pthread_mutex_destroy(&samples->mutex);
    free(samples);
}

static struct tube *find_tube(const struct samples *samples, const char *name)
{
    for (size_t i = 0; i < samples->tube_count; i++) {
        if (strcmp(samples->tubes[i]->name, name) == 0) {
            return samples->tubes[i];
        }
    }
    return NULL;
}

/* NULL: there are too many, or no memory: the tube has no samples then. */
static struct tube *make_tube(struct samples *samples, const char *name)
{
    struct tube *tube = find_tube(samples, name);
    if (tube == NULL && samples->tube_count < SAMPLES_TUBES_MAX) {
        tube = calloc(1, sizeof(*tube));
        if (tube != NULL) {
            (void)strncpy(tube->name, name, sizeof(tube->name) - 1);
            samples->tubes[samples->tube_count++] = tube;
        }
    }
    return tube;
}

void samples_add(struct samples *samples, int64_t now_ns, const struct weir_tube_counts *tubes,
                 size_t count)
{
    struct sample sum = {.at_ns = now_ns};
    (void)pthread_mutex_lock(&samples->mutex);
    for (size_t i = 0; i < count; i++) {
        struct sample sample = {.at_ns = now_ns};
        struct tube *tube = make_tube(samples, tubes[i].tube);
        tube_numbers_add(sample.numbers, &tubes[i]);
        tube_numbers_add(sum.numbers, &tubes[i]);
        if (tube != NULL) {
            ring_add(&tube->ring, &sample, steps_ns[SAMPLES_TEN]);
        }
    }
    for (size_t step = 0; step < SAMPLES_STEPS; step++) {
        ring_add(&samples->sums[step], &sum, steps_ns[step]);
    }
    (void)pthread_mutex_unlock(&samples->mutex);
}

/* column: TUBE_NUMBERS: the times. */
static json_t *column_json(const struct ring *ring, size_t column)
{
    size_t kept = ring->count < RING_SIZE ? ring->count : RING_SIZE;
    json_t *array = json_array();
    for (size_t i = ring->count - kept; i < ring->count; i++) {
        const struct sample *sample = &ring->samples[i % RING_SIZE];
        int64_t at_ms = sample->at_ns / 1000000;
        json_t *value = column == TUBE_NUMBERS ? json_real((double)at_ms / 1e3)
                                               : json_integer((json_int_t)sample->numbers[column]);
        (void)reply_append(&array, value);
    }
    return array;
}

static json_t *ring_json(const struct ring *ring, int64_t step_ns)
{
    json_t *object = json_pack("{s:I}", "step", (json_int_t)(step_ns / WEIR_SECONDS(1)));
    int failed = json_object_set_new(object, "at", column_json(ring, TUBE_NUMBERS));
    for (size_t column = 0; column < TUBE_NUMBERS && failed == 0; column++) {
        failed = json_object_set_new(object, tube_numbers[column].name, column_json(ring, column));
    }
    if (failed != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *samples_json(struct samples *samples, const char *tube, enum samples_step step,
                     bool *ret_known)
{
    json_t *object = NULL;
    (void)pthread_mutex_lock(&samples->mutex);
    const struct tube *found = tube != NULL ? find_tube(samples, tube) : NULL;
    *ret_known = tube == NULL || found != NULL;
    if (tube == NULL) {
        object = ring_json(&samples->sums[step], steps_ns[step]);
    } else if (found != NULL) {
        object = ring_json(&found->ring, steps_ns[SAMPLES_TEN]);
    }
    (void)pthread_mutex_unlock(&samples->mutex);
    return object;
}
