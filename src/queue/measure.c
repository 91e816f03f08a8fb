/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A queue's meter, and its metrics in a registry. */

#include "queue/internal.h"

#include <string.h>

#include "queue/moves.h"

/* A meter, and how the registry finds it. One block, with the name behind it. */
struct measured {
    struct weiri_source source;
    weir_queue *queue;
    weir_metrics *metrics; /* NULL: the meter is for ages only */
    size_t size;           /* of the block */
    struct weiri_meter meter;
    char name[];
};

/* With the registry's lock held. */
static void collect(struct weiri_source *source, union weiri_sample *ret_sample)
{
    weir_queue *queue = WEIRI_CONTAINER(source, struct measured, source)->queue;
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    weiri_meter_read(queue->core.meter, &ret_sample->queue);
    ret_sample->queue.depth =
        weiri_ready_count(&queue->core.ready) + queue->core.aside + queue->core.dirty;
    weiri_queue_unlock(queue);
}

enum weir_status weiri_queue_measure(weir_queue *queue, weir_metrics *metrics, const char *name)
{
    weiri_queue_lock(queue);
    struct weir_allocator allocator = queue->core.allocator;
    weiri_queue_unlock(queue);
    size_t size = sizeof(struct measured) + strlen(name) + 1;
    struct measured *measured = weiri_alloc_zero(&allocator, 1, size);
    if (measured == NULL) {
        return WEIR_ENOMEM;
    }
    strcpy(measured->name, name);
    measured->source.kind = WEIRI_SOURCE_QUEUE;
    measured->source.name = measured->name;
    measured->source.collect = collect;
    measured->queue = queue;
    measured->metrics = metrics;
    measured->size = size;
    weiri_meter_init(&measured->meter, &allocator);
    weiri_queue_lock(queue);
    queue->core.meter = &measured->meter;
    weiri_queue_unlock(queue);
    enum weir_status status =
        metrics == NULL ? WEIR_OK : weiri_metrics_add(metrics, &measured->source);
    if (status != WEIR_OK) {
        weiri_queue_lock(queue);
        queue->core.meter = NULL;
        weiri_queue_unlock(queue);
        weiri_release(&allocator, measured, size);
    }
    return status;
}

void weiri_queue_unmeasure(weir_queue *queue)
{
    weiri_queue_lock(queue);
    struct weiri_meter *meter = queue->core.meter;
    weiri_queue_unlock(queue);
    if (meter == NULL) {
        return;
    }
    struct measured *measured = WEIRI_CONTAINER(meter, struct measured, meter);
    if (measured->metrics != NULL) {
        weiri_metrics_remove(measured->metrics, &measured->source);
    }
    weiri_queue_lock(queue);
    queue->core.meter = NULL;
    weiri_queue_unlock(queue);
    struct weir_allocator allocator = meter->allocator;
    weiri_meter_fini(meter);
    weiri_release(&allocator, measured, measured->size);
}
