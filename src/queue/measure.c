/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A queue's metrics in a registry. */

#include "base/alloc.h"
#include "base/time.h"
#include "queue/queue.h"

/* Reads the metrics of one moment, with the registry's lock held. */
static void collect(struct weiri_source *source, union weiri_sample *ret_sample)
{
    weir_queue *queue = WEIRI_CONTAINER(source, weir_queue, source);
    weiri_queue_lock(queue);
    weiri_core_sample(&queue->core, queue->now_ns, &ret_sample->queue);
    weiri_queue_unlock(queue);
}

enum weir_status weiri_queue_publish(weir_queue *queue, weir_metrics *metrics, const char *name,
                                     struct weir_error *ret_error)
{
    if (metrics == NULL) {
        return WEIR_OK;
    }
    queue->name = weiri_copy_string(&queue->core.allocator, name);
    if (queue->name == NULL) {
        return WEIR_ENOMEM;
    }
    queue->source =
        (struct weiri_source){.kind = WEIRI_SOURCE_QUEUE, .name = queue->name, .collect = collect};
    queue->core.meter = &queue->meter; /* before another thread can know the queue */
    enum weir_status status = weiri_metrics_add(metrics, &queue->source, ret_error);
    if (status == WEIR_OK) {
        queue->metrics = metrics;
    }
    return status;
}

void weiri_queue_unpublish(weir_queue *queue)
{
    if (queue->metrics != NULL) {
        weiri_metrics_remove(queue->metrics, &queue->source);
    }
    weiri_release_string(&queue->core.allocator, queue->name);
}
