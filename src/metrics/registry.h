/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REGISTRY_H
#define WEIRI_REGISTRY_H

#include <weir/metrics.h>

#include "metrics/sample.h"

/* The kind of a source: the member of the sample that it fills in, and the families that show it.
 */
enum weiri_source_kind {
    WEIRI_SOURCE_QUEUE,
    WEIRI_SOURCE_POOL,
    WEIRI_SOURCE_KINDS
};

/* Enough for a million sources (struct weir_metrics). */
#define WEIRI_SOURCE_LEVELS 10

/* An object with metrics and a name. collect fills in a sample; it is called with the registry's
 * lock held, may take its object's lock (the order is registry, then object), and may do nothing
 * that takes long. */
struct weiri_source {
    /* The source behind it on each level that it is on; guarded by the registry's lock. */
    struct weiri_source *next[WEIRI_SOURCE_LEVELS];
    enum weiri_source_kind kind;
    const char *name; /* constant while registered */
    void (*collect)(struct weiri_source *source, union weiri_sample *ret_sample);
};

/* Adds a source. After the return collect may be called. Not with the object's lock held.
 * WEIR_EINVAL: no registry, or the name is empty or not UTF-8; WEIR_EBUSY: another of its kind has
 * this name; WEIR_EFORKED: the registry is a parent's. */
WEIR_NODISCARD enum weir_status weiri_metrics_add(weir_metrics *metrics,
                                                  struct weiri_source *source,
                                                  struct weir_error *ret_error);
/* Removes a source. After the return collect is not called any more. Not with the object's lock
 * held. */
void weiri_metrics_remove(weir_metrics *metrics, struct weiri_source *source);

#endif
