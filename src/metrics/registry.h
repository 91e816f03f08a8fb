/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REGISTRY_H
#define WEIRI_REGISTRY_H

#include <stdint.h>

#include <weir/metrics.h>

#include "base/list.h"
#include "metrics/histogram.h"

/* What a queue tells at one moment. */
struct weiri_sample {
    struct weiri_histogram queue_duration;
    struct weiri_histogram work_duration;
    weiri_wide unfinished_ns;
    int64_t longest_ns;
    uint64_t depth;
    uint64_t adds;
    uint64_t retries;
};

/* Something with metrics and a name. collect fills in a sample; it is called with the registry's
 * lock held, may take its object's lock (the order is registry, then object), and may do nothing
 * that takes long. */
struct weiri_source {
    struct weiri_list link; /* in the registry, in order of the names; the registry's lock's */
    const char *name;       /* constant while registered */
    void (*collect)(struct weiri_source *source, struct weiri_sample *ret_sample);
};

/* From its return on the source may be collected from. Not with the object's lock held.
 * WEIR_EINVAL: no registry, or the name is empty or not UTF-8; WEIR_EBUSY: another has this name.
 */
WEIR_NODISCARD enum weir_status weiri_metrics_add(weir_metrics *metrics,
                                                  struct weiri_source *source);
/* From its return on nobody collects from the source. Not with the object's lock held. */
void weiri_metrics_remove(weir_metrics *metrics, struct weiri_source *source);

#endif
