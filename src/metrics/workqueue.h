/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WORKQUEUE_H
#define WEIRI_WORKQUEUE_H

#include <stddef.h>

#include "metrics/sample.h"
#include "metrics/text.h"

/* Writes the seven families of Kubernetes' work queues; nothing where there are no samples. */
void weiri_workqueue_write(struct weiri_text *text, const struct weiri_named_sample *samples,
                           size_t count);

#endif
