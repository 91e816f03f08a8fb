/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/metrics.h"

/* Who has no registry has no metrics and does not pay for them. */

/* The memory that a queue takes with items in every place. */
static size_t memory_with(enum kind kind, const char *name, weir_metrics *metrics)
{
    struct fixture f;
    struct weir_queue_options options = {0};
    options.name = name;
    options.metrics = metrics;
    size_t before = test_allocated_bytes();
    setup_options(&f, kind, &options);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
        if (i % 2 == 0) {
            (void)get(&f, i / 2);
        }
        add_after(&f, i, WEIR_MS(1));
    }
    size_t bytes = test_allocated_bytes() - before;
    teardown(&f);
    return bytes;
}

TEST_EACH(unnamed, "a queue without a registry keeps no metrics and no memory for them")
{
    struct page page;
    page_init(&page);
    size_t none = memory_with(kind, NULL, NULL);
    CHECK_INT(memory_with(kind, "q", NULL), ==, none);
    CHECK_INT(memory_with(kind, "q", page.metrics), >, none);
    weir_metrics_free(page.metrics);
}
